package api

import (
	"context"
	"time"
)

// Boarder shows and changes the board: the tasks that wait for whoever can do them.
type Boarder interface {
	// Board returns the tasks by state, in the order in which a board shows the states:
	// those that have not ended by urgency, the others latest first; of each state at most
	// each, with how many there are. States without a task are left out.
	Board(ctx context.Context, each int) ([]TaskColumn, error)
	// Tasks returns the tasks in a state, in the order of Board.
	Tasks(ctx context.Context, state string, page Page) (List[TaskInfo], error)
	// Task returns everything about one task.
	Task(ctx context.Context, number int64) (Task, error)
	AddTask(context.Context, NewTask, Write) (TaskInfo, error)
	// EditTask changes a task that has not ended. Who has it loses it if it is left to another.
	EditTask(ctx context.Context, number int64, e TaskEdit, w Write) error
	// NoteTask adds a note, which whoever works the task next reads.
	NoteTask(ctx context.Context, number int64, note string, w Write) error
	// ReleaseTask lets a task go on that is held, or takes it from the agent that has it.
	ReleaseTask(ctx context.Context, number int64, why string, w Write) error
	// CloseTask ends a task as done, or as dropped.
	CloseTask(ctx context.Context, number int64, dropped bool, why string, w Write) error
	// ReopenTask opens a task again that has ended.
	ReopenTask(ctx context.Context, number int64, why string, w Write) error
}

// TaskColumn is the tasks in one state.
type TaskColumn struct {
	State string     `json:"state"`
	Count int        `json:"count"` // also of those that are not in Tasks
	Tasks []TaskInfo `json:"tasks"`
}

// TaskInfo is a task of the board and how it stands.
type TaskInfo struct {
	Number     int64      `json:"number"`
	Title      string     `json:"title"`
	State      string     `json:"state"` // open claimed review held; ended: done dropped
	Since      time.Time  `json:"since"` // when its agent took it; of one that nobody has, when it last changed
	HeldReason string     `json:"held_reason,omitempty"`
	Priority   int        `json:"priority"` // 0, the most urgent, to 4
	Capability string     `json:"capability,omitempty"`
	Agent      string     `json:"agent,omitempty"`   // the only one that takes it
	Worker     string     `json:"worker,omitempty"`  // who has it, or had it last
	Request    string     `json:"request,omitempty"` // in which it is worked, or was last
	Parent     int64      `json:"parent,omitempty"`
	Needs      []TaskNeed `json:"needs,omitempty"`
	By         string     `json:"by"` // who added it; an agent has an @
	Taint      string     `json:"taint,omitempty"`
	Attempts   int        `json:"attempts,omitempty"`
	Check      string     `json:"check,omitempty"`    // the command that has to pass before it is done
	Reviewer   string     `json:"reviewer,omitempty"` // the agent that has to call it good before
	Review     string     `json:"review,omitempty"`   // the request in which that looks at it, or did last
	Rounds     int        `json:"rounds,omitempty"`   // how often the reviewer has given it back
	Due        time.Time  `json:"due,omitzero"`
	Created    time.Time  `json:"created"`
	Ended      time.Time  `json:"ended,omitzero"`
	Why        []Status   `json:"why,omitempty"`   // of one that has not ended: why nobody takes it, or who has it
	Offer      *OfferInfo `json:"offer,omitempty"` // of its work, to land it; of [Boarder.Board] and [Boarder.Task], among the latest
}

// TaskNeed is a task that has to be done first.
type TaskNeed struct {
	Number int64  `json:"number"`
	State  string `json:"state"`
}

// Task is a task with everything that belongs to it.
type Task struct {
	TaskInfo
	Body     string     `json:"body"`
	Result   string     `json:"result,omitempty"`
	Log      []TaskLine `json:"log"`       // what has happened to it, oldest first
	Parts    []TaskInfo `json:"parts"`     // whose parent it is
	NeededBy []TaskInfo `json:"needed_by"` // that have not ended
}

// TaskLine is a line of the log of a task.
type TaskLine struct {
	At   time.Time `json:"at"`
	Who  string    `json:"who"` // an agent has an @; fika, for what nobody did
	What string    `json:"what"`
	Text string    `json:"text,omitempty"`
}

