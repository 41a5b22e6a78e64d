package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"strings"

	"fika"
)

// copied describes a table that is copied from one database to another, in the order
// of its key.
type copied struct {
	name    string
	key     []string
	columns []string
	numbers string // the column that the database numbers itself; empty: none
}

// tables lists the tables to copy, each after those it refers to. What a database
// records about itself and about its writers is not copied.
func tables() []copied {
	cols := func(text string) []string { return strings.Fields(text) }
	return []copied{
		{name: "meta", key: cols("key"), columns: cols("key value")},
		{name: "agents", key: cols("id"), columns: cols(`id name home_id display_name description desired state state_reason owner epoch lease lease_until
seen_at started_at processed active_ask created_at hour_start hour_turns held_until held_reason pool instances owner_host owner_site`)},
		{name: "hosts", key: cols("id"), columns: cols("id name labels version state session site until seen_at refused refused_at bus agents by_host")},
		{name: "agent_defs", key: cols("agent"), columns: cols("agent host version body")},
		{name: "moves", key: cols("agent"), columns: cols("agent host leaves refused sent files")},
		{name: "texts", key: cols("agent kind"), columns: cols("agent kind version body host at")},
		{name: "text_conflicts", key: cols("host path"), columns: cols("host path agent kind at")},
		{name: "workspaces", key: cols("agent task"), columns: cols("agent task host mark ref hash pushed_at taken_at unpushed refused")},
		{name: "on_demand", key: cols("name"), columns: cols("name home n idle_for stops want state since until idle_since tries reason")},
		{name: "duties", key: cols("name"), columns: cols("name host session until")},
		{name: "bindings", key: cols("pool person"), columns: cols("pool person member bound_at")},
		{name: "conversations", key: cols("id"), columns: cols("id name kind agent status paused last_seq messages created_at updated_at metadata limits run archived_to mode")},
		{name: "participants", key: cols("conversation agent person"), columns: cols("conversation agent person cursor joined_at")},
		{name: "entries", key: cols("n"), numbers: "n", columns: cols(`n conversation seq id at sender recipient content type request reply_to chain
depth pinned expires_at metadata by_host`)},
		{name: "inputs", key: cols("n"), numbers: "n", columns: cols("n id conversation agent sender writer content attachments ttl state seq created_at")},
		{name: "guest_sessions", key: cols("agent conversation"), columns: cols("agent conversation program session seen_seq upto_seq request prompt settled cost at")},
		{name: "jobs", key: cols("n"), numbers: "n", columns: cols(`n id agent conversation request step command description cwd profile taint log lease pid pid_start
boot_id state exit_code reason end_at started_at ended_at`)},
		{name: "chains", key: cols("root"), columns: cols("root turns tokens cost started_at limit_hit conversation person")},
		{name: "notifications", key: cols("id"), numbers: "id", columns: cols("id conversation seq agent chain depth state reason request created_at rights")},
		{name: "requests", key: cols("n"), numbers: "n", columns: cols(`n id kind origin agent conversation parent retry_of chain depth asker upto_seq state reason
owner_epoch owner_lease cancel_at deadline wait_until payload body_hash outcome attempts touched announced_at created_at started_at finished_at rights passes taint addressed handed task by_host`)},
		{name: "steps", key: cols("request n"), columns: cols(`request n round kind call_id tool args_hash effect state entry call_entry blob pre_hash post_hash
pid pid_start boot_id started_at finished_at model choice by_host`)},
		{name: "approvals", key: cols("n"), numbers: "n", columns: cols("n request step tool args workspace what rule bound state answered_by why asked_at expires_at answered_at flow_step held by_host")},
		{name: "executors", key: cols("id"), columns: cols("id owner epoch lease lease_until seen_at runs_as")},
		{name: "executions", key: cols("request n"), columns: cols(`request n executor epoch call state lease attempts result cancel_at pid pid_start boot_id
offered_at claimed_at finished_at`)},
		{name: "flow_runs", key: cols("id"), columns: cols(`id request conversation name definition inputs edition version due wake_at paused_at stop turns tokens cost
result begun_at ended_at chat`)},
		{name: "flow_steps", key: cols("id"), columns: cols(`id run path attempt parent step kind position attempts_before state reason error not_before deadline ended_at
approved redo live taken source winner inputs items made done failed first_failed begun_at request conversation agent chain counted output taint`)},
		{name: "flow_outputs", key: cols("run hash"), columns: cols("run hash json content")},
		{name: "schedules", key: cols("name"), columns: cols("name home timing body next_at paused_at planned_at begun_at missed request chat seq trouble trouble_at")},
		{name: "tasks", key: cols("n"), columns: cols(`n title body state held_reason priority capability agent parent created_by writer rights taint chain depth due
worker request attempts handed_back result version created_at updated_at ended_at check_cmd review_by review round work`)},
		{name: "task_needs", key: cols("task needs"), columns: cols("task needs")},
		{name: "board_waits", key: cols("request task"), columns: cols("request task")},
		{name: "task_log", key: cols("task n"), columns: cols("task n at who what text")},
		{name: "offers", key: cols("n"), columns: cols(`n source agent title tip target created_by state reason base old new output asks accepted checked_by checked_at
version created_at updated_at ended_at request chain depth rights taint round rework task reviews push_state push after_ok after_by host`)},
		{name: "usage", key: cols("request n"), columns: cols("request n agent model input output cached reasoning cost at estimated")},
		{name: "budgets", key: cols("owner per begins"), columns: cols("owner per begins scope money tokens")},
		{name: "reservations", key: cols("request owner per begins"), columns: cols("request owner per begins money tokens")},
		{name: "parked", key: cols("id"), numbers: "id", columns: cols("id at subject body reason")},
		{name: "brakes", key: cols("conversation owner"), columns: cols("conversation owner until")},
		{name: "events", key: cols("n"), numbers: "n", columns: cols("n at kind conversation request chain agent seq state data")},
		{name: "keys", key: cols("id"), columns: cols("id verb body_hash results at")},
		{name: "webhooks", key: cols("url"), columns: cols("url place delivered_at tries error failing_at next_at")},
		{name: "deliveries", key: cols("url n"), columns: cols("url n id body state error failed_at")},
		{name: "figures", key: cols("name agent model tool outcome"), columns: cols("name agent model tool outcome value")},
		{name: "places", key: cols("reader"), columns: cols("reader place at")},
		{name: "tokens", key: cols("name"), columns: cols("name hash doors agents made_by created_at expires_at used_at")},
	}
}

