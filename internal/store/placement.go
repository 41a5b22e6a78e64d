package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Move is an agent that is to go to another host.
type Move struct {
	ID      fika.AgentID
	Agent   fika.AgentName
	From    string // the home that it is on; once it is sent, To
	To      string // a home
	Leaves  bool   // its files stay behind
	Refused string // why the host that it is on does not let it go; empty: it does
	Sent    bool   // it is on the other host, which has not taken its files yet
}

const selectMove = `SELECT a.id, a.name, a.home_id, m.host, m.leaves, m.refused, m.sent FROM moves m JOIN agents a ON a.id = m.agent`

func scanMove(s scanner) (m Move, err error) {
	return m, s.Scan(&m.ID, &m.Agent, &m.From, &m.To, flag{&m.Leaves}, &m.Refused, flag{&m.Sent})
}

// MoveToHost says that an agent is to go to the host of a name. The hub of the host that it
// is on sends it there once what it does has ended. If that hub is down, leaves has to be
// set, and the agent goes at once if its lease has lapsed. Wanting an agent where it is ends
// an earlier wish. It reports whether the agent has gone. Error kinds: NotFound; Denied if
// it may not run there; Conflict if the host is down or drained or does not define it;
// Locked if the host that it is on is down and leaves is not set, or its lease holds.
func (s Hosts) MoveToHost(ctx context.Context, id fika.AgentID, name string, leaves bool) (gone bool, err error) {
	const op = "move to host"
	err = s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		gone = false
		a, err := agentsIn(t).lockAgent(ctx, id)
		if err != nil {
			return err
		}
		var to, from hostRow
		var said Defined
		var files []Workspace
		found, known, defined := false, false, false
		err = t.run(ctx, first(&to, &found, scanHost, selectHost+` WHERE h.name = ?`, name), first(&from, &known, scanHost, selectHost+` WHERE h.id = ?`, a.HomeID),
			first(&said, &defined, scanDefined, selectDefined+` WHERE a.id = ?`, id), all(&files, scanWorkspace, selectWorkspace+` WHERE a.id = ?`, id))
		if err != nil {
			return err
		}
		if !found {
			return fika.WithHint(fika.Errorf(fika.NotFound, op, "host %q not found", name), hint.HostList.With())
		}
		if to.ID == a.HomeID {
			gone = true
			return t.put(ctx, `DELETE FROM moves WHERE agent = ? AND sent = 0`, id)
		}
		if err := mayGo(op, a, to.Host, said.RunOn, at(t.now)); err != nil {
			return err
		}
		switch up := known && from.Alive(at(t.now)); {
		case up:
			arriving, err := t.exec(ctx, `UPDATE moves SET sent = sent WHERE agent = ? AND sent = 1`, id)
			if err == nil && arriving > 0 {
				err = fika.Errorf(fika.Conflict, op, "@%s has just been moved to %s, which has not taken its files yet", a.Name, from.Name)
			}
			if err != nil {
				return err
			}
			return t.put(ctx, `INSERT INTO moves (agent, host, leaves) VALUES (?, ?, ?)
ON CONFLICT (agent) DO UPDATE SET host = excluded.host, leaves = excluded.leaves, refused = ''`, id, to.ID, number(leaves))
		case !leaves && !said.goesAlong(files):
			return fika.WithHint(fika.Errorf(fika.Locked, op, "@%s is on %s, which is down, and its files are there", a.Name, from.Name), hint.AgentMoveLeave.With(a.Name, to.Name))
		case a.Owner != "" && ms(a.LeaseUntil) > t.now:
			return fika.Errorf(fika.Locked, op, "@%s may still be at work on %s: try again after %s", a.Name, from.Name, a.LeaseUntil.Format(time.RFC3339))
		}
		gone = true
		if err := t.put(ctx, `DELETE FROM moves WHERE agent = ?`, id); err != nil {
			return err
		}
		return agentsIn(t).goTo(ctx, id, to.ID)
	})
	return gone, err
}

