package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/settings/toml"
)

// ModelUse is a model with the settings for its calls.
type ModelUse struct {
	Model         Model
	Reasoning     *Reasoning // nil: as the model does by default
	MaxTokens     int64      // in one answer; 0: the provider's default
	ContextWindow int64      // tokens; never 0
}

// ModelRule is one of an agent's model_rules. All of its conditions must hold.
type ModelRule struct {
	Tokens  int64    // of the conversation, estimated
	Offered []string // the agent may use one of these tools
	Used    []string // the turn has called one of these tools
	Attempt int      // at the same work, from 1
	Use     string   // one of the agent's models; empty: the last
}

// ModelChoice says which of several models an agent's calls go to. The zero value means
// a single model.
type ModelChoice struct {
	Models   []ModelUse // from the first to the last resort; nil: one, that of the settings
	Rules    []ModelRule
	Escalate int // failed rounds in a row after which the next model is called; 0: never
}

// ShortName returns the nickname of a model, or its id.
func (m Model) ShortName() string { return cmp.Or(m.Nickname, m.ID) }

// Words describe how the models are chosen, in one line each for the first, for each
// rule, and for escalation.
func (c ModelChoice) Words() []string {
	if !c.Several() {
		return nil
	}
	var names []string
	for _, u := range c.Models {
		names = append(names, u.Model.ShortName())
	}
	out := []string{strings.Join(names, ", then ")}
	for i, r := range c.Rules {
		use := c.Index(r.Use)
		if use < 0 {
			continue
		}
		out = append(out, "rule "+strconv.Itoa(i+1)+": "+c.Models[use].Model.ShortName()+" "+r.when())
	}
	if c.Escalate > 0 {
		out = append(out, "the next after "+strconv.Itoa(c.Escalate)+" failed in a row")
	}
	return out
}

// when describes when a rule holds.
func (r ModelRule) when() string {
	var parts []string
	if r.Tokens > 0 {
		parts = append(parts, "from "+strconv.FormatInt(r.Tokens, 10)+" tokens on")
	}
	if len(r.Used) > 0 {
		parts = append(parts, "once "+strings.Join(r.Used, " or ")+" was used")
	}
	if len(r.Offered) > 0 {
		parts = append(parts, "where "+strings.Join(r.Offered, " or ")+" is offered")
	}
	if r.Attempt > 0 {
		parts = append(parts, "from attempt "+strconv.Itoa(r.Attempt)+" on")
	}
	return strings.Join(parts, " and ")
}

// Several reports whether there is a choice.
func (c ModelChoice) Several() bool { return len(c.Models) > 1 }

// Index returns the position of a model, given by id or nickname, among those of the
// choice, or -1. An empty name means the last.
func (c ModelChoice) Index(name string) int {
	if name == "" {
		return len(c.Models) - 1
	}
	return slices.IndexFunc(c.Models, func(u ModelUse) bool { return u.Model.ID == name || u.Model.Nickname == name })
}

// All returns the models that the calls of these settings may go to, in order.
func (s *Settings) All() []ModelUse {
	if s.Choice.Several() {
		return s.Choice.Models
	}
	return []ModelUse{s.ModelUse}
}

// WithModel returns the settings for calls of another of their models.
func (s *Settings) WithModel(u ModelUse) Settings {
	out := *s
	out.ModelUse = u
	return out
}

func modelRuleKeys() []key[ModelRule] {
	return []key[ModelRule]{
		{name: "tokens", at: func(r *ModelRule) any { return &r.Tokens }, min: 1, example: "20000",
			doc: "Condition: the window holds this many tokens or more (estimated, without system prompt and tools). All conditions of a rule must hold."},
		{name: "offered", at: func(r *ModelRule) any { return &r.Offered }, example: `["bash", "edit"]`,
			doc: "Condition: the agent may use one of these tools in the turn."},
		{name: "used", at: func(r *ModelRule) any { return &r.Used }, example: `["bash", "edit"]`,
			doc: "Condition: the turn has called one of these tools."},
		{name: "attempt", at: func(r *ModelRule) any { return &r.Attempt }, min: 2, example: "2",
			doc: "Condition: this is at least the given attempt at the work, after fika request retry or retry in a workflow."},
		{name: "use", at: func(r *ModelRule) any { return &r.Use }, example: `"large"`,
			doc: "The one of the agent's models to use then, by id or nickname. Unset: the last."},
	}
}

