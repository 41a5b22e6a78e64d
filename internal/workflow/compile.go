package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// wrongText is a mistake in one of a step's texts.
type wrongText struct {
	mistake
	step *Step
	key  string
}

// compile compiles the texts of all steps and returns everything that is wrong with
// them.
func (d *Definition) compile() []wrongText {
	var wrong []wrongText
	for i := range d.Steps {
		c := &stepCompiler{step: &d.Steps[i], scope: scope{def: d, step: &d.Steps[i], reach: d.ancestors(d.Steps[i].ID)}}
		c.compile()
		wrong = append(wrong, c.wrong...)
	}
	return wrong
}

// stepCompiler compiles the texts of one step.
type stepCompiler struct {
	step  *Step
	scope scope
	wrong []wrongText
}

func (c *stepCompiler) compile() {
	s, code := c.step, &c.step.code
	who := c.scope
	who.item, who.name = s.ForEach != "", true
	for i, name := range s.agents() {
		key := "agent"
		if s.Chat != nil {
			key = fmt.Sprintf("chat.agents.%d", i)
		}
		code.who = append(code.who, c.template(key, name, who))
	}
	code.when = c.condition("when", s.When, TypeBoolean, c.scope)
	code.forEach = c.condition("for_each", s.ForEach, TypeList, c.scope)

	inside := c.scope
	inside.item, inside.round = s.ForEach != "", s.Repeat != nil
	code.prompt = c.template("prompt", s.Prompt, inside)
	code.post = c.template("post", s.Post, inside)
	if s.Chat != nil {
		code.topic = c.template("chat.topic", s.Chat.Topic, inside)
		code.over = c.condition("chat.until", s.Chat.Until, TypeBoolean, scope{def: c.scope.def, step: s, chat: true})
	}
	code.inputs = map[string]*template{}
	for _, name := range slices.Sorted(maps.Keys(s.Inputs)) {
		code.inputs[name] = c.template("inputs."+name, s.Inputs[name], inside)
	}
	if s.Repeat != nil {
		inside.own = true
		code.until = c.condition("repeat.until", s.Repeat.Until, TypeBoolean, inside)
	}
}

func (c *stepCompiler) template(key, text string, sc scope) *template {
	t, wrong := compileTemplate(text, sc)
	c.add(key, wrong)
	return t
}

func (c *stepCompiler) condition(key, text, want string, sc scope) *condition {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	made, wrong := compileCondition(text, want, sc)
	c.add(key, wrong)
	return made
}

func (c *stepCompiler) add(key string, wrong []mistake) {
	for _, m := range wrong {
		c.wrong = append(c.wrong, wrongText{m, c.step, key})
	}
}
