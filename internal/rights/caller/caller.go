package caller

import (
	"strings"

	"fika"
	"fika/internal/api"
)

// Kind is the sort of a caller.
type Kind string

// The kinds. A Tool is a process of some tool whose agent the process tree does not
// name: only FIKA_STEP shows it, because the agent is gone or the platform (or a pid
// namespace) hides the ancestors.
const (
	Person Kind = "person"
	Agent  Kind = "agent"
	Tool   Kind = "tool"
)

// Holder is a process that holds an agent's context and runs tools for it: the
// agent's own process, or a one-shot prompt.
type Holder struct {
	Process fika.Process
	Agent   fika.AgentName
	Home    string // folder of the home that the context belongs to
}

// Caller is who asks. The zero value is nobody; use [Find].
type Caller struct {
	Kind    Kind
	Agent   fika.AgentName // of an Agent
	Home    string         // of an Agent: the home that it belongs to
	Request fika.RequestID // the request that FIKA_STEP names; "" when it names none
	Step    string         // FIKA_STEP
	// Certain is false if the ancestors are not all known: a Person may then be a tool
	// that has unset FIKA_STEP.
	Certain bool
}

// Options are the facts from which [Find] decides.
type Options struct {
	// Ancestors are the processes that the caller descends from, its parent first;
	// Known means that the list is complete.
	Ancestors []fika.Process
	Known     bool
	// Holders lists the processes that hold a context now.
	Holders []Holder
	// Step is FIKA_STEP from the environment: request/n, or "".
	Step string
}

// Find returns who asks. The nearest ancestor that holds a context decides: a one-shot
// prompt inside a tool is an agent of its own. FIKA_STEP can only make a caller less
// than a person, never more.
func Find(o Options) Caller {
	c := Caller{Kind: Person, Certain: o.Known, Request: requestOf(o.Step), Step: o.Step}
	for _, p := range o.Ancestors {
		for _, h := range o.Holders {
			if same(h.Process, p) {
				c.Kind, c.Agent, c.Home, c.Certain = Agent, h.Agent, h.Home, true
				return c
			}
		}
	}
	if o.Step != "" {
		c.Kind = Tool
	}
	return c
}

// same reports whether two identities name the same process. An identity without a
// start time names no process, because pids are reused.
func same(a, b fika.Process) bool {
	return a.PID > 0 && a.PID == b.PID && a.Start != 0 && a.Start == b.Start && a.BootID == b.BootID
}

// requestOf returns the request in a step's mark, request/n, or "".
func requestOf(step string) fika.RequestID {
	id, _, ok := strings.Cut(step, "/")
	if !ok {
		return ""
	}
	return fika.RequestID(id)
}

// Unknown is the name of a tool whose agent is not known. No agent can have it.
const Unknown = "a tool"

// Principal returns the caller as a principal at the command line of a home. username is
// the name of the person. An agent of another home keeps its name only with that home's
// folder, so that it does not pass for an agent of this one.
func (c Caller) Principal(home, username string) api.Principal {
	p := api.Principal{Kind: api.Agent, Name: string(c.Agent), Request: string(c.Request), Step: c.Step, Door: api.DoorCLI}
	switch {
	case !c.InsideTool():
		return api.Principal{Kind: api.Person, Name: username, Door: api.DoorCLI}
	case c.Kind == Tool:
		p.Name = Unknown
	case c.Home != home:
		p.Name = string(c.Agent) + " (of " + c.Home + ")"
	}
	return p
}

// InsideTool reports whether the caller is in a tool's process tree.
func (c Caller) InsideTool() bool { return c.Kind == Agent || c.Kind == Tool }
