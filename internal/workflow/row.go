package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"fika"
)

// State is the state of a row.
type State string

// The states. The first three are open; a row in one of the others never changes its
// state again. An end comes from [NextPlan], or with an outcome: the row then gets
// its last state, the reason, Ended and, if it is done, From, and is not Taken. A
// person who approves a row's work makes it [Waiting] and Approved; the answer to a
// question that is a step of its own is that step's outcome.
const (
	Waiting   State = "waiting"   // until its time: a retry
	Asking    State = "asking"    // a person has to answer
	Running   State = "running"   // as a request, a chat, or the rows that it holds
	Done      State = "done"      // it gave an output
	Failed    State = "failed"    // it gave none; its reason says why
	Cancelled State = "cancelled" // it was ended early
	Skipped   State = "skipped"   // its condition did not hold
	Blocked   State = "blocked"   // a step that it needs did not end as done
)

// Ended reports whether a row in this state never changes again.
func (s State) Ended() bool { return s != Waiting && s != Asking && s != Running }

// The reasons of failed and cancelled rows that this package gives, in addition to
// those that come with outcomes.
const (
	ReasonTimeout   = "timeout"
	ReasonSchema    = "schema"    // with an outcome: the output is not as asked for
	ReasonDenied    = "denied"    // with an outcome: a person refused, or a right is missing
	ReasonPrompt    = "prompt"    // the prompt could not be made
	ReasonCondition = "condition" // when or until could not be decided
	ReasonItems     = "items"     // for_each had no list, or some of its items failed
	ReasonRounds    = "rounds"    // repeat used up its rounds
	ReasonStep      = "step"      // a step of the nested workflow failed
	ReasonLimit     = "limit"     // the run reached a limit
	ReasonNotNeeded = "not_needed"
	ReasonStopped   = "stopped" // the run, or the row's parent, was ended
)

// The kinds of rows: those of steps, and two that hold others.
const (
	KindEach   = "each"
	KindRepeat = "repeat"
)

// Row is the state of one attempt at one piece of a run: a step, an item of it, or a
// round of it. A row of kind each, repeat or workflow holds others, and counts those
// that have ended, so that nobody has to look at them again.
type Row struct {
	ID      string // [RowID] of run, path and attempt
	Path    string // such as review, files[17] or fix#2/test
	Parent  string // the row that holds it; empty: the run
	Step    string // the id of the step in its definition
	Kind    string
	Index   int // which item or round of its parent
	Attempt int // from 1
	Before  int // attempts made before the run was resumed
	State   State
	Reason  string
	Error   string // for people

	NotBefore time.Time // of a waiting row
	Deadline  time.Time // zero: none
	Ended     time.Time // among those of join = "any", the earliest was first

	Approved bool // a person has approved its work

	Redo bool // the run was resumed and does this again as a new attempt

	Live  bool // NextPlan has to see it: see [View]
	Taken bool // the row that holds it has seen its end

	From  string // the row whose stored output is its own; empty: it has none
	First string // with join = "any", the step that was first

	Inputs json.RawMessage // of kind workflow

	Count       int // of kind each: the number of items
	Made        int // items or rounds made so far
	Done        int // items that are done
	Failed      int // items that ended otherwise
	FirstFailed int // the lowest index of a failed item
}

// RowID returns the id of an attempt; it is the same whenever and wherever it is
// computed.
func RowID(run, path string, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%d", len(run), run, len(path), path, attempt))
	return hex.EncodeToString(sum[:16])
}

// inside returns the prefix of the paths of everything that a row holds. A second
// attempt has items, rounds and steps of its own.
func (r *Row) inside() string {
	if r.Attempt > 1 {
		return fmt.Sprintf("%s~%d", r.Path, r.Attempt)
	}
	return r.Path
}

// The paths of items, rounds and the steps of a nested workflow.
func (r *Row) itemPath(index int) string  { return fmt.Sprintf("%s[%d]", r.inside(), index) }
func (r *Row) roundPath(round int) string { return fmt.Sprintf("%s#%d", r.inside(), round) }

func insidePath(scope *Row, step string) string {
	if scope == nil {
		return step
	}
	return scope.inside() + "/" + step
}

// View is everything that [NextPlan] needs to know about a run. All of it is read in
// one transaction.
type View struct {
	Run        string
	Definition *Definition
	Inputs     map[string]any // from [Definition.Bind]
	// Rows are the live rows, in any order: rows that are open, rows whose end no
	// plan has seen, and the steps of running workflows. Their number does not grow
	// with what is finished.
	Rows    []Row
	Outputs Outputs
	// Agents returns the names of all agents, sorted; nil: they are not known.
	Agents func() ([]string, error)
	// Lists keeps the lists of for_each, by row, from one plan of a run to the next,
	// so that they are not worked out again for each item. NextPlan fills it. If it
	// is nil, the lists are worked out again, with the same result.
	Lists map[string][]any
	Now   time.Time
	// While Paused, nothing happens. Stop, if not empty, says why the run is to end:
	// [ReasonStopped], the name of the limit that it has reached, or [ReasonLimit] if
	// its time is up.
	Paused bool
	Stop   string
	// Max bounds how many rows a plan touches; 0 means a few hundred. A plan may
	// touch one or two more.
	Max int
}

// Plan is what is to be done now. All of it is stored in one transaction, and only if
// the run is still as the view had it; the calls are made from what is stored.
type Plan struct {
	Rows    []Row       // to be written as they are, new or not, by ID
	Outputs []NewOutput // to be stored with rows of this plan
	Calls   []Call      // rows whose request, chat or question must end
	Cancel  []string    // rows whose request, chat or question is to end
	Result  *Result     // the run has ended
	WakeAt  time.Time   // look again then, if nothing happens before; zero: no need to
	More    bool        // look again at once: the plan reached its bound
}

// NewOutput is an output that was assembled from others.
type NewOutput struct {
	Row string
	Output
}

// Call is something to begin for a row: a request for an agent, a discussion, a
// question to a person, or a message in a chat, with which the row ends. The id of its
// request or message is derived from Row, so that beginning it twice is the same as
// beginning it once.
type Call struct {
	Row        string
	Kind       string // agent, chat, post, approval
	Agent      string
	Capability string // in place of an agent
	Prompt     string // of a chat: the message it begins with
	JSON       bool
	Schema     json.RawMessage
	Chat       *ChatCall
	Choice     []string              // of a question: see [Question]
	Answer     string                // of a question
	Post       fika.ConversationName // the chat in which Prompt is posted
	Refused    string                // why an agent of it may not be asked; empty: it may
	Deadline   time.Time
	Sources    []string // the rows whose outputs are in the prompt
	// Within are the paths of the item or the repetition that the row is part of, and of
	// the same item in the round before: of a pool that is asked there, the same member
	// works all of it. Empty: the row is part of none.
	Within []string
}

// ChatCall says who discusses, and when the discussion is over; see [Chat].
type ChatCall struct {
	Agents []string
	Until  string
	Max    int
}

// Result says how a run ended.
type Result struct {
	State  State // done, failed or cancelled
	Reason string
	Error  string // which step, and why
	Limit  string // the name of the limit that ended it, as in [Limits]; empty: none did
	Parts  []Part
}

// Part is what became of one of the steps whose outputs are the run's.
type Part struct {
	Step  string
	Agent string
	State State
	Error string
	From  string // the row with its output, if it is done
	Items bool   // From is a row of kind each: see [Outputs]
}