// keptMeta selects the rows of meta that are copied, leaving out those that describe
// the database itself.
const keptMeta = `key NOT IN ('schema', 'words_upto', 'copy_of', 'moved_to')`

// copyPage is the number of rows held in memory at once.
const copyPage = 500

// page returns the statement that reads the rows after a key.
func (c copied) page(after []any) statement {
	where := ""
	if c.name == "meta" {
		where = " WHERE " + keptMeta
	}
	if after != nil {
		and := " WHERE "
		if where != "" {
			and = where + " AND "
		}
		where = and + "(" + strings.Join(c.key, ", ") + ") > (" + placeholders(len(c.key)) + ")"
	}
	return statement{
		text: `SELECT ` + strings.Join(c.columns, ", ") + ` FROM ` + c.name + where + ` ORDER BY ` + strings.Join(c.key, ", ") + fmt.Sprintf(` LIMIT %d`, copyPage),
		args: after,
	}
}

// each calls fn with all rows of a table, page by page.
func (c copied) each(ctx context.Context, from querier, fn func([][]any) error) error {
	var after []any
	for {
		var rows_ [][]any
		st := c.page(after)
		st.read = func(r rows) error {
			rows_ = nil
			for r.Next() {
				row, dest := make([]any, len(c.columns)), make([]any, len(c.columns))
				for i := range row {
					dest[i] = &row[i]
				}
				if err := r.Scan(dest...); err != nil {
					return err
				}
				rows_ = append(rows_, row)
			}
			return r.Err()
		}
		if err := from.run(ctx, st); err != nil {
			return err
		}
		if len(rows_) == 0 {
			return nil
		}
		if err := fn(rows_); err != nil {
			return err
		}
		last := rows_[len(rows_)-1]
		after = make([]any, len(c.key))
		for i, k := range c.key {
			for j, col := range c.columns {
				if col == k {
					after[i] = last[j]
				}
			}
		}
	}
}

