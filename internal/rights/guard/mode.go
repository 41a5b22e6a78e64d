package guard

import "fika"

// looksOnly reports whether a tool is one of those that an agent may call in plan mode: they
// change nothing, send nothing and start no process. Whatever is not named here is refused,
// whatever it says of itself.
func looksOnly(tool string) bool {
	switch tool {
	case "read", "list", "read_context", "recall", "tool_search", "skill", "board_list":
		return true
	}
	return false
}

// changesFiles reports whether a tool changes files of the workspace by itself.
func changesFiles(tool string) bool { return tool == "edit" || tool == "create" }

// AsksIn reports whether a call asks a person because of the mode, where no rule fits.
// starts says that the tool starts a process that may change something.
func AsksIn(mode fika.Mode, tool string, starts bool) bool {
	switch mode {
	case fika.AskMode:
		return starts || changesFiles(tool)
	case fika.EditMode:
		return starts
	}
	return false
}

// WithinMode returns a decision as plan mode leaves it: only what looks is done, whatever
// rules allow.
func (d Decision) WithinMode(mode fika.Mode, tool string) Decision {
	if mode != fika.PlanMode || d.Do == Deny || looksOnly(tool) {
		return d
	}
	return Decision{Do: Deny, What: tool, Why: "plan mode: nothing is changed, run or sent; end with your plan, and a person starts the work"}
}

// ConfinedRights returns the rights that processes of a turn's calls are confined to: in
// plan mode they write nothing and reach no network.
func ConfinedRights(r *fika.Rights, mode fika.Mode) *fika.Rights {
	if r == nil || mode != fika.PlanMode {
		return r
	}
	out := *r
	out.ReadOnly, out.Network, out.Reach, out.Lend = true, false, nil, nil
	if out.Sandbox == "off" { // off would confine nothing
		out.Sandbox = "best"
	}
	return &out
}
