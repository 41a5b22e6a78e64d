package store

import (
	"context"
	"slices"
	"time"

	"fika"
)

// Workspaces keeps where the files of those agents are that other hosts may go on with.
type Workspaces struct{ *db }

// Workspace says where files of an agent are. Who holds the agent writes it; all others
// believe it, whatever they find in folders and remotes.
type Workspace struct {
	Agent     fika.AgentID
	AgentName fika.AgentName
	Task      fika.TaskNumber // of the board, whose files they are; 0: the agent's own
	Home      string          // where they are as its last owner left them; empty: nobody has worked yet
	Mark      string          // what a shared folder has to hold
	Ref       string          // what was pushed last, and where; empty: nothing was
	Hash      string
	Pushed    time.Time // when Hash was made; what was called later is not in it
	Taken     time.Time // when Home began with Hash, because they had been elsewhere
	Unpushed  string    // why what a turn left is not in Hash; empty: it is
	Refused   string    // why another host cannot go on with them, and which; empty: none has tried
}

const selectWorkspace = `SELECT a.id, a.name, COALESCE(w.task, 0), COALESCE(w.host, ''), COALESCE(w.mark, ''), COALESCE(w.ref, ''), COALESCE(w.hash, ''),
COALESCE(w.pushed_at, 0), COALESCE(w.taken_at, 0), COALESCE(w.unpushed, ''), COALESCE(w.refused, '') FROM agents a LEFT JOIN workspaces w ON w.agent = a.id`

func scanWorkspace(s scanner) (w Workspace, err error) {
	var pushed, taken int64
	err = s.Scan(&w.Agent, &w.AgentName, &w.Task, &w.Home, &w.Mark, &w.Ref, &w.Hash, &pushed, &taken, &w.Unpushed, &w.Refused)
	w.Pushed, w.Taken = at(pushed), at(taken)
	return w, err
}

// WorkspaceOf returns where the files of an agent are, and the time of the database. Nothing
// but the agent is set if it has not worked yet. It fails with NotFound if there is no agent.
func (s Workspaces) WorkspaceOf(ctx context.Context, agent fika.AgentID, task fika.TaskNumber) (Workspace, time.Time, error) {
	const op = "read workspace"
	w, found, err := one(ctx, s.r, scanWorkspace, selectWorkspace+` AND w.task = ? WHERE a.id = ?`, task, agent)
	if err == nil && !found {
		err = fika.Errorf(fika.NotFound, op, "no agent with id %q", agent)
	}
	w.Task = task
	return w, at(s.nowMS()), s.explain(op, err)
}

// WorkspacesOf returns all that is known of an agent's files: its own first.
func (s Workspaces) WorkspacesOf(ctx context.Context, agent fika.AgentID) ([]Workspace, error) {
	list, err := many(ctx, s.r, scanWorkspace, selectWorkspace+` WHERE a.id = ? ORDER BY w.task`, agent)
	return list, s.explain("read workspaces", err)
}

// Unpushed returns the files that were not pushed although a turn has ended.
func (s Workspaces) Unpushed(ctx context.Context) ([]Workspace, error) {
	list, err := many(ctx, s.r, scanWorkspace, selectWorkspace+` WHERE w.unpushed <> '' ORDER BY a.name, w.task`)
	return list, s.explain("read workspaces", err)
}

// KeepWorkspace stores where files are. It fails with Lost if the lease is not the agent's
// any more.
func (s Workspaces) KeepWorkspace(ctx context.Context, l Lease, w Workspace) error {
	const op = "keep workspace"
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		if _, err := t.leased(ctx, op, l); err != nil {
			return err
		}
		return t.put(ctx, `INSERT INTO workspaces (agent, task, host, mark, ref, hash, pushed_at, taken_at, unpushed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, task) DO UPDATE SET host = excluded.host, mark = excluded.mark, ref = excluded.ref, hash = excluded.hash, pushed_at = excluded.pushed_at,
taken_at = excluded.taken_at, unpushed = excluded.unpushed, refused = ''`,
			l.Agent, w.Task, w.Home, w.Mark, w.Ref, w.Hash, ms(w.Pushed), ms(w.Taken), w.Unpushed)
	})
}

