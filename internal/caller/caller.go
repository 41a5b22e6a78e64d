package caller

import (
	"strings"

	"fika"
)

// Kind says what sort of caller it is.
type Kind string

// The kinds. A Tool is a process of some tool whose agent the tree does not
// name: only FIKA_STEP says so, because the agent is gone or the platform (or a
// pid namespace) hides who started it.
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
	Home    string // folder of the home that the context is in
}

// Caller is who asks. The zero value is nobody; use [Find].
type Caller struct {
	Kind    Kind
	Agent   fika.AgentName // of an Agent
	Home    string         // of an Agent: the home that it belongs to
	Request fika.RequestID // the request that FIKA_STEP names; "" when it names none
	// Certain is false where nobody's ancestors are known: a Person may then be
	// a tool that has unset FIKA_STEP.
	Certain bool
}

// Options are what [Find] goes by.
type Options struct {
	// Ancestors are the processes that the caller descends from, its parent
	// first; Known says that the list is complete.
	Ancestors []fika.Process
	Known     bool
	// Holders lists who holds a context now.
	Holders []Holder
	// Step is FIKA_STEP of the environment: request/n, or "".
	Step string
}

// Find tells who asks. The nearest ancestor that holds a context counts: a
// one-shot prompt inside a tool is an agent of its own. FIKA_STEP can only make
// a caller less than a person, never more.
func Find(o Options) Caller {
	c := Caller{Kind: Person, Certain: o.Known, Request: requestOf(o.Step)}
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

// same reports whether two identities name one process. One that lacks a start
// time or a boot names nobody: a pid alone is used again.
func same(a, b fika.Process) bool {
	return a.PID > 0 && a.PID == b.PID && a.Start != 0 && a.Start == b.Start && a.BootID == b.BootID
}

// requestOf is the request in a step's mark, request/n.
func requestOf(step string) fika.RequestID {
	id, _, ok := strings.Cut(step, "/")
	if !ok {
		return ""
	}
	return fika.RequestID(id)
}

// InsideTool reports whether the caller is in a tool's process tree.
func (c Caller) InsideTool() bool { return c.Kind == Agent || c.Kind == Tool }

// Name says who it is, for a message.
func (c Caller) Name() string {
	if c.Kind == Agent {
		return "@" + string(c.Agent)
	}
	return "a tool"
}
