package workflow

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/settings/toml"
	"fika/internal/text/spelling"
)

// reader turns the tree of one file into a definition.
type reader struct{ *toml.Source }

// key is one key of a table, with the way to read its value.
type key[T any] struct {
	name string
	read func(r *reader, t *T, v toml.Value)
}

// scalar returns a key whose value goes into a field as it is.
func scalar[T any](name string, field func(*T) any, l toml.Limits) key[T] {
	return key[T]{name, func(r *reader, t *T, v toml.Value) {
		if wrong := toml.Assign(field(t), v, l); wrong != "" {
			r.Problem(v.At, "%s %s", name, wrong)
		}
	}}
}

// decode reads a table by its keys; where names the table, as in "in step plan".
func decode[T any](r *reader, t *toml.Table, where string, target *T, keys []key[T]) {
	for _, e := range t.Entries {
		found := false
		for _, k := range keys {
			if k.name == e.Name {
				k.read(r, target, e.Value)
				found = true
			}
		}
		if !found {
			r.unknown(e, where, names(keys))
		}
	}
}

func names[T any](keys []key[T]) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.name
	}
	return out
}

func (r *reader) unknown(e toml.Entry, where string, known []string) {
	hint := "; known are " + strings.Join(known, ", ")
	if near := spelling.Nearest(e.Name, known); near != "" {
		hint = "; did you mean " + near + "?"
	} else if len(known) > 15 {
		hint = ""
	}
	r.Problem(e.At, "unknown key %s %s%s", toml.Quote(e.Name), where, hint)
}

// isTable reports whether v is a table, and records a problem if it is not.
func (r *reader) isTable(name string, v toml.Value) bool {
	if v.Kind != toml.KindTable {
		r.Problem(v.At, "%s must be a table; this is %s", name, v.Kind)
	}
	return v.Kind == toml.KindTable
}

func definitionKeys() []key[Definition] {
	return []key[Definition]{
		scalar("description", func(d *Definition) any { return &d.Description }, toml.Limits{}),
		{"result", (*reader).result},
		{"contexts", (*reader).contexts},
		{"inputs", (*reader).inputs},
		{"limits", func(r *reader, d *Definition, v toml.Value) {
			if r.isTable("limits", v) {
				decode(r, v.Table, "in limits", &d.Limits, limitKeys())
			}
		}},
		{"steps", (*reader).steps},
	}
}

func limitKeys() []key[Limits] {
	return []key[Limits]{
		scalar(LimitCost, func(l *Limits) any { return &l.Cost }, toml.Limits{}),
		scalar(LimitTokens, func(l *Limits) any { return &l.Tokens }, toml.Limits{}),
		scalar(LimitTurns, func(l *Limits) any { return &l.Turns }, toml.Limits{}),
		scalar(LimitTime, func(l *Limits) any { return &l.Time }, toml.Limits{}),
	}
}

// result reads one id or a list of them.
func (r *reader) result(d *Definition, v toml.Value) {
	d.at["result"] = v.At
	if v.Kind == toml.KindText {
		d.Result = []string{v.Text}
		return
	}
	if wrong := toml.Assign(&d.Result, v, toml.Limits{}); wrong != "" {
		r.Problem(v.At, "result %s", wrong)
	}
}

// contexts reads the names of contexts.
func (r *reader) contexts(d *Definition, v toml.Value) {
	var names []string
	if wrong := toml.Assign(&names, v, toml.Limits{}); wrong != "" {
		r.Problem(v.At, "contexts %s", wrong)
		return
	}
	for _, name := range names {
		n, err := fika.ParseAgentName(name)
		if err != nil {
			r.Problem(v.At, "contexts: %v", err)
			continue
		}
		d.Contexts = append(d.Contexts, n)
	}
}

func (r *reader) inputs(d *Definition, v toml.Value) {
	if !r.isTable("inputs", v) {
		return
	}
	for _, e := range v.Table.Entries {
		in := Input{Name: e.Name, Type: TypeText, at: e.At}
		if wrong := wrongID(e.Name); wrong != "" {
			r.Problem(e.At, "the input %s %s", toml.Quote(e.Name), wrong)
			continue
		}
		switch e.Value.Kind {
		case toml.KindTable:
			decode(r, e.Value.Table, "in input "+e.Name, &in, inputKeys())
			in.checkDefault(r, e.Value.Table)
		default: // name = "default"
			in.Default = plain(e.Value)
			in.Type = typeOf(e.Value)
			if in.Type == "" {
				r.Problem(e.Value.At, "the input %s is described by a table, or by its default: a text, a number, true, false or a list", e.Name)
			}
		}
		d.Inputs = append(d.Inputs, in)
	}
}