// NewTask is a task to add.
type NewTask struct {
	Title      string    `json:"title"`
	Body       string    `json:"body"`
	Priority   int       `json:"priority"`
	Capability string    `json:"capability"`
	Agent      string    `json:"agent"`
	Parent     int64     `json:"parent"`
	Needs      []string  `json:"needs"` // numbers
	Due        time.Time `json:"due"`
	Check      string    `json:"check"`
	Review     string    `json:"review"` // an agent
}

// TaskEdit is what of a task changes; what is nil stays as it is.
type TaskEdit struct {
	Title, Body, Capability, Agent *string
	Priority                       *int
	Needs                          *[]string
	Check, Review                  *string
}

// Lander shows and leads the work that is to land on the project's branch.
type Lander interface {
	// Landing returns how the branch stands. It fails with [Invalid] where nothing lands.
	Landing(ctx context.Context) (Landing, error)
	// Offers returns the offers, newest first.
	Offers(ctx context.Context, page Page) (List[OfferInfo], error)
	// Offer returns an offer with the output of its check.
	Offer(ctx context.Context, number int64) (Offer, error)
	CancelOffer(ctx context.Context, number int64, why string, w Write) error
	// RetryOffer puts an offer into the queue again; it may change the paths of accept.
	RetryOffer(ctx context.Context, number int64, accept []string, w Write) error
	// ApplyLanded brings what has landed into the files of the person. It fails with
	// [Conflict] if that would touch what they have changed.
	ApplyLanded(ctx context.Context, w Write) (Applied, error)
}

// Landing is how the branch stands on which work lands.
type Landing struct {
	Into    string `json:"into"`
	Check   string `json:"check"`   // the command; empty: none is set, so nothing lands
	Landed  string `json:"landed"`  // the commit; empty: nothing has landed
	Folder  string `json:"folder"`  // that has the branch checked out; empty: none has
	Commits int    `json:"commits"` // that have landed and are not in Folder
}

// OfferInfo is work that is to land, and how it stands.
type OfferInfo struct {
	Number   int64      `json:"number"`
	Source   string     `json:"source"` // the branch, or @ and the agent
	Agent    string     `json:"agent,omitempty"`
	Title    string     `json:"title"`
	Into     string     `json:"into"`
	By       string     `json:"by"`
	State    string     `json:"state"` // waiting trying moving rework landed back asks held refused cancelled
	Over     bool       `json:"over"`  // nothing happens to it until somebody asks for it
	Reason   string     `json:"reason,omitempty"`
	Host     string     `json:"host,omitempty"`     // in whose repository its commits are; empty: there are not several hosts
	Waits    string     `json:"waits,omitempty"`    // why nothing happens to it there
	Unpushed string     `json:"unpushed,omitempty"` // why what has landed is not pushed, or what is missing there
	Request  string     `json:"request,omitempty"`  // in which an agent has offered it
	Chain    string     `json:"chain,omitempty"`
	Rework   string     `json:"rework,omitempty"` // in which its agent works on it
	Rounds   int        `json:"rounds,omitempty"` // how often it has come back
	Asks     []PathRisk `json:"asks,omitempty"`
	Accepted []string   `json:"accepted,omitempty"`
	Created  time.Time  `json:"created"`
	Updated  time.Time  `json:"updated"`
}

// PathRisk is a changed path that needs a person's yes.
type PathRisk struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Offer is an offer with its commits and the output of its check.
type Offer struct {
	OfferInfo
	Tip     string    `json:"tip"`
	Base    string    `json:"base,omitempty"`
	New     string    `json:"new,omitempty"` // that was checked, and lands
	Check   string    `json:"check,omitempty"`
	Checked time.Time `json:"checked,omitzero"`
	Output  string    `json:"output,omitempty"`
}

// Applied is what became of the person's files.
type Applied struct {
	Folder  string `json:"folder"` // empty: the branch is checked out nowhere
	Commit  string `json:"commit"`
	Nothing bool   `json:"nothing"` // it had all that has landed
	// ByHand is the command with which the person's own git does it; then nothing was
	// changed, because of Why.
	ByHand string `json:"by_hand,omitempty"`
	Why    string `json:"why,omitempty"`
}
