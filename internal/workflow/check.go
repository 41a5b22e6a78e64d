package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"fika"
	"fika/internal/settings/toml"
)

// checker finds everything that is wrong with a definition that could be parsed.
type checker struct {
	def    *Definition
	loader *loader
}

// problem reports a problem at a key of a step or, if the step has no such key, at
// the step.
func (c *checker) problem(s *Step, key, format string, args ...any) {
	at := s.at
	if v, ok := s.values[key]; ok {
		at = v.At
	}
	c.def.src.Problem(at, format, args...)
}

func (c *checker) check() {
	c.checkIDs()
	for i := range c.def.Steps {
		s := &c.def.Steps[i]
		c.checkKind(s)
		c.checkKeys(s)
		c.checkNeeds(s)
		c.checkAgents(s)
	}
	c.checkCycles()
	c.checkResult()
	for _, w := range c.def.compile() {
		v := w.step.values[w.key]
		c.def.src.Problem(c.def.src.OffsetInside(v, w.at), "%s: %s", leaf(w.key), w.message)
	}
	for i := range c.def.Steps {
		if s := &c.def.Steps[i]; s.Workflow != "" {
			c.checkNested(s)
		}
	}
}

func leaf(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// wrongID returns what is wrong with a name that templates and conditions use, as the
// end of a sentence.
func wrongID(id string) string {
	const rule = "must be 1 to 40 of a-z 0-9 _ and begin with a letter"
	if id == "" || len(id) > 40 || id[0] < 'a' || id[0] > 'z' {
		return rule
	}
	for i := range len(id) {
		c := id[i]
		if c == '-' {
			return rule + ": write _ for -"
		}
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return rule
		}
	}
	return ""
}

func (c *checker) checkIDs() {
	first := map[string]*Step{}
	for i := range c.def.Steps {
		s := &c.def.Steps[i]
		switch wrong := wrongID(s.ID); {
		case s.ID == "" && s.values["id"].Kind != toml.KindText: // already reported
		case s.ID == "":
			c.problem(s, "id", "this step has no id: give it a name, as in id = \"plan\"")
		case wrong != "":
			c.problem(s, "id", "the id %s %s", toml.Quote(s.ID), wrong)
		case first[s.ID] != nil:
			c.problem(s, "id", "there are two steps %s; the first is in line %d", toml.Quote(s.ID), c.def.src.Place(first[s.ID].at).Line)
		default:
			first[s.ID] = s
		}
	}
}

// checkKind checks that a step does exactly one thing.
func (c *checker) checkKind(s *Step) {
	var kinds []string
	for _, k := range []string{"agent", "capability", "workflow", "chat", "post"} {
		if _, ok := s.values[k]; ok {
			kinds = append(kinds, k)
		}
	}
	_, hasPrompt := s.values["prompt"]
	_, chooses := s.values["choice"]
	_, answers := s.values["answer"]
	switch {
	case len(kinds) > 1:
		c.problem(s, kinds[1], "a step does one thing: %s are both set", strings.Join(kinds, " and "))
	case len(kinds) == 0 && !s.Approve && !chooses && !answers:
		c.problem(s, "", "the step %s does nothing: give it an agent, a capability, a workflow, a chat, a post, or a person: approve = true, choice or answer", toml.Quote(s.ID))
	case !hasPrompt && (len(kinds) == 0 || slices.Contains([]string{"agent", "capability", "post"}, kinds[0])):
		c.problem(s, "", "the step %s has no prompt", toml.Quote(s.ID))
	case hasPrompt && strings.TrimSpace(s.Prompt) == "":
		c.problem(s, "prompt", "the prompt is empty")
	case hasPrompt && !s.Approve && (s.Workflow != "" || s.Chat != nil):
		c.problem(s, "prompt", "a prompt is for an agent, or for the person who approves; a %s takes %s", kinds[0], map[bool]string{true: "inputs", false: "a topic"}[s.Workflow != ""])
	}
	if s.Chat != nil && strings.TrimSpace(s.Chat.Topic) == "" {
		c.problem(s, "chat", "the chat has no topic: the message it begins with")
	}
	if s.Chat != nil && len(s.Chat.Agents) < 2 {
		c.problem(s, "chat", "a chat needs at least two agents")
	}
}

