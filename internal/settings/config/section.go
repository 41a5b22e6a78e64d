package config

import (
	"slices"
	"strings"

	"fika/internal/settings/toml"
	"fika/internal/text/spelling"
)

// reportUnknown reports an unknown key: with the reason if it is a retired key, the
// right table if it is in the wrong one, else the nearest right spelling.
func (r *reader) reportUnknown(e *entry, path string, known []string) {
	if r.Problems.Full() {
		r.Problems.More++
		return
	}
	section := "at the top level"
	if path != "" {
		section = "in " + strings.TrimSuffix(path, ".")
	}
	hint := ""
	switch near := spelling.Nearest(e.Name, known); {
	case retiredKey(e.Name) != "":
		hint = ": " + retiredKey(e.Name)
	case near != "":
		hint = "; did you mean " + near + "?"
	case e.Value.Kind != toml.KindTable && belongsTo(e.Name) != "":
		hint = "; it belongs " + belongsTo(e.Name)
	case len(known) <= 15:
		hint = "; known are " + strings.Join(known, ", ")
	}
	r.Problem(e.At, "unknown key %s %s%s", toml.Quote(e.Name), section, hint)
}

// retiredKey explains keys that people bring along from elsewhere.
func retiredKey(name string) string {
	switch name {
	case "api_key":
		return "keys are not kept in settings; store it with fika key set, or put it into an environment variable, and name that in api_key_env"
	case "fuel", "fuel_empty_response_cost":
		return "a turn is bounded by max_recursion_depth"
	case "temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty", "parallel_tool_calls", "tool_choice", "prompt_caching", "response_format":
		return "fika leaves it to the provider"
	}
	return ""
}

// belongsTo says where a key of this name would be known.
func belongsTo(name string) string {
	if findKey(contextKeys(), name) != nil || findKey(topKeys(), name) != nil {
		return "at the top level, above the first [table]"
	}
	for _, section := range []struct {
		header string
		known  []string
	}{
		{"[nats]", keyNames(natsKeys())}, {"[master]", keyNames(masterKeys())}, {"[hub]", keyNames(hubKeys())}, {"[web]", keyNames(webKeys())}, {"[doors]", keyNames(doorKeys())}, {"[otlp]", keyNames(otlpKeys())}, {"[terminal]", keyNames(terminalKeys())}, {"[routing]", keyNames(routingKeys())},
		{"[chat]", keyNames(chatKeys())}, {"[board]", keyNames(boardKeys())}, {"[landing]", keyNames(landingKeys())}, {"[tools]", keyNames(toolKeys())}, {"[guard]", keyNames(guardKeys())}, {"[sandbox]", keyNames(sandboxKeys())},
		{"[[agents]]", keyNames(agentKeys())}, {"[[models]]", keyNames(modelKeys())}, {"[[mcp]]", keyNames(mcpKeys())}, {"[[bus_members]]", keyNames(busMemberKeys())}, {"[[webhooks]]", keyNames(webhookKeys())}, {"[[executors]]", keyNames(executorKeys())},
	} {
		if slices.Contains(section.known, name) {
			return "in " + section.header
		}
	}
	return ""
}

// listElements returns the tables of a [[list]].
func (r *reader) listElements(v value, name string) ([]value, bool) {
	if v.Kind != toml.KindList {
		r.Problem(v.At, "%s must be a list of tables, as in [[%s]]; this is %s", name, name, v.Kind)
		return nil, false
	}
	var list []value
	for _, item := range v.Items {
		if item.Kind != toml.KindTable {
			r.Problem(item.At, "%s must be a list of tables, as in [[%s]]; one of them is %s", name, name, item.Kind)
			continue
		}
		list = append(list, item)
	}
	return list, true
}

