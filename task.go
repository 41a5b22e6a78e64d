package fika

import "time"

// TaskNumber numbers the tasks of the board, from 1; 0: none.
type TaskNumber int64

// TaskState is where a task of the board stands.
type TaskState string

// The states of a task. The last two end it; a person may reopen it.
const (
	TaskOpen    TaskState = "open"    // an agent may take it once the tasks that it needs are done
	TaskClaimed TaskState = "claimed" // an agent has it
	TaskReview  TaskState = "review"  // done as far as its agent can tell; another looks at it
	TaskHeld    TaskState = "held"    // waits for a person
	TaskDone    TaskState = "done"
	TaskDropped TaskState = "dropped" // nobody wants it any more
)

// TaskStates returns every state, in the order in which a board shows them.
func TaskStates() []TaskState {
	return []TaskState{TaskHeld, TaskOpen, TaskClaimed, TaskReview, TaskDone, TaskDropped}
}

// GoingTaskStates returns those of [TaskStates] in which a task is not over.
func GoingTaskStates() []TaskState { return []TaskState{TaskHeld, TaskOpen, TaskClaimed, TaskReview} }

// Ended reports whether s is the state of a task that is over.
func (s TaskState) Ended() bool { return s == TaskDone || s == TaskDropped }

// The priorities of tasks: the smallest is the most urgent.
const (
	MinPriority     = 0
	DefaultPriority = 2
	MaxPriority     = 4
)

// BoardTask is a task of the board: a piece of work that waits for whoever can do it.
type BoardTask struct {
	Number     TaskNumber
	Title      string // one line
	Body       string
	State      TaskState
	HeldReason string // why it waits for a person
	Priority   int
	Capability string     // what an agent must be able to do to take it; empty: nothing
	Agent      AgentID    // the only agent that takes it; empty: any
	Parent     TaskNumber // of which it is a part; it does not hold that up
	CreatedBy  string     // the name of who added it
	Writer     Writer     // what kind of writer that is
	Rights     *Rights    // what work on it may do; nil: a person added it
	Taint      string     // source of the outside text that it comes from; empty: none
	Chain      RequestID  // the chain in which it was added, through other tasks too; empty: none
	Depth      int        // how many tasks it descends from
	Due        time.Time
	Worker     AgentID   // who has it, or had it last
	Request    RequestID // in which it is worked, or was last
	Attempts   int       // how often work on it has failed
	HandedBack string    // why its worker gives it back once the turn ends
	Result     string    // what came of it
	// Check is a command that has to pass before what its worker calls done is; empty: none.
	Check string
	// Reviewer is the agent that has to call it good before it is done; empty: nobody has to.
	Reviewer  AgentID
	Review    RequestID // in which it is reviewed, or was last
	Round     int       // how often its reviewer has given it back
	Work      string    // identifies what was handed in for review last; empty: nothing was
	Version   int64     // counts its changes
	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   time.Time
}

// Author returns who added the task, with an @ before the name of an agent.
func (t BoardTask) Author() string {
	if t.Writer == ByAgent {
		return "@" + t.CreatedBy
	}
	return t.CreatedBy
}
