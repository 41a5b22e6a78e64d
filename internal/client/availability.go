package client

import (
	"context"
	"fmt"
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/folder"
	"fika/internal/process"
)

// Availability says whether agents come to what they are asked, and what a person
// has to do where they do not: out of rows, locks and the config, so that it is true
// also of a process that can say nothing any more.
type Availability struct{ c *Client }

// NeverAnswers says why an agent does not come to what it is asked before a
// person does something, and what; "" when it comes by itself, or its backup does.
func (s *Availability) NeverAnswers(ctx context.Context, row fika.Agent) string {
	why := s.neverAnswers(ctx, row)
	if why != "" {
		if backup, _ := s.backupOf(ctx, row); backup != "" {
			return ""
		}
	}
	return why
}

// backupOf is the backup that takes over what an agent is asked, and why that
// begins nothing itself; none: it begins it, nobody can, or no hub runs that would
// hand it over. Whether that one has a budget the hub sees.
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

// ableBackup is the first backup of an agent that runs or would be started; none:
// there is none.
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

// InsteadOf says who could be asked in place of an agent for which a mention in a chat
// waits, as the end of a sentence; empty: nobody. A mention is not handed over.
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

// neverAnswers is NeverAnswers without regard to backups.
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

// poolNeverAnswers says why no member of a pool comes to what the pool is given; ""
// when one does.
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

// WhoNeverAnswers says of each of several that is mentioned in a chat, where nobody
// stands in for another, why it does not come to it.
func (s *Availability) WhoNeverAnswers(ctx context.Context, names []fika.AgentName) []string {
	return s.eachHindered(ctx, names, s.neverAnswers)
}

// eachHindered asks hindered about each of several agents, and gives the reasons.
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

// whyAbandoned says that nobody works on a request that an agent has begun, and
// what helps; "" when somebody does, or will by itself.
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

// presence looks at an agent's lock and at what the config says of it.
func (s *Availability) presence(row fika.Agent) chat.Presence {
	var p chat.Presence
	_, p.Hub = s.c.home.HubProcess()
	if e := s.c.config().Agent(row.Name); e != nil {
		p.Wakes = row.Desired == fika.DesiredRunning || e.Wake || e.AutoStart && e.Persistent && s.c.config().Master.AutoStartAgents
	}
	if row.State == fika.AgentFailed {
		p.Failed = row.StateReason
	}
	if p.Rests = app.QuotaUsedUp(row, s.c.now()); p.Rests != "" {
		p.Until = row.HeldUntil
	}
	id, _ := s.c.home.ID()
	if row.HomeID != "" && row.HomeID != id {
		// Its folder is another home's: its lease says whether it is there.
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

// whyStuck says why the process of an agent cannot do anything although it
// runs; empty when nothing is known to be wrong with it.
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

// stuckHolder says why an agent's process cannot do anything although it has
// the lock; empty when nothing is known to be wrong with it.
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