func inputKeys() []key[Input] {
	return []key[Input]{
		scalar("description", func(i *Input) any { return &i.Description }, toml.Limits{}),
		scalar("type", func(i *Input) any { return &i.Type }, toml.Limits{OneOf: []string{TypeText, TypeNumber, TypeBoolean, TypeList, TypeAgent}}),
		{"default", func(_ *reader, i *Input, v toml.Value) { i.Default = plain(v) }},
	}
}

// checkDefault checks the default of an input against its type.
func (i *Input) checkDefault(r *reader, t *toml.Table) {
	e := t.Get("default")
	if e == nil {
		return
	}
	want := i.Type
	if want == TypeAgent {
		want = TypeText
		if e.Value.Kind == toml.KindList {
			i.readFallback(r, e.Value)
			return
		}
	}
	if got := typeOf(e.Value); got != want {
		r.Problem(e.Value.At, "the default of %s must be a %s; this is %s", i.Name, want, e.Value.Kind)
	}
}

// readFallback reads a default that names several agents, of which the first that exists is
// meant.
func (i *Input) readFallback(r *reader, v toml.Value) {
	i.Default = nil
	for n, x := range v.Items {
		switch {
		case x.Kind != toml.KindText:
			r.Problem(x.At, "the default of %s must name agents; this is %s", i.Name, x.Kind)
		case n == 0:
			i.Default = x.Text
		default:
			i.Fallback = append(i.Fallback, x.Text)
		}
	}
	if len(v.Items) == 0 {
		r.Problem(v.At, "the default of %s names no agent", i.Name)
	}
}

// typeOf returns the type of input that a value fits; "" if none.
func typeOf(v toml.Value) string {
	switch v.Kind {
	case toml.KindText:
		return TypeText
	case toml.KindBool:
		return TypeBoolean
	case toml.KindInt, toml.KindFloat:
		return TypeNumber
	case toml.KindList:
		return TypeList
	}
	return ""
}

// plain returns a value in the form that JSON decodes to, with numbers as written.
func plain(v toml.Value) any {
	switch v.Kind {
	case toml.KindBool:
		return v.Text == "true"
	case toml.KindInt:
		n, err := strconv.ParseInt(strings.TrimPrefix(v.Text, "+"), 0, 64)
		if err != nil {
			return v.Text
		}
		return json.Number(strconv.FormatInt(n, 10))
	case toml.KindFloat:
		f, err := strconv.ParseFloat(strings.ReplaceAll(v.Text, "_", ""), 64)
		text, bad := json.Marshal(f)
		if err != nil || bad != nil { // infinite, or not a number
			return v.Text
		}
		return json.Number(text)
	case toml.KindList:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = plain(item)
		}
		return list
	case toml.KindTable:
		m := make(map[string]any, len(v.Table.Entries))
		for _, e := range v.Table.Entries {
			m[e.Name] = plain(e.Value)
		}
		return m
	}
	return v.Text
}

func (r *reader) steps(d *Definition, v toml.Value) {
	if v.Kind != toml.KindList {
		r.Problem(v.At, "steps must be a list of tables, as in [[steps]]; this is %s", v.Kind)
		return
	}
	for i, item := range v.Items {
		if item.Kind != toml.KindTable {
			r.Problem(item.At, "steps must be a list of tables, as in [[steps]]; one of them is %s", item.Kind)
			continue
		}
		if len(d.Steps) == MaxSteps {
			r.Problem(item.At, "more than %d steps in one workflow", MaxSteps)
			return
		}
		s := Step{at: item.At, values: map[string]toml.Value{}, keys: map[string]int{}}
		for _, e := range item.Table.Entries {
			s.values[e.Name], s.keys[e.Name] = e.Value, e.At
		}
		where := fmt.Sprintf("in step %d", i+1)
		if id := s.values["id"]; id.Text != "" {
			where = "in step " + toml.Quote(id.Text)
		}
		decode(r, item.Table, where, &s, stepKeys())
		d.Steps = append(d.Steps, s)
	}
}

