package service

import (
	"context"
	"fmt"
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/process"
)

// Availability says whether agents will work what they are asked, and what a person has
// to do if they will not. It uses rows, locks and the configuration, so that it is also
// right about a process that can no longer report anything.
type Availability struct{ c *Service }

// NeverAnswers says why an agent will not begin its work until a person does something,
// and what. It returns "" if the agent or its backup will begin by itself.
func (s *Availability) NeverAnswers(ctx context.Context, row fika.Agent) string {
	why := s.neverAnswers(ctx, row)
	if why != "" {
		if backup, _ := s.backupOf(ctx, row); backup != "" {
			return ""
		}
	}
	return why
}

// backupOf returns the backup that takes over the requests of an agent, and why the
// agent does not begin them itself. It returns "" if the agent begins them, if no
// backup can, or if no hub runs that would hand them over. It does not check the
// backup's budget: the hub does.
func (s *Availability) backupOf(ctx context.Context, row fika.Agent) (backup fika.AgentName, why string) {
	p := s.presence(row)
	switch {
	case row.Desired.Stopped() || !p.Hub || row.IsPool():
		return "", ""
	case p.Failed != "":
		why = "@" + string(row.Name) + " has failed"
	case p.Rests != "":
		why = "@" + string(row.Name) + " has used up its hour"
	default:
		return "", ""
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
		if q := s.presence(other); !other.Desired.Stopped() && q.Failed == "" && q.Rests == "" && (q.Alive || q.Wakes) {
			return other.Name
		}
	}
	return ""
}

// InsteadOf names, as the end of a sentence, an agent that could be asked instead of
// one for which a mention in a chat waits; "" if there is none. Mentions are not handed
// over.
func (s *Availability) InsteadOf(ctx context.Context, name fika.AgentName) string {
	row, err := s.c.store.Agent(ctx, name)
	if err != nil {
		return ""
	}
	if other := s.ableBackup(ctx, row); other != "" {
		return fmt.Sprintf("; what is said in a chat is not handed over, but @%s could be asked", other)
	}
	return ""
}

// neverAnswers is [Availability.NeverAnswers] without regard to backups.
func (s *Availability) neverAnswers(ctx context.Context, row fika.Agent) string {
	if paused, err := s.c.store.AllPaused(ctx); err == nil && paused {
		return "everything is paused (fika chat resume --all)"
	}
	if row.IsPool() {
		return s.poolNeverAnswers(ctx, row)
	}
	if why := s.whyStuck(row.Name); why != "" {
		return why
	}
	why := chat.WhyWaits(row, s.presence(row))
	if !why.Stuck {
		return app.QuotaHint(row, s.c.now())
	}
	return why.Text
}

// poolNeverAnswers says why no member of a pool will begin the pool's work; "" if one
// will.
func (s *Availability) poolNeverAnswers(ctx context.Context, pool fika.Agent) string {
	members, err := s.c.Agents.Members(ctx, []fika.Agent{pool})
	if err != nil {
		return ""
	}
	why := ""
	for _, m := range members {
		if m.IsPool() {
			return ""
		}
		if why = s.NeverAnswers(ctx, m); why == "" {
			return ""
		}
	}
	return fmt.Sprintf("no member of @%s can take it: %s", pool.Name, why)
}

// WhoNeverAnswers returns, for each agent mentioned in a chat that will not answer, the
// reason. In a chat no agent stands in for another.
func (s *Availability) WhoNeverAnswers(ctx context.Context, names []fika.AgentName) []string {
	return s.eachHindered(ctx, names, s.neverAnswers)
}

// eachHindered calls hindered for each of several agents, and returns the reasons.
func (s *Availability) eachHindered(ctx context.Context, names []fika.AgentName, hindered func(context.Context, fika.Agent) string) []string {
	var out []string
	for _, n := range names {
		if row, err := s.c.store.Agent(ctx, n); err == nil {
			if why := hindered(ctx, row); why != "" {
				out = append(out, why)
			}
		}
	}
	return out
}

// whyAbandoned says that nobody works on a request that an agent has begun, and what to
// do about it. It returns "" if somebody does, or will without help.
func (s *Availability) whyAbandoned(ctx context.Context, name fika.AgentName) string {
	row, err := s.c.store.Agent(ctx, name)
	if err != nil {
		return ""
	}
	if p := s.presence(row); p.Hub || p.Alive || p.InUse {
		return ""
	}
	return "@" + string(name) + " and the hub have ended; fika up goes on with it"
}

// wakes reports whether the hub starts an agent that has an entry when there is work.
func (c *Service) wakes(row fika.Agent, e *config.Agent) bool {
	return row.Desired == fika.DesiredRunning || e.Wake || e.AutoStart && e.Persistent && c.config().Master.AutoStartAgents
}

// presence reads an agent's lock and what the configuration says about it.
func (s *Availability) presence(row fika.Agent) chat.Presence {
	var p chat.Presence
	_, p.Hub = s.c.home.HubProcess()
	if e := s.c.config().Agent(row.Name); e != nil {
		p.Wakes = s.c.wakes(row, e)
	}
	if row.State == fika.AgentFailed {
		p.Failed = row.StateReason
	}
	if p.Rests = app.QuotaUsedUp(row, s.c.now()); p.Rests != "" {
		p.Until = row.HeldUntil
	}
	id, _ := s.c.home.ID()
	if row.HomeID != "" && row.HomeID != id {
		// Its folder belongs to another home: its lease says whether it is there.
		p.Alive = row.Owner != "" && row.LeaseUntil.After(s.c.now())
		return p
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

// whyStuck says why the process of an agent runs but cannot do anything; "" if nothing
// is known to be wrong with it.
func (s *Availability) whyStuck(name fika.AgentName) string {
	lock, err := s.c.home.Folder(name).Inspect()
	if err != nil {
		return ""
	}
	if why := stuckHolder(name, lock); why != "" {
		return "@" + string(name) + " does not answer: " + why
	}
	return ""
}

// stuckHolder says why an agent's process holds the lock but cannot do anything; "" if
// nothing is known to be wrong with it.
func stuckHolder(name fika.AgentName, lock folder.LockState) string {
	why := ""
	if lock.Held {
		why = process.WhyStuck(lock.Info.Process())
	}
	if why == "" || lock.Info.Kind != folder.LockAgent {
		return why
	}
	return why + ", fika agent stop --now " + string(name) + " ends it"
}