// readModelRules reads model_rules.
func (r *reader) readModelRules(v value, path string, list *[]ModelRule) bool {
	return readTables(r, v, path, list, modelRuleKeys(), nil, func(item value, rule *ModelRule) {
		if rule.Tokens == 0 && rule.Attempt == 0 && len(rule.Offered) == 0 && len(rule.Used) == 0 {
			r.Problem(item.At, "this rule says nothing of when it holds: give it tokens, offered, used or attempt")
		}
	})
}

// checkModelChoice checks the models of an agent that has several.
func (c *crossCheck) checkModelChoice(i int) {
	a := &c.Agents[i]
	at := func(key string) Place { return c.placeOf("agents", i, key) }
	if len(a.Models) == 0 {
		if where, ok := c.where[elementPath("agents", i)+".models"]; ok {
			c.problems.Add(where, "models is empty: name the agent's models, as in models = [\"small\", \"large\"], or leave it out")
		}
		for _, key := range []string{"escalate", "model_rules"} {
			if where, ok := c.where[elementPath("agents", i)+"."+key]; ok {
				c.problems.Add(where, "%s chooses among several models: name them, as in models = [\"small\", \"large\"]", key)
			}
		}
		return
	}
	for _, key := range []string{"model", "base_url", "provider", "api_key_env"} {
		if where, ok := c.where[elementPath("agents", i)+"."+key]; ok {
			c.problems.Add(where, "%s", notWithModels(key))
		}
	}
	var list []Model // the known ones
	for k, name := range a.Models {
		m, ok := c.defineModel(name)
		if !ok && !c.isReachable(name) {
			c.problems.Add(at("models"), "%s", c.unknownModel(name))
			continue
		}
		if !ok {
			m = Model{ID: name}
		}
		if twice := slices.ContainsFunc(list, func(o Model) bool { return o.ID == m.ID }); twice {
			c.problems.Add(at("models"), "the model %s is in the list twice", toml.Quote(a.Models[k]))
		}
		list = append(list, m)
	}
	if len(list) != len(a.Models) {
		return
	}
	if len(list) == 1 && (a.Escalate > 0 || len(a.ModelRules) > 0) {
		c.problems.Add(at("models"), "nothing to choose from: name a second model, or take escalate and model_rules away")
	}
	c.checkModelWindows(i, list)
	c.checkModelRules(i, list)
}

// notWithModels says why a key cannot be set together with several models.
func notWithModels(key string) string {
	if key == "model" {
		return "model and models are both set: keep one; the first of models is what is used unless a rule or escalate says otherwise"
	}
	return key + " would hold for all of models: set it in the [[models]] entry that it is for"
}

// checkModelWindows refuses a model that cannot read everything that the one before it
// was shown.
func (c *crossCheck) checkModelWindows(i int, list []Model) {
	if c.Agents[i].ContextWindowLimit > 0 {
		return // all are shown the same amount
	}
	for k := 1; k < len(list); k++ {
		if before, after := c.windowOf(list[k-1]), c.windowOf(list[k]); after < before && (list[k-1].ContextWindow > 0 || !c.isUnknown(list[k])) {
			c.problems.Add(c.placeOf("agents", i, "models"), "%s reads %d tokens and %s before it %d: what the first has been shown would not fit; order models from small to large windows, or set context_window_limit",
				toml.Quote(list[k].ID), after, toml.Quote(list[k-1].ID), before)
		}
	}
}