func stepKeys() []key[Step] {
	return []key[Step]{
		scalar("id", func(s *Step) any { return &s.ID }, toml.Limits{}),
		scalar("agent", func(s *Step) any { return &s.Agent }, toml.Limits{}),
		scalar("capability", func(s *Step) any { return &s.Capability }, toml.Limits{}),
		scalar("prompt", func(s *Step) any { return &s.Prompt }, toml.Limits{}),
		scalar("needs", func(s *Step) any { return &s.Needs }, toml.Limits{}),
		scalar("when", func(s *Step) any { return &s.When }, toml.Limits{}),
		scalar("for_each", func(s *Step) any { return &s.ForEach }, toml.Limits{}),
		scalar("max_parallel", func(s *Step) any { return &s.MaxParallel }, toml.Limits{Min: 1, Max: MaxParallel}),
		scalar("join", func(s *Step) any { return &s.Join }, toml.Limits{OneOf: []string{JoinAll, JoinAny, JoinEnded}}),
		{"repeat", (*reader).repeat},
		{"retry", (*reader).retry},
		scalar("timeout", func(s *Step) any { return &s.Timeout }, toml.Limits{Min: 1}),
		scalar("output", func(s *Step) any { return &s.Output }, toml.Limits{OneOf: []string{OutputText, OutputJSON}}),
		{"schema", (*reader).schema},
		scalar("approve", func(s *Step) any { return &s.Approve }, toml.Limits{}),
		scalar("choice", func(s *Step) any { return &s.Choice }, toml.Limits{}),
		scalar("answer", func(s *Step) any { return &s.Answer }, toml.Limits{OneOf: []string{AnswerText}}),
		scalar("workflow", func(s *Step) any { return &s.Workflow }, toml.Limits{}),
		{"inputs", (*reader).stepInputs},
		{"chat", (*reader).chat},
		scalar("post", func(s *Step) any { return &s.Post }, toml.Limits{}),
	}
}

func (r *reader) repeat(s *Step, v toml.Value) {
	if !r.isTable("repeat", v) {
		return
	}
	s.Repeat = &Repeat{Max: 3}
	decode(r, v.Table, "in repeat", s.Repeat, []key[Repeat]{
		scalar("until", func(p *Repeat) any { return &p.Until }, toml.Limits{}),
		scalar("max", func(p *Repeat) any { return &p.Max }, toml.Limits{Min: 1, Max: MaxRounds}),
	})
	if e := v.Table.Get("until"); e == nil {
		r.Problem(v.At, "repeat needs until: the condition that ends it, as in repeat = {until = 'output.ok', max = 3}")
	} else {
		s.values["repeat.until"] = e.Value
	}
}

// retry reads a number of retries, or a table with more settings.
func (r *reader) retry(s *Step, v toml.Value) {
	most := toml.Limits{Max: MaxAttempts - 1}
	s.Retry.Backoff = 5 * time.Second
	if v.Kind != toml.KindTable {
		if wrong := toml.Assign(&s.Retry.Max, v, most); wrong != "" {
			r.Problem(v.At, "retry %s", wrong)
		}
		return
	}
	s.Retry.Max = 1
	decode(r, v.Table, "in retry", &s.Retry, []key[Retry]{
		scalar("max", func(p *Retry) any { return &p.Max }, most),
		scalar("backoff", func(p *Retry) any { return &p.Backoff }, toml.Limits{Max: maxBackoff.Seconds()}),
	})
}

// schema reads a JSON Schema, written as a table or as a text.
func (r *reader) schema(s *Step, v toml.Value) {
	var text []byte
	switch v.Kind {
	case toml.KindTable:
		text, _ = json.Marshal(plain(v)) // values from plain always encode
	case toml.KindText:
		text = []byte(v.Text)
	default:
		r.Problem(v.At, "schema must be a table, or a JSON text; this is %s", v.Kind)
		return
	}
	s.Schema = text
	if _, err := compileSchema(text); err != nil {
		r.Problem(v.At, "schema is not a JSON Schema: %v", err)
		s.Schema = nil
	}
}

func (r *reader) stepInputs(s *Step, v toml.Value) {
	if !r.isTable("inputs", v) {
		return
	}
	s.Inputs = map[string]string{}
	for _, e := range v.Table.Entries {
		if e.Value.Kind == toml.KindTable || e.Value.Kind == toml.KindList {
			r.Problem(e.Value.At, "the input %s must be a text, a number, true or false; this is %s", e.Name, e.Value.Kind)
			continue
		}
		s.Inputs[e.Name] = fmt.Sprint(plain(e.Value))
		s.values["inputs."+e.Name], s.keys["inputs."+e.Name] = e.Value, e.At
	}
}

func (r *reader) chat(s *Step, v toml.Value) {
	if !r.isTable("chat", v) {
		return
	}
	s.Chat = &Chat{Max: 20}
	decode(r, v.Table, "in chat", s.Chat, []key[Chat]{
		scalar("agents", func(c *Chat) any { return &c.Agents }, toml.Limits{}),
		scalar("topic", func(c *Chat) any { return &c.Topic }, toml.Limits{}),
		scalar("until", func(c *Chat) any { return &c.Until }, toml.Limits{}),
		scalar("max", func(c *Chat) any { return &c.Max }, toml.Limits{Min: 2, Max: 1000}),
	})
	for _, e := range v.Table.Entries {
		s.values["chat."+e.Name], s.keys["chat."+e.Name] = e.Value, e.At
	}
	for i, item := range s.values["chat.agents"].Items {
		s.values[fmt.Sprintf("chat.agents.%d", i)] = item
	}
}
