package service

import (
	"context"
	"slices"
	"strconv"

	"fika"
	"fika/internal/api"
	"fika/internal/chat"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
)

// Availability says whether agents will work what they are asked, and what a person has
// to do if they will not. It uses rows, locks and the configuration, so that it is also
// right about a process that can no longer report anything.
type Availability struct{ c *Service }

// NeverAnswers says why an agent will not begin its work until a person does something,
// or its hour is over. The status is clear if the agent or its backup will begin by
// itself.
func (s *Availability) NeverAnswers(ctx context.Context, row fika.Agent) api.Status {
	why := s.neverAnswers(ctx, row)
	if !why.IsClear() {
		if backup, _ := s.backupOf(ctx, row); backup != "" {
			return api.Status{}
		}
	}
	return why
}

// backupOf returns the backup that takes over the requests of an agent, and why the
// agent does not begin them itself. It returns "" if the agent begins them, if no
// backup can, or if no hub runs that would hand them over. It does not check the
// backup's budget: the hub does.
func (s *Availability) backupOf(ctx context.Context, row fika.Agent) (backup fika.AgentName, why api.Status) {
	p := s.presence(ctx, row)
	switch {
	case row.Desired.Stopped() || !p.Hub || row.IsPool():
		return "", api.Status{}
	case p.Failed != "":
		why = api.Stands(api.AgentFailed, "agent", string(row.Name))
	case p.Rests != "":
		why = api.Stands(api.AgentLimit, "agent", string(row.Name), "limit", "work per hour")
	default:
		return "", api.Status{}
	}
	return s.ableBackup(ctx, row), why
}

// ableBackup returns the first backup of an agent that runs or would be started, or "".
func (s *Availability) ableBackup(ctx context.Context, row fika.Agent) fika.AgentName {
	e := s.c.config().Agent(row.Name)
	if e == nil {
		return ""
	}
	names := slices.Clone(e.Backup)
	if pool := s.c.config().Agent(fika.AgentName(e.Pool)); pool != nil {
		for _, m := range slices.Backward(pool.Members()) {
			names = slices.Insert(names, 0, string(m))
		}
	}
	for _, name := range names {
		other, err := s.c.store.Agent(ctx, fika.AgentName(name))
		if err != nil || other.ID == row.ID {
			continue
		}
		if q := s.presence(ctx, other); !other.Desired.Stopped() && q.Failed == "" && q.Rests == "" && (q.Alive || q.Wakes) {
			return other.Name
		}
	}
	return ""
}

// InsteadOf returns an agent that could be asked instead of one for which a mention in a
// chat waits; "" if there is none. Mentions are not handed over.
func (s *Availability) InsteadOf(ctx context.Context, name fika.AgentName) fika.AgentName {
	row, err := s.c.store.Agent(ctx, name)
	if err != nil {
		return ""
	}
	return s.ableBackup(ctx, row)
}

// neverAnswers is [Availability.NeverAnswers] without regard to backups.
func (s *Availability) neverAnswers(ctx context.Context, row fika.Agent) api.Status {
	if paused, err := s.c.store.AllPaused(ctx); err == nil && paused {
		return api.Stands(api.WaitingPausedAll)
	}
	if row.IsPool() {
		return s.poolNeverAnswers(ctx, row)
	}
	if why := s.whyStuck(row.Name); !why.IsClear() {
		return why
	}
	if why := chat.WhyWaits(row, s.presence(ctx, row)); why.NeedsPerson {
		return why
	}
	return s.quota(row)
}

// quota says that an agent has used up its hour; clear if it has not.
func (s *Availability) quota(row fika.Agent) api.Status {
	if !row.QuotaUsedUp(s.c.now()) {
		return api.Status{}
	}
	return api.Stands(api.AgentLimit, "agent", string(row.Name), "limit", row.HeldReason).At(row.HeldUntil)
}

// poolNeverAnswers says why no member of a pool will begin the pool's work; clear if one
// will.
func (s *Availability) poolNeverAnswers(ctx context.Context, pool fika.Agent) api.Status {
	members, err := s.c.Agents.Members(ctx, []fika.Agent{pool})
	if err != nil {
		return api.Status{}
	}
	var why api.Status
	for _, m := range members {
		if m.IsPool() {
			return api.Status{}
		}
		if why = s.NeverAnswers(ctx, m); why.IsClear() {
			return why
		}
	}
	return api.Stands(api.PoolNobody, "agent", string(pool.Name)).With(why)
}