// checkKeys checks that keys that belong together are used together.
func (c *checker) checkKeys(s *Step) {
	for _, k := range []struct {
		key   string
		wrong bool
		why   string
	}{
		{"max_parallel", s.ForEach == "", "max_parallel belongs to for_each"},
		{"schema", s.Output != OutputJSON, "schema belongs to output = \"json\""},
		{"inputs", s.Workflow == "", "inputs belong to workflow = \"NAME\""},
		{"join", s.Join != JoinEnded && len(s.Needs) < 2, "join belongs to a step that needs two or more others"},
		{"join", s.Join == JoinEnded && len(s.Needs) == 0, "join = \"ended\" belongs to a step that needs others"},
		{"output", s.Output == OutputJSON && s.Kind() != KindAgent, "output = \"json\" is for agents; this step has none"},
		{"choice", s.Kind() != KindApproval, "choice is what a person answers; this step does something else"},
		{"answer", s.Kind() != KindApproval, "answer is what a person answers with; this step does something else"},
		{"answer", len(s.Choice) > 0 && s.Kind() == KindApproval, "a person answers with a choice or with a text: choice and answer are both set"},
		{"approve", !s.Approve, "approve is true, or it is left out"},
		{"when", strings.TrimSpace(s.When) == "", "when is empty: leave it out, or give a condition"},
		{"for_each", strings.TrimSpace(s.ForEach) == "", "for_each is empty: leave it out, or say what is to be worked one by one"},
	} {
		if v, ok := s.values[k.key]; ok && k.wrong && v.Kind != toml.KindInt {
			c.problem(s, k.key, "%s", k.why)
		}
	}
	if v, set := s.values["choice"]; set && v.Kind == toml.KindList {
		if wrong := wrongChoice(s.Choice); wrong != "" {
			c.problem(s, "choice", "%s", wrong)
		}
	}
	if _, set := s.values["max_parallel"]; !set && s.ForEach != "" {
		s.MaxParallel = 8
	}
}

// The most that a person is given to choose from, and the length of one choice.
const (
	maxChoices = 20
	maxChoice  = 80
)

// wrongChoice returns what is wrong with what a person may choose from.
func wrongChoice(list []string) string {
	if len(list) < 2 || len(list) > maxChoices {
		return fmt.Sprintf("a choice is among 2 to %d texts; here is %d", maxChoices, len(list))
	}
	seen := map[string]bool{}
	for _, one := range list {
		folded := strings.ToLower(one)
		switch {
		case one == "" || one != strings.TrimSpace(one) || len(one) > maxChoice || strings.ContainsFunc(one, isHidden):
			return fmt.Sprintf("%s cannot be chosen: a choice is a line of 1 to %d bytes, without spaces around it and without hidden characters", toml.Quote(one), maxChoice)
		case seen[folded]:
			return fmt.Sprintf("%s is there twice", toml.Quote(one))
		}
		seen[folded] = true
	}
	return ""
}

func isHidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

func (c *checker) checkNeeds(s *Step) {
	seen := map[string]bool{}
	for i, need := range s.Needs {
		at := c.itemAt(s, "needs", i)
		switch {
		case need == s.ID:
			c.def.src.Problem(at, "the step %s needs itself", toml.Quote(need))
		case c.def.Step(need) == nil:
			c.def.src.Problem(at, "step %s not found%s", toml.Quote(need), orKnown(need, slices.DeleteFunc(c.def.stepIDs(), func(id string) bool { return id == s.ID })))
		case seen[need]:
			c.def.src.Problem(at, "%s is needed twice", toml.Quote(need))
		}
		seen[need] = true
	}
}

// itemAt returns where an element of a list is written.
func (c *checker) itemAt(s *Step, key string, i int) int {
	v, ok := s.values[key]
	if ok && i < len(v.Items) {
		return v.Items[i].At
	}
	return s.at
}

