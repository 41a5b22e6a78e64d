package api

import "slices"

// Principal is who asks, as the door found out. It is derived, never claimed, made once
// per call or connection, and passed on. The zero value is nobody, who may do nothing.
type Principal struct {
	Kind PrincipalKind
	// Name is the person's username, the agent's or the program's name; never empty
	// unless Kind is. A program never has the name of an agent or a person.
	Name string
	Door Door // where it asks; part of the identity of every key
	// Request is the running request that an agent speaks for: each of its writes
	// checks that it still runs.
	Request string
	// Step is the tool call that an agent speaks through, as text: its keys are those of
	// that call.
	Step string
	// Agents are those that a program may reach. "*" stands for all; nil for none.
	Agents []string
	// Most is the most that a program's token allows. Other kinds do not need it.
	Most Conduct
	// For is the person who has started a program on this machine, and whose rights it
	// has but for [Most]: what it asks is done with the agent's own tools. Its words are
	// outside text all the same. Empty: a foreign program.
	For string
	// Token is the hash of the token that a program has shown: a stream ends once that is
	// revoked or has expired. Empty: it came in without one.
	Token string
}

// PrincipalKind is the sort of a principal.
type PrincipalKind string

// The kinds of principals.
const (
	Nobody  PrincipalKind = ""
	Person  PrincipalKind = "person"
	Agent   PrincipalKind = "agent"   // speaks through a command in one of its tools
	Program PrincipalKind = "program" // a token, or a member of the bus
	// System is the hub, a schedule or a run. It has the rights of whoever set it up,
	// and never answers what only persons answer.
	System PrincipalKind = "system"
)

// PrincipalKinds returns every kind.
func PrincipalKinds() []PrincipalKind {
	return []PrincipalKind{Nobody, Person, Agent, Program, System}
}

// Door is a way in.
type Door string

// The doors.
const (
	DoorCLI    Door = "cli"
	DoorPage   Door = "page"
	DoorBus    Door = "bus"
	DoorMCP    Door = "mcp"
	DoorACP    Door = "acp"
	DoorOpenAI Door = "openai"
	DoorA2A    Door = "a2a"
	DoorHub    Door = "hub"
	DoorTool   Door = "tool" // a tool of an agent, in the process of the agent
	// DoorMetrics shows figures to programs that collect them.
	DoorMetrics Door = "metrics"
)

// TokenDoors returns the doors that programs come in by with a token.
func TokenDoors() []Door { return []Door{DoorMCP, DoorMetrics} }

// Reaches reports whether a program may reach an agent. Every other principal may try:
// the agent's own rule decides.
func (p Principal) Reaches(agent string) bool {
	return p.Kind != Program || slices.Contains(p.Agents, "*") || slices.Contains(p.Agents, agent)
}

// Conduct is how much a verb does. The conducts are ordered: whoever may do one may do
// those before it.
type Conduct int

// The conducts.
const (
	Looks   Conduct = iota + 1 // shows something
	Speaks                     // asks an agent or says something, in the principal's name
	Manages                    // changes how the home works
	Answers                    // says what only a person may say: approvals, plans, questions
)

// String returns the word for a conduct: looks, speaks, manages, answers.
func (c Conduct) String() string {
	switch c {
	case Looks:
		return "looks"
	case Speaks:
		return "speaks"
	case Manages:
		return "manages"
	case Answers:
		return "answers"
	}
	return ""
}

// Object is what a verb is about.
type Object struct {
	Kind ObjectKind `json:"kind"`
	ID   string     `json:"id,omitempty"` // empty: all of the kind, or the only one
}

// ObjectKind is the sort of an object.
type ObjectKind string

// The kinds of objects. A context is the agent of its name.
const (
	Home           ObjectKind = "home"
	Host           ObjectKind = "host" // the machine, with its processes
	AgentObject    ObjectKind = "agent"
	Conversation   ObjectKind = "conversation"
	RequestObject  ObjectKind = "request"
	RunObject      ObjectKind = "run"   // of a workflow, or of a team
	BoardObject    ObjectKind = "board" // a task of it, or all of it
	ApprovalObject ObjectKind = "approval"
	ScheduleObject ObjectKind = "schedule"
	BudgetObject   ObjectKind = "budget"
	JobObject      ObjectKind = "job"   // a background command
	OfferObject    ObjectKind = "offer" // work that is to land on a branch
	FileObject     ObjectKind = "file"  // settings, plugins, MCP servers, templates, workflows, rules
	TokenObject    ObjectKind = "token"
	WebhookObject  ObjectKind = "webhook" // a receiver of events
)

// Write goes with every verb that changes something.
type Write struct {
	// Key names the write: the same key of the same principal at the same door is the
	// same write, which takes effect once and gives the same ids each time. Empty: each
	// call is a new write.
	Key string
}