// WhoNeverAnswers returns, for each agent mentioned in a chat that will not answer, the
// reason. In a chat no agent stands in for another.
func (s *Availability) WhoNeverAnswers(ctx context.Context, names []fika.AgentName) []api.Status {
	return s.eachHindered(ctx, names, s.neverAnswers)
}

// eachHindered calls hindered for each of several agents, and returns the reasons.
func (s *Availability) eachHindered(ctx context.Context, names []fika.AgentName, hindered func(context.Context, fika.Agent) api.Status) []api.Status {
	var out []api.Status
	for _, n := range names {
		if row, err := s.c.store.Agent(ctx, n); err == nil {
			if why := hindered(ctx, row); !why.IsClear() {
				out = append(out, why)
			}
		}
	}
	return out
}

// whyAbandoned says that nobody works on a request that an agent has begun; clear if
// somebody does, or will without help.
func (s *Availability) whyAbandoned(ctx context.Context, name fika.AgentName) api.Status {
	row, err := s.c.store.Agent(ctx, name)
	if err != nil {
		return api.Status{}
	}
	p := s.presence(ctx, row)
	if p.Hub || p.Alive || p.InUse {
		return api.Status{}
	}
	if !p.Away.IsClear() {
		return p.Away // nothing that is started here resumes it
	}
	return api.Stands(api.WorkAbandoned, "agent", string(name))
}

// wakes reports whether the hub starts an agent that has an entry when there is work.
func (c *Service) wakes(row fika.Agent, e *config.Agent) bool {
	return row.Desired == fika.DesiredRunning || c.config().Wakes(e)
}

// presence reads an agent's lock and what the configuration says about it; of one on another
// host, its lease and that host.
func (s *Availability) presence(ctx context.Context, row fika.Agent) chat.Presence {
	var p chat.Presence
	if row.State == fika.AgentFailed {
		p.Failed = row.StateReason
	}
	if row.QuotaUsedUp(s.c.now()) {
		p.Rests, p.Until = row.HeldReason, row.HeldUntil
	}
	if away, err := s.c.hostOf(ctx, row); err == nil && away != nil { // its lease says whether it is there
		p.Alive = row.Owner != "" && row.LeaseUntil.After(s.c.now())
		p.Hub, p.Wakes, p.Away = away.Up, true, s.c.isAway(ctx, away, row)
		if p.Away.IsClear() {
			p.Away = s.c.misplacedNow(ctx, row)
		}
		return p
	}
	p.Away = s.c.misplacedNow(ctx, row)
	_, p.Hub = s.c.home.HubProcess()
	if e := s.c.config().Agent(row.Name); e != nil {
		p.Wakes = s.c.wakes(row, e)
	}
	lock, err := s.c.home.Folder(row.Name).Inspect()
	if err == nil && lock.Held {
		p.Alive = lock.Info.Kind == folder.LockAgent
		p.InUse = !p.Alive
	}
	return p
}

// alive reports whether an agent has a process.
func (s *Availability) alive(name fika.AgentName) bool {
	_, held := agentProcess(s.c.home, name)
	return held
}

// whyStuck says why the process of an agent runs but cannot do anything; clear if
// nothing is known to be wrong with it.
func (s *Availability) whyStuck(name fika.AgentName) api.Status {
	lock, err := s.c.home.Folder(name).Inspect()
	if err != nil {
		return api.Status{}
	}
	return stuckHolder(name, lock)
}

// stuckHolder says why a process holds an agent's lock but cannot do anything; clear if
// nothing is known to be wrong with it.
func stuckHolder(name fika.AgentName, lock folder.LockState) api.Status {
	if !lock.Held || !process.IsStopped(lock.Info.Process()) {
		return api.Status{}
	}
	why := api.Stands(api.AgentStuck, "agent", string(name), "pid", strconv.Itoa(lock.Info.PID))
	if lock.Info.Kind != folder.LockAgent {
		why.Help = nil // a prompt on a terminal is not stopped by name
	}
	return why
}