// put stores rows; rows that already exist stay as they are, except in meta.
func (c copied) put(ctx context.Context, t *tx, list [][]any) error {
	columns := c.columns
	words := c.name == "entries" && t.c.distant()
	if words {
		columns = append(columns[:len(columns):len(columns)], "words")
	}
	conflict := `ON CONFLICT DO NOTHING`
	if c.name == "meta" {
		conflict = `ON CONFLICT (key) DO UPDATE SET value = excluded.value`
	}
	text := `INSERT INTO ` + c.name + ` (` + strings.Join(columns, ", ") + `) VALUES (` + placeholders(len(columns)) + `) ` + conflict
	for _, row := range list {
		if words {
			var w any
			if row[8] == string(fika.Message) {
				w = wordsOf(fmt.Sprint(row[7]))
			}
			row = append(row[:len(row):len(row)], w)
		}
		if err := t.put(ctx, text, row...); err != nil {
			return err
		}
	}
	return nil
}

// digest adds rows to a hash that is the same on every engine.
func digest(h hash.Hash, list [][]any) {
	for _, row := range list {
		for _, v := range row {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			fmt.Fprintf(h, "%T %v\x00", v, v)
		}
	}
}

// Copied reports a table that [Store.CopyTo] has copied.
type Copied struct {
	Table string
	Rows  int
}

// CopyTo copies all rows, as of one moment, into another store that is empty or holds
// the beginning of the same copy, then reads the other store again to compare. Nobody
// else may write to the other store. CopyTo calls told, if it is not nil, after each
// table. It fails with Conflict if the other store has rows of its own.
func (s *Store) CopyTo(ctx context.Context, to *Store, told func(Copied)) error {
	if err := s.copyTo(ctx, to, told); err != nil {
		return err
	}
	return to.settle(ctx)
}

const (
	selectStoreID = `SELECT value FROM meta WHERE key = 'store_id'`
	selectCopyOf  = `SELECT value FROM meta WHERE key = 'copy_of'`
)