func (c *checker) checkAgents(s *Step) {
	if s.Agent != "" {
		c.checkAgent(s.values["agent"].At, s.Agent)
	} else if v, ok := s.values["agent"]; ok && v.Kind == toml.KindText {
		c.problem(s, "agent", "the agent has no name")
	}
	if s.Chat != nil {
		seen := map[string]bool{}
		for i, a := range s.Chat.Agents {
			at := c.itemAt(s, "chat.agents", i)
			if c.checkAgent(at, a); seen[a] {
				c.def.src.Problem(at, "%s takes part already", toml.Quote(a))
			}
			seen[a] = true
		}
	}
	if _, set := s.values["post"]; set && !strings.Contains(s.Post, "{{") {
		if _, err := fika.ParseConversationName(s.Post); err != nil {
			c.problem(s, "post", "post needs the name of a chat: %v", err)
		}
	}
	if s.Capability == "" || c.loader.known.Agents == nil {
		return
	}
	var all []string
	for _, a := range c.loader.known.Agents {
		all = append(all, a.Capabilities...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); !slices.Contains(all, s.Capability) {
		c.problem(s, "capability", "no agent has the capability %s%s", toml.Quote(s.Capability), orKnown(s.Capability, all))
	}
}

// checkAgent checks a name against the existing agents. A name made from the inputs
// is checked when a run starts.
func (c *checker) checkAgent(at int, name string) {
	if strings.Contains(name, "{{") {
		return
	}
	n, err := fika.ParseAgentName(name)
	if err != nil {
		c.def.src.Problem(at, "%v", err)
		return
	}
	names := c.loader.known.agentNames()
	if c.loader.known.Agents != nil && !slices.Contains(names, string(n)) {
		c.def.src.Problem(at, "agent %s not found%s", toml.Quote(name), orKnown(name, names))
	}
}

// checkCycles reports every cycle of needs once, at the needs of the cycle's first
// step in the file.
func (c *checker) checkCycles() {
	const (
		open = 1
		done = 2
	)
	state := map[string]int{}
	var path []string
	var visit func(s *Step)
	visit = func(s *Step) {
		state[s.ID] = open
		path = append(path, s.ID)
		for i, need := range s.Needs {
			next := c.def.Step(need)
			switch {
			case next == nil || need == s.ID:
			case state[need] == open:
				circle := append(slices.Clone(path[slices.Index(path, need):]), need)
				c.def.src.Problem(c.itemAt(s, "needs", i), "the steps wait for each other: %s", strings.Join(circle, " needs "))
			case state[need] == 0:
				visit(next)
			}
		}
		path = path[:len(path)-1]
		state[s.ID] = done
	}
	for i := range c.def.Steps {
		if s := &c.def.Steps[i]; state[s.ID] == 0 {
			visit(s)
		}
	}
}

func (c *checker) checkResult() {
	for _, id := range c.def.Result {
		if c.def.Step(id) == nil {
			c.def.src.Problem(c.def.at["result"], "step %s not found%s", toml.Quote(id), orKnown(id, c.def.stepIDs()))
		}
	}
}

// checkNested loads the workflow that a step runs and checks the inputs given to it
// against those it takes.
func (c *checker) checkNested(s *Step) {
	d, wrong := c.loader.open(s.Workflow)
	if wrong != "" {
		c.problem(s, "workflow", "%s", wrong)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Inputs)) {
		if d.input(name) == nil {
			c.def.src.Problem(s.keys["inputs."+name], "the workflow %s has no input %s%s", s.Workflow, toml.Quote(name), orKnown(name, d.inputNames()))
		}
	}
	for _, in := range d.Inputs {
		if _, given := s.Inputs[in.Name]; !given && in.needed() {
			c.problem(s, "workflow", "the workflow %s needs the input %s: add it, as in inputs = {%s = \"…\"}", s.Workflow, in.Name, in.Name)
		}
	}
}

// needed reports whether an input must be given.
func (i *Input) needed() bool { return i.Default == nil }

// Bind returns the inputs of a run: the given ones, checked against their types, and
// the defaults for the rest. It fails with Invalid and names everything that is
// wrong.
func (d *Definition) Bind(given map[string]string, agents []Agent) (map[string]any, error) {
	var wrong []string
	bound := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if d.input(name) == nil {
			wrong = append(wrong, fmt.Sprintf("input %s not found%s", toml.Quote(name), orKnown(name, d.inputNames())))
		}
	}
	for i := range d.Inputs {
		in := &d.Inputs[i]
		v, err := in.bind(given, agents)
		if err != "" {
			wrong = append(wrong, err)
			continue
		}
		bound[in.Name] = v
	}
	if len(wrong) > 0 {
		return nil, fika.Errorf(fika.Invalid, "", "%s", strings.Join(wrong, "\n"))
	}
	return bound, nil
}
