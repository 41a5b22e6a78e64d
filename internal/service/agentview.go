package service

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
)

// AgentView is what lists show of an agent. It is derived from the agent's row, its
// lock, the queue and the configuration, so that it is true even when the agent's
// process can no longer report anything.
type AgentView struct {
	Row   fika.Agent
	Host  string   // the host that it is on; empty if there is only one
	Away  bool     // that host is not this home's
	Entry bool     // it has an [[agents]] entry on its host: the hub there may start it
	Wakes bool     // the hub of its host starts it when there is work; of another host: and is up
	Can   []string // its capabilities, as named in the entry
	// CallableBy lists who may ask it; nil: everybody.
	CallableBy []string
	Status     fika.AgentState // actual status of its process, not the last reported one
	Why        api.Status      // what is wrong, or what it is doing
	PID        int             // 0: no process
	Since      time.Time       // when the process started; zero: none
	Processed  int64           // requests finished since then
	Waiting    int             // requests and chats that it could take now
	Running    []RequestInfo
	Suspended  []RequestInfo // requests that wait: for a child, for the end of a pause
	Model      string        // nickname or id; empty if unknown without asking the network
	// Choice says how it chooses among several models; empty if it has only one.
	Choice     config.ModelChoice
	Last       *RequestInfo
	Trouble    api.Status       // clear: healthy
	NoLimits   string           // why the limits of its tools are not enforced; empty if they are, or there are none
	Pool       fika.AgentName   // the pool that it is a member of; empty: none
	Members    []fika.AgentName // of a pool
	Backup     []fika.AgentName
	HandedOver []RequestInfo // requests to it that others work or have worked, newest first
	HeldUntil  time.Time     // when its used-up hour ends; zero: not used up
}

// The statuses that a list adds to those of a process.
const (
	AgentStopping fika.AgentState = "stopping"
	AgentInUse    fika.AgentState = "in use" // a one-shot prompt holds its context
	AgentPool     fika.AgentState = "pool"   // its members have processes
)

// Alive reports whether the agent's own process runs.
func (v AgentView) Alive() bool { return v.PID != 0 && v.Status != AgentInUse }

// judge sets the status of the agent's process. Locks and heartbeats decide; the state
// in the row is only what the process last reported.
func (v *AgentView) judge(lock folder.LockState, hub bool, now time.Time) {
	row := v.Row
	v.Status, v.Why = fika.AgentStopped, v.says(api.AgentReports, "reason", row.StateReason)
	if row.StateReason == "" {
		v.Why = api.Status{}
	}
	switch {
	case lock.Held && lock.Info.Kind != folder.LockAgent:
		v.PID, v.Status, v.Why = lock.Info.PID, AgentInUse, v.says(api.AgentInUse, "pid", strconv.Itoa(lock.Info.PID))
	case lock.Held:
		v.PID, v.Since, v.Processed = lock.Info.PID, lock.Info.Since, row.Processed
		v.judgeAlive(lock, now)
	case row.State == fika.AgentFailed:
		v.Status, v.Why = fika.AgentFailed, v.says(api.AgentFailed, "reason", row.StateReason)
	case row.Desired.Stopped() || row.ID == "":
		v.Why = api.Status{}
	case hub && (row.State == fika.AgentStarting || row.State == fika.AgentUnhealthy):
		v.Status = row.State
	case row.Owner != "" && row.State != fika.AgentStopped:
		v.Why = v.says(api.AgentEnded)
	}
}

// says returns a status of this agent.
func (v *AgentView) says(code api.Code, args ...string) api.Status {
	return api.Stands(code, append([]string{"agent", string(v.Row.Name)}, args...)...)
}

// judgeAlive sets the status of an agent whose process holds the lock.
func (v *AgentView) judgeAlive(lock folder.LockState, now time.Time) {
	silent := min(lock.Age, now.Sub(v.Row.SeenAt))
	stuck := stuckHolder(v.Row.Name, lock)
	switch {
	case !stuck.IsClear():
		v.Status, v.Why = fika.AgentUnhealthy, stuck
	case lock.Status == folder.LockStale && silent.Seconds() > 1.5*lock.Info.Heartbeat:
		v.Status, v.Why = fika.AgentUnhealthy, v.says(api.AgentSilent, "seconds", seconds(silent))
	case v.Row.Desired.Stopped():
		v.Status, v.Why = AgentStopping, api.Status{}
	case v.Row.State == fika.AgentUnhealthy:
		v.Status = fika.AgentUnhealthy
	case len(v.Running) > 0:
		v.Status, v.Why = fika.AgentBusy, api.Status{}
	case (v.Row.State == fika.AgentIdle || v.Row.State == fika.AgentBusy) && process.OwnsLease(v.Row.Owner, v.PID):
		v.Status, v.Why = fika.AgentIdle, api.Status{}
	default: // it holds the lock and has not yet reported in its row that it is ready
		v.Status, v.Why = fika.AgentStarting, api.Status{}
	}
}

// Standing returns why an agent is as it is. Of one that is stopped it says whether a person
// stopped it or it starts on demand.
func (v AgentView) Standing() api.Status {
	if !v.Why.IsClear() || v.Status != fika.AgentStopped {
		return v.Why
	}
	switch agent := string(v.Row.Name); {
	case v.Row.Desired.Stopped():
		return api.Stands(api.AgentStopped, "agent", agent)
	case v.Wakes && v.Trouble.IsClear():
		return api.Stands(api.AgentOnDemand, "agent", agent)
	}
	return v.Why
}

// StatusWord returns the status of an agent for a person: off if a person stopped it, idle
// if it starts when there is work, however its last process ended.
func (v AgentView) StatusWord() string {
	switch {
	case v.Status == fika.AgentStopped && v.Row.Desired.Stopped():
		return "off"
	case v.Status == fika.AgentStopped && v.Wakes && v.Trouble.IsClear():
		return "idle"
	}
	return string(v.Status)
}

// AgentSummary summarises a list of agents in one line.
func AgentSummary(views []AgentView) string {
	running, bad := 0, 0
	views = slices.DeleteFunc(slices.Clone(views), func(v AgentView) bool { return v.Status == AgentPool && v.Trouble.IsClear() })
	for _, v := range views {
		if v.Alive() {
			running++
		}
		if !v.Trouble.IsClear() {
			bad++
		}
	}
	switch {
	case len(views) == 0:
		return "No agents are configured"
	case bad == 0:
		return fmt.Sprintf("All agents healthy (%d/%d running)", running, len(views))
	default:
		return fmt.Sprintf("%d of %d agents need attention (%d/%d running)", bad, len(views), running, len(views))
	}
}

// reasonOf returns why a request ended as it did.
func reasonOf(r RequestInfo) string {
	if r.Outcome.Error != "" {
		return r.Outcome.Error
	}
	return r.Reason
}

// seconds returns a span of time as the arguments of a status hold it.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(d.Round(time.Second)/time.Second), 10)
}