// isUnknown reports whether the window of a model is neither set nor known: then nothing can
// be said against it if the one before it is known.
func (c *Config) isUnknown(m Model) bool {
	_, known := c.known.Find(cmp.Or(m.WireModel, m.ID))
	return m.ContextWindow == 0 && !known
}

func (c *Config) windowOf(m Model) int64 {
	known, _ := c.known.Find(cmp.Or(m.WireModel, m.ID))
	return firstSet(m.ContextWindow, known.Window, DefaultContextWindow)
}

func (c *crossCheck) checkModelRules(i int, list []Model) {
	a := &c.Agents[i]
	for k, r := range a.ModelRules {
		rule := elementPath(elementPath("agents", i)+".model_rules", k)
		where := func(key string) Place {
			if at, ok := c.where[rule+"."+key]; ok {
				return at
			}
			return c.where[rule]
		}
		use := slices.IndexFunc(list, func(m Model) bool { return r.Use == m.ID || r.Use == m.Nickname && r.Use != "" })
		switch {
		case r.Use != "" && use < 0:
			c.problems.Add(where("use"), "%s is none of this agent's models: %s%s", toml.Quote(r.Use), strings.Join(a.Models, ", "), toml.NearestHint(r.Use, a.Models))
		case use == 0:
			c.problems.Add(where("use"), "%s is the first of models, which is used anyway: name a later one", toml.Quote(r.Use))
		}
		for _, named := range []struct {
			key  string
			list []string
		}{{"offered", r.Offered}, {"used", r.Used}} {
			for _, name := range named.list {
				if !mayBeOffered(name, a.ToolPermissions, c.ToolPermissions) {
					c.problems.Add(where(named.key), "this agent may not use %s, so the rule never holds: name one of its tool_permissions", toml.Quote(name))
				}
			}
		}
		if first := firstSet(a.ContextWindowLimit, c.windowOf(list[0])); r.Tokens > first {
			c.problems.Add(where("tokens"), "%s reads %d tokens only, so a rule from %d on comes too late: choose fewer", toml.Quote(list[0].ID), first, r.Tokens)
		}
	}
}

// mayBeOffered reports whether permissions, of which the first that are set apply, let
// an agent have a tool. Unset permissions offer plugins, which are not known here.
func mayBeOffered(name string, permissions ...[]string) bool {
	for _, list := range permissions {
		if list == nil {
			continue
		}
		server, _, _ := strings.Cut(name, "__")
		return slices.Contains(list, name) || slices.Contains(list, "mcp:"+server) || slices.Contains(alwaysOffered(), name)
	}
	return slices.Contains(DefaultTools(), name) || !slices.Contains(BuiltinTools(), name)
}

// alwaysOffered returns the tools that only tools_off takes away.
func alwaysOffered() []string {
	return []string{"update_todos", "update_goals", "update_reflection", "send_message", "read_context", "create_context", "delegate"}
}

// resolveChoice resolves the several models of an agent. A model named by flags, the
// environment or local.toml is used alone.
func (in Inputs) resolveChoice(m merged, s *Settings) error {
	entry := in.Config.Agent(in.Agent)
	if entry == nil || len(entry.Models) == 0 || m.own["model"] {
		return nil
	}
	for _, key := range []string{"base_url", "provider", "api_key_env"} {
		if m.own[key] {
			return fika.Errorf(fika.Invalid, "choose model", "%s: %s", m.origins[key], notWithModels(key))
		}
	}
	for _, name := range entry.Models {
		one := m
		one.Model = name
		u, err := in.modelUse(one)
		if err != nil {
			return err
		}
		s.Choice.Models = append(s.Choice.Models, u)
	}
	s.Choice.Rules, s.Choice.Escalate = entry.ModelRules, entry.Escalate
	s.ModelUse = s.Choice.Models[0]
	if at, ok := in.Config.where[elementPath("agents", in.Config.entryIndex(string(in.Agent)))+".models"]; ok {
		s.Origins["model"] = lineOf(at)
	}
	return nil
}