func (r *reader) readAgents(v value, path string, list *[]Agent) bool {
	items, ok := r.listElements(v, path)
	own, context := agentKeys(), contextKeys()
	for _, item := range items {
		a := defaultAgent()
		name := elementPath(path, len(*list))
		prefix := name + "."
		r.where[name] = r.Place(item.At)
		decodeTable(r, item.Table, prefix, &a, own, func(e *entry) bool {
			if findKey(context, e.Name) == nil {
				r.reportUnknown(e, prefix, append(keyNames(own), keyNames(context)...))
				return true
			}
			one := &table{Entries: []entry{*e}}
			decodeTable(r, one, prefix, &a.PerContext, context, nil)
			return true
		})
		if item.Table.Get("id") == nil {
			r.Problem(item.At, "this agent has no id: give it the name by which it is called, as in id = \"coder\"")
		}
		*list = append(*list, a)
	}
	return ok
}

// readModels reads [[models]], and also tables [models.NAME], where NAME is the id.
func (r *reader) readModels(v value, path string, list *[]Model) bool {
	if v.Kind == toml.KindTable {
		for i := range v.Table.Entries {
			e := &v.Table.Entries[i]
			if !r.isTable(e.Value, path+"."+e.Name) {
				continue
			}
			r.readModel(e.Value.Table, e.At, path, e.Name, list)
		}
		return true
	}
	items, ok := r.listElements(v, path)
	for _, item := range items {
		r.readModel(item.Table, item.At, path, "", list)
	}
	return ok
}

func (r *reader) readModel(t *table, at int, path, id string, list *[]Model) {
	m := Model{ID: id}
	name := elementPath(path, len(*list))
	prefix := name + "."
	r.where[name] = r.Place(at)
	decodeTable(r, t, prefix, &m, modelKeys(), nil)
	if t.Get("prices") != nil {
		m.Priced = fromConfig
	}
	if m.ID == "" && t.Get("id") == nil {
		r.Problem(at, "this model has no id: give it the name the provider knows, as in id = \"gpt-5.5\"")
	} else if m.ID == "" {
		r.Problem(at, "the id of a model cannot be empty")
	}
	if id != "" {
		if e := t.Get("id"); e != nil && m.ID != id {
			r.Problem(e.At, "the id is %s by the name of the table and %s by this key", toml.Quote(id), toml.Quote(m.ID))
		}
		r.where[prefix+"id"] = r.Place(at)
	}
	*list = append(*list, m)
}

func (r *reader) readPlugins(v value, path string, all *map[string]Plugin) bool {
	if !r.isTable(v, path) {
		return false
	}
	if *all == nil {
		*all = map[string]Plugin{}
	}
	for i := range v.Table.Entries {
		e := &v.Table.Entries[i]
		p := (*all)[e.Name] // from a layer below
		if decodeSub(r, e.Value, path+"."+e.Name, &p, pluginKeys()) {
			(*all)[e.Name] = p
		}
	}
	return true
}

func (r *reader) readStrings(v value, path string, all *map[string]string) bool {
	if !r.isTable(v, path) {
		return false
	}
	*all = map[string]string{}
	for i := range v.Table.Entries {
		e := &v.Table.Entries[i]
		if e.Value.Kind != toml.KindText {
			r.Problem(e.Value.At, "%s must be a text in quotes; this is %s", e.Name, e.Value.Kind)
			continue
		}
		if wrong := envName(e.Name); wrong != "" {
			r.Problem(e.At, "%s", wrong)
			continue
		}
		(*all)[e.Name] = e.Value.Text
	}
	return true
}

func (r *reader) readReasoning(v value, path string, p **Reasoning) bool {
	if !r.isTable(v, path) {
		return false
	}
	got := Reasoning{Enabled: true}
	decodeTable(r, v.Table, path+".", &got, reasoningKeys(), nil)
	if got.Effort != "" && got.MaxTokens != 0 {
		r.Problem(v.At, "reasoning takes effort or max_tokens, not both")
	}
	if got.Effort == "none" {
		got = Reasoning{}
	}
	*p = &got
	return true
}

func (r *reader) readPrices(v value, path string, p *Prices) bool {
	if !decodeSub(r, v, path, p, priceKeys()) {
		return false
	}
	if v.Table.Get("cached") == nil {
		p.Cached = p.Input
	}
	return true
}

func (r *reader) readReserve(v value, path string, p **Reserve) bool {
	got := DefaultReserve()
	if !decodeSub(r, v, path, &got, reserveKeys()) {
		return false
	}
	*p = &got
	return true
}
