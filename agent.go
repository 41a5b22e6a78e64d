package fika

import "time"

// AgentID identifies an agent across renames.
type AgentID string

// Epoch numbers the owners of an agent: each acquisition adds one, and writes by an
// earlier owner are refused.
type Epoch int64

// AgentState is the state that an agent's process last reported. It is informational
// only: the agent's lock and SeenAt decide whether it is alive.
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

// Desired is what a person wants an agent's process to do.
type Desired string

// The desired states.
const (
	DesiredNone    Desired = ""        // not set: the configuration decides
	DesiredRunning Desired = "running" // keep it running
	DesiredStopped Desired = "stopped" // leave it stopped, even if work waits
	DesiredFinish  Desired = "finish"  // stop once its current requests have ended
	DesiredNow     Desired = "now"     // stop without finishing the current step
)

// Stopped reports whether a person wants the agent stopped, in any of the three ways.
func (d Desired) Stopped() bool {
	return d == DesiredStopped || d == DesiredFinish || d == DesiredNow
}

// QuotaUsedUp reports whether the agent's hour is used up at now.
func (a Agent) QuotaUsedUp(now time.Time) bool {
	return now.Before(a.HeldUntil) && a.HeldUntil.Sub(now) <= time.Hour // later: a clock was set back
}

// Agent is a named worker. An agent exists if it has a row in the database; its prompt,
// settings and files live in its context folder.
type Agent struct {
	ID          AgentID
	Name        AgentName
	HomeID      string // the home that holds the folder
	DisplayName string
	Description string
	Desired     Desired
	State       AgentState
	StateReason string // why the agent failed or is unhealthy
	Owner       string // the lease holder, as "pid@host"; empty when free
	OwnerHost   string // the home of the lease holder, and which copy of it that is; these stay when the lease ends
	OwnerSite   string
	Epoch       Epoch
	LeaseUntil  time.Time
	SeenAt      time.Time
	StartedAt   time.Time // when the owning process started
	Processed   int64     // requests finished since StartedAt
	ActiveAsk   ConversationID
	// HeldUntil is set once the agent has used up its hour: until then it begins
	// nothing new, and its work stays queued. HeldReason names the limit, as in "20
	// turns an hour". Both are stored when the agent first finds work that it may not
	// begin. A time in the past has no effect.
	HeldUntil  time.Time
	HeldReason string
	CreatedAt  time.Time
	// Pool is the pool that the agent is a member of; empty if none. Instances is the
	// number of members if the agent is itself a pool: a pool has no process and takes
	// no lease, and its members do the work that is asked of it.
	Pool      AgentID
	Instances int
}

// IsPool reports whether the agent is a pool.
func (a Agent) IsPool() bool { return a.Instances > 0 }
