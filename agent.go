package fika

import "time"

// AgentID identifies an agent through renames.
type AgentID string

// Epoch numbers the owners of an agent: each acquisition adds one, and what an
// older owner still tries to write is refused.
type Epoch int64

// AgentState is what an agent's process last said of itself. It informs;
// whether an agent is alive is decided by its lock and SeenAt.
type AgentState string

// The agent states.
const (
	AgentStarting  AgentState = "starting"
	AgentIdle      AgentState = "idle"
	AgentBusy      AgentState = "busy"
	AgentStopped   AgentState = "stopped"
	AgentFailed    AgentState = "failed"    // restart budget spent; recover by hand
	AgentUnhealthy AgentState = "unhealthy" // no sign of life
)

// Desired is what a person wants of an agent's process.
type Desired string

// The wishes.
const (
	DesiredNone    Desired = ""        // nobody said: config decides
	DesiredRunning Desired = "running" // keep it running
	DesiredStopped Desired = "stopped" // leave it stopped, even if work waits
	DesiredFinish  Desired = "finish"  // stopped, once its current requests have ended
	DesiredNow     Desired = "now"     // stopped, without finishing the current step
)

// Stopped reports whether a person wants the agent stopped, in whatever way.
func (d Desired) Stopped() bool {
	return d == DesiredStopped || d == DesiredFinish || d == DesiredNow
}

// QuotaUsedUp reports whether the agent's hour is used up at the given moment.
func (a Agent) QuotaUsedUp(now time.Time) bool {
	return now.Before(a.HeldUntil) && a.HeldUntil.Sub(now) <= time.Hour // a clock may have been set back
}

// Agent is a named worker. It exists when it has a row; its prompt, settings
// and files live in its context folder.
type Agent struct {
	ID          AgentID
	Name        AgentName
	HomeID      string // which home holds the folder
	DisplayName string
	Description string
	Desired     Desired
	State       AgentState
	StateReason string // why failed or unhealthy
	Owner       string // who holds the lease, as "pid@host"; empty when free
	Epoch       Epoch
	LeaseUntil  time.Time
	SeenAt      time.Time
	StartedAt   time.Time // of the owning process
	Processed   int64     // requests finished since StartedAt
	ActiveAsk   ConversationID
	// HeldUntil says that the agent has used up its hour: until then it begins
	// nothing new, and what waits for it stays where it is. HeldReason names
	// the limit, as in "20 turns an hour". It is stored when the agent first
	// finds work that it may not begin; a time that has passed holds nothing.
	HeldUntil  time.Time
	HeldReason string
	CreatedAt  time.Time
	// Pool is the pool that it is a member of; empty: none. Instances is how many
	// members it has, if it is a pool: then it has no process and takes no lease,
	// and what is asked of it its members work.
	Pool      AgentID
	Instances int
}

// IsPool reports whether it is a pool.
func (a Agent) IsPool() bool { return a.Instances > 0 }
