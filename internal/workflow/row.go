package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// State says how far a row is.
type State string

// The states. The first three are open; a row in one of the others never
// changes its state again. An end comes from [NextPlan], or with an outcome: then
// the row gets its last state, the reason, Ended, From if it is done, and is
// not taken. A person who approves what a row is to do makes it [Waiting] and
// Approved; the answer to a question that stands for itself is its outcome.
const (
	Waiting   State = "waiting"   // not before its time: a retry
	Asking    State = "asking"    // a person is to answer
	Running   State = "running"   // a request, a chat, or the rows below it
	Done      State = "done"      // it gave an output
	Failed    State = "failed"    // it did not; its reason says why
	Cancelled State = "cancelled" // it was ended
	Skipped   State = "skipped"   // its condition did not hold
	Blocked   State = "blocked"   // a step that it needs did not get done
)

// Ended reports whether a row in this state stays as it is.
func (s State) Ended() bool { return s != Waiting && s != Asking && s != Running }

// The reasons of failed and cancelled rows that this package gives, beside
// those that come with outcomes.
const (
	ReasonTimeout   = "timeout"
	ReasonSchema    = "schema"    // with an outcome: the output is not as asked for
	ReasonDenied    = "denied"    // with an outcome: a person said no, or a right is missing
	ReasonPrompt    = "prompt"    // the prompt could not be made
	ReasonCondition = "condition" // when or until could not be decided
	ReasonItems     = "items"     // for_each had no list, or items of it failed
	ReasonRounds    = "rounds"    // repeat came to its end
	ReasonStep      = "step"      // a step of the workflow inside failed
	ReasonLimit     = "limit"     // the run came to a limit
	ReasonNotNeeded = "not_needed"
	ReasonStopped   = "stopped" // the run, or what the row belongs to, was ended
)

// The kinds of rows: those of steps, and two that hold others.
const (
	KindEach   = "each"
	KindRepeat = "repeat"
)

// Row is what is known of one attempt at one piece of a run: a step, an item of
// it, a round of it. A row of kind each, repeat or workflow holds others, and
// counts those that have ended, so that nobody has to look at them again.
type Row struct {
	ID      string // [RowID] of run, path and attempt
	Path    string // review, files[17], fix#2/test
	Parent  string // the row that holds it; empty: the run
	Step    string // the id of the step in its definition
	Kind    string
	Index   int // which item or round of its parent
	Attempt int // from 1
	Before  int // attempts that were made before the run was resumed
	State   State
	Reason  string
	Error   string // for people

	NotBefore time.Time // of a waiting one
	Deadline  time.Time // zero: none
	Ended     time.Time // by it, join = "any" tells who was first

	Approved bool // a person said yes to what it is to do

	Redo bool // the run was resumed, and does this again as a new attempt

	Live  bool // Next has to see it: see [View]
	Taken bool // whatever holds it has seen its end

	From  string // the row whose stored output is its own; empty: it has none
	First string // of join = "any": the step that was first

	Inputs json.RawMessage // of kind workflow

	Count       int // of kind each: how many items there are
	Made        int // items or rounds that have been made
	Done        int // items that are done
	Failed      int // items that are not
	FirstFailed int // the lowest index of those
}

// RowID names an attempt the same way whenever and wherever it is asked for.
func RowID(run, path string, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%d", len(run), run, len(path), path, attempt))
	return hex.EncodeToString(sum[:16])
}

// inside is what the paths of all that a row holds begin with. A second attempt
// has items, rounds and steps of its own.
func (r *Row) inside() string {
	if r.Attempt > 1 {
		return fmt.Sprintf("%s~%d", r.Path, r.Attempt)
	}
	return r.Path
}

// The paths of items, rounds and the steps of a workflow inside.
func (r *Row) itemPath(index int) string  { return fmt.Sprintf("%s[%d]", r.inside(), index) }
func (r *Row) roundPath(round int) string { return fmt.Sprintf("%s#%d", r.inside(), round) }

func insidePath(scope *Row, step string) string {
	if scope == nil {
		return step
	}
	return scope.inside() + "/" + step
}

// View is what [NextPlan] has to know of a run. Everything in it comes out of one
// transaction.
type View struct {
	Run        string
	Definition *Definition
	Inputs     map[string]any // from [Definition.Bind]
	// Rows are the live ones, in any order: rows that are open, rows whose end
	// nothing has seen yet, and the steps of workflows that are running. Their
	// number does not grow with what is finished.
	Rows    []Row
	Outputs Outputs
	// Lists keeps what for_each goes through, by row, from one plan of a run to
	// the next, so that it is not worked out for each item again. Next fills it;
	// nil: it is worked out again, with the same result.
	Lists map[string][]any
	Now   time.Time
	// Paused: nothing happens. Stop, if it is not empty, is why the run is to
	// end: [ReasonStopped] or [ReasonLimit].
	Paused bool
	Stop   string
	// Max bounds how many rows a plan touches; 0 is a few hundred. A plan may
	// touch one or two more.
	Max int
}

// Plan is what is to be done now. All of it is stored in one transaction, and
// only if the run is still as the view had it; the calls are made from what is
// stored.
type Plan struct {
	Rows    []Row       // to be written as they are, new or not, by ID
	Outputs []NewOutput // to be stored with rows of this plan
	Calls   []Call      // what begins with rows of this plan
	Cancel  []string    // rows whose request, chat or question is to end
	Result  *Result     // the run has ended
	WakeAt  time.Time   // look again then, if nothing happens before; zero: no need to
	More    bool        // look again at once: the plan came to its bound
}

// NewOutput is an output that was put together from others.
type NewOutput struct {
	Row string
	Output
}

// Call is something to begin for a row: a request for an agent, a discussion,
// or a question to a person. Its request has an id made from Row, so that
// beginning it twice is beginning it once.
type Call struct {
	Row        string
	Kind       string // agent, chat, approval
	Agent      string
	Capability string // instead of an agent
	Prompt     string // of a chat: the message it begins with
	JSON       bool
	Schema     json.RawMessage
	Chat       *ChatCall
	Deadline   time.Time
	Sources    []string // the rows whose outputs are in the prompt
}

// ChatCall says who discusses, and when it is over; see [Chat].
type ChatCall struct {
	Agents []string
	Until  string
	Max    int
}

// Result is how a run ended.
type Result struct {
	State  State // done, failed or cancelled
	Reason string
	Error  string // which step, and why
	Parts  []Part
}

// Part is what became of one of the steps whose outputs are the run's.
type Part struct {
	Step  string
	Agent string
	State State
	Error string
	From  string // the row whose output it is, when it is done
	Items bool   // From is a row of kind each: see [Outputs]
}