// mayGo returns why an agent may not go to a host.
func mayGo(op string, a fika.Agent, to Host, runOn []string, now time.Time) error {
	switch {
	case a.IsPool() || a.Pool != "":
		return fika.Errorf(fika.Invalid, op, "@%s is of a pool: its hosts say how many members they have (places)", a.Name)
	case !to.Alive(now):
		return fika.WithHint(fika.Errorf(fika.Conflict, op, "the host %s is down: its hub does not run", to.Name), hint.HostList.With())
	case to.State == HostDrained:
		return fika.WithHint(fika.Errorf(fika.Conflict, op, "the host %s is drained", to.Name), hint.HostResume.With(to.Name))
	case !to.Fits(runOn):
		return fika.WithHint(fika.Errorf(fika.Denied, op, "@%s may not run on %s (run_on)", a.Name, to.Name), hint.HostList.With())
	case !slices.Contains(to.Agents, string(a.Name)):
		return fika.Errorf(fika.Conflict, op, "the host %s does not define @%s: add its [[agents]] entry to config.toml there", to.Name, a.Name)
	}
	return nil
}

// goTo gives an agent that nobody holds to another home.
func (t agentRows) goTo(ctx context.Context, id fika.AgentID, home string) error {
	_, err := t.tellAgents(ctx, `UPDATE agents SET home_id = ?, state = 'stopped', state_reason = '', owner = '', owner_host = '', owner_site = '', lease = '', lease_until = 0 WHERE id = ?`, home, id)
	return err
}

// SendToHost gives an agent that is to go, with some files, to its next host. It fails with
// Locked while somebody holds it, and with NotFound if it is not to go any more.
func (s Hosts) SendToHost(ctx context.Context, home string, id fika.AgentID, files map[string]string) error {
	const op = "send to host"
	body, err := toJSON(op, files)
	if err != nil {
		return err
	}
	return s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		a, err := agentsIn(t).lockAgent(ctx, id)
		if err != nil {
			return err
		}
		m, there, err := one(ctx, t, scanMove, selectMove+` WHERE m.agent = ? AND m.sent = 0 AND m.refused = ''`, id)
		switch {
		case err != nil:
			return err
		case !there || a.HomeID != home:
			return fika.Errorf(fika.NotFound, op, "@%s is not to be moved any more", a.Name)
		case a.Owner != "" && ms(a.LeaseUntil) > t.now:
			return fika.Errorf(fika.Locked, op, "@%s is at work", a.Name)
		}
		if err := t.put(ctx, `UPDATE moves SET sent = 1, files = ? WHERE agent = ?`, body, id); err != nil {
			return err
		}
		return agentsIn(t).goTo(ctx, id, m.To)
	})
}

// KeepAtHost ends the wish that an agent go, and says why.
func (s Hosts) KeepAtHost(ctx context.Context, id fika.AgentID, why string) error {
	return s.write(ctx, "keep at host", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `UPDATE moves SET refused = ? WHERE agent = ? AND sent = 0`, why, id)
	})
}

// SentFiles returns the files that came with an agent, by name.
func (s Hosts) SentFiles(ctx context.Context, id fika.AgentID) (map[string]string, error) {
	const op = "read files of an agent"
	body, _, err := one(ctx, s.r, scanText, `SELECT m.files FROM moves m WHERE m.agent = ? AND m.sent = 1`, id)
	var files map[string]string
	if err == nil && body != "" {
		err = json.Unmarshal([]byte(body), &files)
	}
	return files, s.explain(op, err)
}

// TakeAtHost ends the move of an agent whose files have been taken.
func (s Hosts) TakeAtHost(ctx context.Context, id fika.AgentID) error {
	return s.write(ctx, "take at host", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `DELETE FROM moves WHERE agent = ? AND sent = 1`, id)
	})
}

// MoveOf returns the move of an agent; false if it is not to go anywhere.
func (s Hosts) MoveOf(ctx context.Context, id fika.AgentID) (Move, bool, error) {
	m, there, err := one(ctx, s.r, scanMove, selectMove+` WHERE m.agent = ?`, id)
	return m, there, s.explain("read move", err)
}