// Abandoned returns the agents whose host is down and that nobody holds, of those that a
// person wants to run and that say that another host may go on: their own files.
func (s Workspaces) Abandoned(ctx context.Context, names []fika.AgentName) ([]Workspace, error) {
	now := s.nowMS()
	args := []any{now, now}
	for _, name := range names {
		args = append(args, name)
	}
	if len(names) == 0 {
		return nil, nil
	}
	list, err := many(ctx, s.r, scanWorkspace, selectWorkspace+` AND w.task = 0 JOIN hosts h ON h.id = a.home_id
WHERE h.until <= ? AND a.lease_until <= ? AND a.desired NOT IN ('stopped', 'finish', 'now') AND a.name IN (`+placeholders(len(names))+`) ORDER BY a.name`, args...)
	return list, s.explain("find abandoned agents", err)
}

// TakeAbandoned gives an agent whose host is down to the host of a home, which says d of it and has
// found the files as was last said of them in seen. Error kinds: Locked while its host or somebody who holds
// it counts as alive; Conflict if something else was said meanwhile, something is not pushed,
// or the agent stays on its host; else those of [Hosts.MoveToHost].
func (s Workspaces) TakeAbandoned(ctx context.Context, home string, seen Workspace, d *Definition) error {
	const op = "take over"
	body, err := Agents(s).bodyOf(op, d)
	if err != nil {
		return err
	}
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		a, err := agentsIn(t).lockAgent(ctx, seen.Agent)
		if err != nil {
			return err
		}
		var to, from hostRow
		var said Defined
		var now []Workspace
		found, known, defined := false, false, false
		err = t.run(ctx, first(&to, &found, scanHost, selectHost+` WHERE h.id = ?`, home), first(&from, &known, scanHost, selectHost+` WHERE h.id = ?`, a.HomeID),
			first(&said, &defined, scanDefined, selectDefined+` WHERE a.id = ?`, a.ID), all(&now, scanWorkspace, selectWorkspace+` WHERE a.id = ?`, a.ID))
		switch {
		case err != nil:
			return err
		case a.HomeID == home:
			t.discard = true
			return nil
		case !found || !known || from.Alive(at(t.now)) || ms(a.LeaseUntil) > t.now:
			return fika.Errorf(fika.Locked, op, "@%s is not abandoned", a.Name)
		}
		for _, w := range now {
			if w.Task == seen.Task && (w.Mark != seen.Mark || w.Hash != seen.Hash) {
				return fika.Errorf(fika.Conflict, op, "@%s has worked meanwhile", a.Name)
			}
		}
		if !said.goesAlong(now) {
			return fika.Errorf(fika.Conflict, op, "the files of @%s are on %s alone", a.Name, from.Name)
		}
		if err := mayGo(op, a, to.Host, said.RunOn, at(t.now)); err != nil {
			return err
		}
		if err := t.put(ctx, `DELETE FROM moves WHERE agent = ? AND sent = 0`, a.ID); err != nil {
			return err
		}
		if err := agentsIn(t).goTo(ctx, a.ID, home); err != nil || body == "" {
			return err
		}
		a.HomeID = home
		return agentsIn(t).define(ctx, a, body)
	})
}

// goesAlong reports whether the files of an agent are where another host can have them.
func (d Definition) goesAlong(files []Workspace) bool {
	return (d.WorkspaceOn == "shared" || d.WorkspaceOn == "git") && !slices.ContainsFunc(files, func(w Workspace) bool { return w.Unpushed != "" })
}

// RefuseTakeOver notes why a host cannot go on with the files of an agent; it writes nothing
// if that is known, or the agent has a living owner.
func (s Workspaces) RefuseTakeOver(ctx context.Context, agent fika.AgentID, why string) error {
	return s.write(ctx, "refuse takeover", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `UPDATE workspaces SET refused = ? WHERE agent = ? AND task = 0 AND refused <> ?
AND EXISTS (SELECT 1 FROM agents a WHERE a.id = workspaces.agent AND a.lease_until <= ?)`, why, agent, why, t.now)
	})
}

// TellFiles posts in a turn, as a notice, that changes to files are not where it goes on. It
// fails with Lost for who does not have the turn.
func (s Turns) TellFiles(ctx context.Context, f Fence, text string) (fika.Entry, error) {
	var out fika.Entry
	err := s.withinLease(ctx, "tell of files", f, stepStays, func(ctx context.Context, t *tx, r turn) error {
		out = limitsIn(t).notice(r.conv, text, fika.FilesNotice)
		out.Request, out.Chain, out.Depth = r.id, r.chain, r.depth+1
		out.Meta.WriterName = string(r.agentName)
		return t.append(ctx, &out)
	})
	return out, err
}
