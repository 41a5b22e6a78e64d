package fika

import (
	"slices"
	"strconv"
	"time"
)

// OfferNumber numbers the offers of a home, from 1; 0: none.
type OfferNumber int64

// OfferState is where an offer stands on its way to the branch that it is for.
type OfferState string

// The states of an offer. The last six end it; a person may try it again unless it has
// landed.
const (
	OfferWaiting   OfferState = "waiting"   // for its turn
	OfferReviewed  OfferState = "review"    // other agents look at it before it goes on
	OfferTrying    OfferState = "trying"    // it is put on the branch in a scratch folder, and checked there
	OfferMoving    OfferState = "moving"    // checked: the branch is being moved
	OfferRework    OfferState = "rework"    // it conflicts, or its check has failed, and its agent works on that
	OfferLanded    OfferState = "landed"    // the branch has it
	OfferBack      OfferState = "back"      // it conflicts, or its check has failed
	OfferAsks      OfferState = "asks"      // it changes paths that need a person's yes
	OfferHeld      OfferState = "held"      // of an agent: it waits for a person, and the reason says why
	OfferRefused   OfferState = "refused"   // it cannot land as it is, whatever the branch has
	OfferCancelled OfferState = "cancelled" // by a person
)

// OfferStates returns every state, in the order in which a list shows them.
func OfferStates() []OfferState {
	return []OfferState{OfferAsks, OfferHeld, OfferBack, OfferMoving, OfferTrying, OfferWaiting, OfferReviewed, OfferRework, OfferRefused, OfferCancelled, OfferLanded}
}

// Ended reports whether nothing happens to an offer in this state until somebody asks for it.
func (s OfferState) Ended() bool {
	switch s {
	case OfferWaiting, OfferReviewed, OfferTrying, OfferMoving, OfferRework:
		return false
	}
	return true
}

// Offer is work that is to land on a branch of a repository: one commit with what is behind
// it.
type Offer struct {
	Number OfferNumber
	Source string     // the branch, or @ and the agent, that it comes from
	Agent  AgentName  // whose work it is; empty: a person's
	Task   TaskNumber // of the board, in whose worktree it was made; 0: in none's
	Title  string     // of its commit
	Tip    string     // the commit that is offered
	Into   string     // the branch that it is for
	Host   string     // the id of the home in whose repository its commits are; empty: not known
	By     string     // the person who offered it, or @ and the agent
	State  OfferState
	Reason string // why it is where it is; of a waiting one: why the queue has stopped
	Base   string // the commit on which it was tried last
	Old    string // what the target was before; empty: nothing had landed yet
	New    string // the commit that was checked, and that lands
	// Output is the end of what its check printed, or the lines in conflict.
	Output   string
	Asks     []PathRisk // what needs a person's yes
	Accepted []string   // paths to which a person has said yes
	// Checked is when Check, the command, passed on New.
	Check   string
	Checked time.Time
	// Request is that in which an agent has offered it, the last time if it did so again;
	// empty: a person offered it. Chain, Depth, Rights and Taint are those of that request,
	// and what its agent does because it came back is bound by them.
	Request   RequestID
	Chain     RequestID
	Depth     int
	Rights    *Rights
	Taint     string
	Reviewer  AgentName     // of its task, which looks at it as those of the settings do; empty: it has none
	Reviews   []OfferReview // by whom it was, or is, looked at before it lands
	Round     int           // how often it has come back to its agent
	Rework    RequestID     // in which its agent works on it after that; empty: it has not come back, or was offered again
	Push      OfferPush     // how far one that has landed is on its way to the remote
	Version   int64         // counts its changes
	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   time.Time
}

// Stands says where the offer stands, as in "offer 3 is held: make test fails".
func (o Offer) Stands() string {
	text := "offer " + strconv.FormatInt(int64(o.Number), 10) + " is " + string(o.State)
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// Asking returns what needs a person's yes now: paths that an offer changes, or the command
// that is to run after it was pushed.
func (o Offer) Asking() []PathRisk {
	if o.Push.After == AfterAsks {
		return append(slices.Clone(o.Asks), PathRisk{Path: o.Push.Command, Why: "is to run after each push ([landing] after): as you, and confined by nothing"})
	}
	return o.Asks
}

// Unpushed says why what has landed is not where it is to be pushed, or what is missing
// there; empty: nothing, or it is on its way.
func (o Offer) Unpushed() string {
	switch {
	case o.State != OfferLanded:
		return ""
	case o.Push.State == PushWaiting && o.Push.Reason != "":
		return "not pushed: " + o.Push.Reason
	case o.Push.After == AfterAsks:
		return "pushed; its command waits for your yes"
	case o.Push.After == AfterFailed || o.Push.After == AfterUnknown:
		return "pushed, but " + o.Push.Reason
	}
	return ""
}

// PushState is how far an offer that has landed is on its way to the remote.
type PushState string

// The states of a push.
const (
	PushNone    PushState = ""        // nobody has asked for it
	PushWaiting PushState = "waiting" // it has failed, and is tried again
	PushPushed  PushState = "pushed"  // the remote has it; the command after it has not ended
	PushDone    PushState = "done"    // nothing is left to do
)

// AfterState is how the command stands that runs after a push.
type AfterState string

// The states of a command.
const (
	AfterNone    AfterState = ""        // there is none, or it has not been looked at
	AfterAsks    AfterState = "asks"    // a person has to say yes to it first
	AfterRunning AfterState = "running" // it runs, or whoever ran it is gone
	AfterDone    AfterState = "done"    // it ended with status 0
	AfterFailed  AfterState = "failed"  // it did not
	AfterUnknown AfterState = "unknown" // fika was ended while it ran
)

// OfferPush is what became of an offer after it had landed: it is pushed with the others that
// have landed then, and a command runs.
type OfferPush struct {
	State  PushState `json:"-"`
	Remote string    `json:"remote,omitempty"` // its name
	Branch string    `json:"branch,omitempty"` // of the remote
	Commit string    `json:"commit,omitempty"` // that was pushed, or that the remote did not take
	Reason string    `json:"reason,omitempty"` // why it waits, or what is wrong
	Output string    `json:"output,omitempty"` // the end of what git, or then the command, said
	Tries  int       `json:"tries,omitempty"`
	Next   time.Time `json:"next,omitzero"` // when it is tried again
	At     time.Time `json:"at,omitzero"`   // when it was pushed
	// Command runs after the push. By is the person who has said yes to it.
	Command string     `json:"command,omitempty"`
	By      string     `json:"by,omitempty"`
	After   AfterState `json:"after,omitempty"`
}

// OfferReview is a look at the commit of an offer. Without an agent, a person has let it go
// on.
type OfferReview struct {
	Agent   AgentName `json:"agent,omitempty"`
	Request RequestID `json:"request,omitempty"` // in which it looks
	Tip     string    `json:"tip"`
}

// PathRisk is a changed path that needs a person's yes before it reaches their files.
type PathRisk struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}
