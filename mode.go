package fika

import "slices"

// Mode bounds what agents do by themselves because of what is said in a conversation. A
// person sets it; it holds for everything that follows from there: mentions, delegated
// tasks and runs of workflows. The empty mode adds nothing to the settings.
type Mode string

// The modes, the strictest first.
const (
	PlanMode Mode = "plan" // they only look, and end with a plan
	AskMode  Mode = "ask"  // they ask before they change a file or start a process
	EditMode Mode = "edit" // they ask before they start a process
	AutoMode Mode = "auto" // they ask where rules say so; without a sandbox it is EditMode
)

// Modes lists the modes, the strictest first.
func Modes() []Mode { return []Mode{PlanMode, AskMode, EditMode, AutoMode} }

// ParseMode returns the mode of a name. It fails with Invalid.
func ParseMode(name string) (Mode, error) {
	if m := Mode(name); slices.Contains(Modes(), m) {
		return m, nil
	}
	return "", Errorf(Invalid, "", "no mode %q; the modes are plan, ask, edit, auto", name)
}

// Strictest returns the one of several modes that allows the least.
func Strictest(list ...Mode) Mode {
	for _, m := range Modes() {
		if slices.Contains(list, m) {
			return m
		}
	}
	return ""
}