// copyTo copies and compares; the other store is then a complete copy that is still marked
// as an unfinished one.
func (s *Store) copyTo(ctx context.Context, to *Store, told func(Copied)) error {
	const op = "copy store"
	id, _, err := one(ctx, s.db.r, scanText, selectStoreID)
	if err != nil {
		return s.db.explain(op, err)
	}
	if err := to.expect(ctx, id); err != nil {
		return err
	}
	sums := map[string]string{}
	err = s.db.e.snapshot(ctx, func(from querier) error {
		for _, c := range tables() {
			h, n := sha256.New(), 0
			if err := c.each(ctx, from, func(list [][]any) error {
				digest(h, list)
				n += len(list)
				return to.db.write(ctx, op, func(ctx context.Context, t *tx) error { return c.put(ctx, t, list) })
			}); err != nil {
				return err
			}
			sums[c.name] = hex.EncodeToString(h.Sum(nil))
			if told != nil {
				told(Copied{c.name, n})
			}
		}
		return nil
	})
	if err != nil {
		return s.db.explain(op, err)
	}
	for _, c := range tables() {
		h := sha256.New()
		if err := c.each(ctx, to.db.r, func(list [][]any) error { digest(h, list); return nil }); err != nil {
			return to.db.explain(op, err)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != sums[c.name] {
			return fika.Errorf(fika.Storage, op, "%s of %s is not what %s has: nothing was changed there; look at the disk and try again", c.name, to.db.name(), s.db.name())
		}
	}
	return nil
}

// expect checks that the store may take the rows of the store with the given id, and
// marks it as an unfinished copy of that.
func (s *Store) expect(ctx context.Context, id string) error {
	const op = "copy store"
	return s.db.write(ctx, op, func(ctx context.Context, t *tx) error {
		begun, _, err := one(ctx, t, scanText, selectCopyOf)
		if err != nil || begun == id {
			return err
		}
		n, _, err := one(ctx, t, scanInt, `SELECT (SELECT count(*) FROM agents) + (SELECT count(*) FROM conversations)`)
		if err != nil {
			return err
		}
		if n > 0 || begun != "" {
			return fika.Errorf(fika.Conflict, op, "%s has rows of its own: name an empty schema or another file", s.db.name())
		}
		return t.put(ctx, `INSERT INTO meta (key, value) VALUES ('copy_of', ?)`, id) // until settle removes it
	})
}

// settle turns a complete copy into an ordinary store.
func (s *Store) settle(ctx context.Context) error {
	return s.db.write(ctx, "copy store", func(ctx context.Context, t *tx) error {
		if t.c.distant() {
			for _, c := range tables() {
				if c.numbers == "" {
					continue
				}
				_, err := many(ctx, t, scanInt, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', '%s'), (SELECT COALESCE(max(%s), 0) + 1 FROM %s), false)`,
					c.name, c.numbers, c.numbers, c.name))
				if err != nil {
					return err
				}
			}
		}
		return t.put(ctx, `DELETE FROM meta WHERE key = 'copy_of'`)
	})
}

// Backup writes all rows, as of one moment, into a new SQLite database while others
// go on working. If Backup returns nil, the copy is complete and sound. It fails with
// Conflict if path exists.
func (s *Store) Backup(ctx context.Context, path string) error {
	const op = "back up store"
	if _, err := os.Lstat(path); err == nil {
		return fika.Errorf(fika.Conflict, op, "%s exists already", path)
	}
	err := s.backup(ctx, path)
	if err == nil {
		var copy *Store
		if copy, err = Open(ctx, Options{Path: path, Existing: true}); err == nil {
			var found []string
			if found, err = copy.Check(ctx); err == nil && len(found) > 0 {
				err = fika.Errorf(fika.Storage, op, "the copy is not sound: %s", found[0])
			}
			err = errors.Join(err, copy.Close())
		}
	}
	for _, suffix := range []string{".schema", "-wal", "-shm"} {
		_ = os.Remove(path + suffix)
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

func (s *Store) backup(ctx context.Context, path string) error {
	const op = "back up store"
	if s.db.file != nil {
		return s.db.explain(op, vacuumInto(ctx, s.db.opt.Path, path))
	}
	to, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	return errors.Join(s.CopyTo(ctx, to, nil), to.Close())
}

// vacuumInto copies a file as of one moment, on a connection of its own.
func vacuumInto(ctx context.Context, from, to string) error {
	c, err := sql.Open("sqlite", dsn(from, "busy_timeout(5000)"))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		_, err = c.ExecContext(ctx, `VACUUM INTO ?`, to)
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, c.Close())
}

// DisownAll takes every lease and every unfinished request from its owner, so that no
// earlier process can write any more; the next owners take the requests up. It is
// meant for a store that was restored.
func (s *Store) DisownAll(ctx context.Context) error {
	return s.db.write(ctx, "disown agents", func(ctx context.Context, t *tx) error {
		for _, text := range []string{
			`UPDATE agents SET owner = '', owner_host = '', owner_site = '', lease = '', lease_until = 0, epoch = epoch + 1000`,
			`UPDATE hosts SET session = '', until = 0`,
			`DELETE FROM duties`,
			`UPDATE requests SET owner_epoch = 0, owner_lease = '' WHERE finished_at = 0`,
		} {
			if err := t.put(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}
