package store

import (
	"context"
	"strconv"
	"time"

	"fika"
)

// Texts keeps the texts of agents that several hosts define: what people edit and agents
// note. Each of these hosts shows them in files.
type Texts struct{ *db }

// SharedText is a text as it is shared.
type SharedText struct {
	Agent   fika.AgentID
	Kind    string
	Version int64 // grows with each change of any text, from 1
	Body    string
	Host    string // the id of the host that it was written on
	At      time.Time
}

func scanSharedText(s scanner) (x SharedText, err error) {
	var body []byte
	var when int64
	err = s.Scan(&x.Agent, &x.Kind, &x.Version, &body, &x.Host, &when)
	x.Body, x.At = string(body), at(when)
	return x, err
}

const selectSharedText = `SELECT x.agent, x.kind, x.version, x.body, x.host, x.at FROM texts x`

// TextsSince returns the texts that were changed after a version, in the order of their
// changes.
func (s Texts) TextsSince(ctx context.Context, version int64) ([]SharedText, error) {
	out, err := many(ctx, s.r, scanSharedText, selectSharedText+` WHERE x.version > ? ORDER BY x.version`, version)
	return out, s.explain("read shared texts", err)
}

// ShareText writes a text that was last seen at a version, 0 if nobody had shared it, and
// returns its new version. It returns Conflict if it was changed since then.
func (s Texts) ShareText(ctx context.Context, x SharedText, seen int64) (version int64, err error) {
	const op = "share text"
	err = s.write(ctx, op, func(ctx context.Context, t *tx) error {
		// It also has the writers follow one another, so that a reader misses none.
		text, _, err := one(ctx, t, scanText, `UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE key = 'texts' RETURNING value`)
		if err != nil {
			return err
		}
		if version, err = strconv.ParseInt(text, 10, 64); err != nil {
			return err
		}
		now, _, err := one(ctx, t, scanInt, `SELECT x.version FROM texts x WHERE x.agent = ? AND x.kind = ?`, x.Agent, x.Kind)
		if err != nil {
			return err
		}
		if now != seen {
			return fika.Errorf(fika.Conflict, op, "the text %s was changed on another host meanwhile", x.Kind)
		}
		return t.put(ctx, `INSERT INTO texts (agent, kind, version, body, host, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, kind) DO UPDATE SET version = excluded.version, body = excluded.body, host = excluded.host, at = excluded.at`,
			x.Agent, x.Kind, version, []byte(x.Body), x.Host, t.now)
	})
	return version, err
}

// TextConflict is a text that was changed on two hosts at once: one of both is shared, and
// the other one is in a file of the host that it was written on, until somebody removes that.
type TextConflict struct {
	Host  string // the id of the host with the file
	Path  string
	Agent fika.AgentID
	Kind  string
	At    time.Time // when it was found
	// AgentName and HostName are set when it is read.
	AgentName fika.AgentName
	HostName  string
}

func scanTextConflict(s scanner) (x TextConflict, err error) {
	var when int64
	err = s.Scan(&x.Host, &x.Path, &x.Agent, &x.Kind, &when, &x.AgentName, &x.HostName)
	x.At = at(when)
	return x, err
}

// TextConflicts returns the conflicts by path.
func (s Texts) TextConflicts(ctx context.Context) ([]TextConflict, error) {
	out, err := many(ctx, s.r, scanTextConflict, `SELECT tc.host, tc.path, tc.agent, tc.kind, tc.at, a.name, COALESCE(h.name, tc.host)
FROM text_conflicts tc JOIN agents a ON a.id = tc.agent LEFT JOIN hosts h ON h.id = tc.host ORDER BY tc.path, tc.host`)
	return out, s.explain("read conflicts of texts", err)
}

// SetTextConflicts makes list the conflicts with files on a host: those that are known stay
// as they are.
func (s Texts) SetTextConflicts(ctx context.Context, host string, list []TextConflict) error {
	return s.write(ctx, "set conflicts of texts", func(ctx context.Context, t *tx) error {
		var known []string
		if err := t.run(ctx, all(&known, scanText, `SELECT x.path FROM text_conflicts x WHERE x.host = ?`, host)); err != nil {
			return err
		}
		left := map[string]bool{}
		for _, path := range known {
			left[path] = true
		}
		for _, x := range list {
			if left[x.Path] {
				delete(left, x.Path)
				continue
			}
			if err := t.put(ctx, `INSERT INTO text_conflicts (host, path, agent, kind, at) VALUES (?, ?, ?, ?, ?)`, host, x.Path, x.Agent, x.Kind, t.now); err != nil {
				return err
			}
		}
		for path := range left {
			if err := t.put(ctx, `DELETE FROM text_conflicts WHERE host = ? AND path = ?`, host, path); err != nil {
				return err
			}
		}
		return nil
	})
}
