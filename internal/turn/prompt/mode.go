package prompt

import (
	"slices"

	"fika"
)

// modeTitle is the title of the section that says what bounds the agent.
const modeTitle = "MODE"

// InMode returns the prompt with what the model is told about a mode. It is part of the
// state, so that a change of the mode leaves what is before it cached.
func (p Prompt) InMode(mode fika.Mode) Prompt {
	p.State = slices.DeleteFunc(slices.Clone(p.State), func(s Section) bool { return s.Title == modeTitle })
	if text := modeText(mode); text != "" {
		p.State = append(p.State, Section{Title: modeTitle, Text: text})
	}
	return p
}

func modeText(mode fika.Mode) string {
	switch mode {
	case fika.PlanMode:
		return "plan: only look. Tools that change, run or send anything are refused. Find out what is needed, ask what is not clear, and end with your plan: the heading \"## Plan\" and numbered steps, each with the files that it changes. A person starts the work."
	case fika.AskMode:
		return "ask: a person is asked before you change a file or run a command."
	case fika.EditMode:
		return "edit: change files as you need to; a person is asked before you run a command."
	case fika.AutoMode:
		return "auto: change files and run commands as you need to."
	}
	return ""
}
