package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fika"
)

// PutBack stores the rows of an archive again, in one transaction, and returns how many
// were not there. refers are rows that the others refer to: they are stored if they are
// missing, agents and conversations without what they were doing. An agent is taken for
// the one of the same name. A conversation whose name is taken gets another. It fails
// with Conflict if another entry has the place of one of them.
func (s Retention) PutBack(ctx context.Context, refers, list []TableRows) (n int, err error) {
	const op = "put archive back"
	for _, t := range slices.Concat(refers, list) {
		if err := t.check(); err != nil {
			return 0, err
		}
	}
	err = s.write(ctx, op, func(ctx context.Context, t *tx) error {
		p := putting{tx: t, ids: map[string]string{}, fresh: map[string]bool{}}
		for _, r := range refers {
			if _, err := p.table(ctx, r); err != nil {
				return err
			}
		}
		n = 0
		for _, r := range list {
			added, err := p.table(ctx, r)
			if err != nil {
				return err
			}
			n += added
		}
		return p.renumber(ctx)
	})
	return n, err
}

// putTables lists the tables that an archive may have rows of.
func putTables() []string {
	return []string{"agents", "conversations", "participants", "entries", "notifications", "requests", "steps", "approvals", "executions", "usage"}
}

// check refuses rows that no archive has: their names become part of statements.
func (r TableRows) check() error {
	bad := func(format string, args ...any) error {
		return fika.Errorf(fika.Invalid, "put archive back", format, args...)
	}
	if !slices.Contains(putTables(), r.Table) {
		return bad("no archive has rows of the table %q", r.Table)
	}
	known := tableOf(r.Table).columns
	for i, c := range r.Columns {
		if !slices.Contains(known, c) || slices.Contains(r.Columns[:i], c) {
			return bad("the table %s has no column %q", r.Table, c)
		}
	}
	for _, k := range []string{"id", "name", "n", "seq", "conversation", "agent", "request", "person", "type", "content"} {
		if slices.Contains(known, k) && !slices.Contains(r.Columns, k) {
			return bad("rows of %s lack the column %q", r.Table, k)
		}
	}
	for _, row := range r.Rows {
		if len(row) != len(r.Columns) {
			return bad("a row of %s has %d values for %d columns", r.Table, len(row), len(r.Columns))
		}
		for _, v := range row {
			switch v.(type) {
			case string, int64:
			default:
				return bad("a row of %s has a value that is neither text nor an integer", r.Table)
			}
		}
	}
	return nil
}

// putting stores rows of one archive.
type putting struct {
	*tx
	ids   map[string]string // of agents, as they are here
	fresh map[string]bool   // requests and conversations that were stored
}

// row is a row of which columns are found by name.
type row struct {
	TableRows
	values []any
}

func (r row) at(column string) any {
	if i := slices.Index(r.Columns, column); i >= 0 {
		return r.values[i]
	}
	return nil
}

func (r row) set(column string, v any) {
	if i := slices.Index(r.Columns, column); i >= 0 {
		r.values[i] = v
	}
}

// table stores the rows of a table that are missing, and returns how many they were.
func (p *putting) table(ctx context.Context, list TableRows) (n int, err error) {
	for _, values := range list.Rows {
		r := row{list, slices.Clone(values)}
		for _, c := range []string{"agent", "addressed"} {
			if id, _ := r.at(c).(string); p.ids[id] != "" {
				r.set(c, p.ids[id])
			}
		}
		missing, err := p.missing(ctx, r)
		if err != nil {
			return n, err
		}
		if !missing {
			continue
		}
		if err := p.insert(ctx, r); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// missing reports whether a row is to be stored, and readies it for that.
func (p *putting) missing(ctx context.Context, r row) (bool, error) {
	there := func(where string, args ...any) (bool, error) {
		_, found, err := one(ctx, p, scanInt, `SELECT 1 FROM `+r.Table+` WHERE `+where+` LIMIT 1`, args...)
		return found, err
	}
	switch r.Table {
	case "agents":
		return p.missingAgent(ctx, r)
	case "conversations":
		return p.missingConversation(ctx, r)
	case "participants":
		found, err := there(`conversation = ? AND agent = ? AND person = ?`, r.at("conversation"), r.at("agent"), r.at("person"))
		return !found, err
	case "entries":
		found, err := there(`conversation = ? AND id = ?`, r.at("conversation"), r.at("id"))
		if err != nil || found {
			return false, err
		}
		taken, err := there(`conversation = ? AND seq = ?`, r.at("conversation"), r.at("seq"))
		if err == nil && taken {
			err = fika.Errorf(fika.Conflict, "put archive back", "another entry is number %v of the conversation %v", r.at("seq"), r.at("conversation"))
		}
		return true, err
	case "notifications":
		found, err := there(`conversation = ? AND seq = ? AND agent = ?`, r.at("conversation"), r.at("seq"), r.at("agent"))
		return !found, err
	case "requests":
		found, err := there(`id = ?`, r.at("id"))
		p.fresh[fmt.Sprint(r.at("id"))] = err == nil && !found
		return !found, err
	case "usage":
		found, err := there(`request = ? AND n = ?`, r.at("request"), r.at("n"))
		return !found, err
	}
	return p.fresh[fmt.Sprint(r.at("request"))], nil // steps and the like come and go with their request
}

func (p *putting) missingAgent(ctx context.Context, r row) (bool, error) {
	id, found, err := one(ctx, p, scanText, `SELECT id FROM agents WHERE id = ? OR name = ? ORDER BY CASE WHEN id = ? THEN 0 ELSE 1 END LIMIT 1`, r.at("id"), r.at("name"), r.at("id"))
	if found {
		p.ids[fmt.Sprint(r.at("id"))] = id
	}
	for column, v := range map[string]any{"desired": "", "state": string(fika.AgentStopped), "state_reason": "", "owner": "", "lease": "", "lease_until": int64(0),
		"active_ask": "", "pool": "", "instances": int64(0), "held_until": int64(0), "held_reason": ""} {
		r.set(column, v)
	}
	return !found, err
}

func (p *putting) missingConversation(ctx context.Context, r row) (bool, error) {
	_, found, err := one(ctx, p, scanText, `SELECT id FROM conversations WHERE id = ?`, r.at("id"))
	if err != nil || found {
		return false, err
	}
	name := fmt.Sprint(r.at("name"))
	if _, taken, err := one(ctx, p, scanText, `SELECT id FROM conversations WHERE name = ?`, name); err != nil {
		return false, err
	} else if taken {
		r.set("name", name+"_"+strings.ReplaceAll(fmt.Sprint(r.at("id")), "-", ""))
	}
	r.set("messages", int64(0)) // counted as they are stored
	r.set("paused", int64(0))
	r.set("run", "")
	return true, nil
}

// insert stores a row. It keeps the number that the database gave it, if that is free.
func (p *putting) insert(ctx context.Context, r row) error {
	columns, values := slices.Clone(r.Columns), r.values
	if number := tableOf(r.Table).numbers; number != "" {
		_, taken, err := one(ctx, p, scanInt, `SELECT 1 FROM `+r.Table+` WHERE `+number+` = ?`, r.at(number))
		if err != nil {
			return err
		}
		if i := slices.Index(columns, number); taken && i >= 0 {
			columns, values = slices.Delete(columns, i, i+1), slices.Delete(slices.Clone(values), i, i+1)
		}
	}
	message := r.Table == "entries" && r.at("type") == string(fika.Message)
	if message && p.c.distant() {
		columns, values = append(columns, "words"), append(slices.Clone(values), wordsOf(fmt.Sprint(r.at("content"))))
	}
	if err := p.put(ctx, `INSERT INTO `+r.Table+` (`+strings.Join(columns, ", ")+`) VALUES (`+placeholders(len(columns))+`)`, values...); err != nil {
		return err
	}
	if !message {
		return nil
	}
	if !p.c.distant() { // what comes after words_upto is indexed later
		if err := p.put(ctx, `INSERT INTO entries_words (rowid, content) SELECT e.n, e.content FROM entries e
WHERE e.conversation = ? AND e.seq = ? AND e.n <= (`+wordsUpto+`)`, r.at("conversation"), r.at("seq")); err != nil {
			return err
		}
	}
	return p.put(ctx, `UPDATE conversations SET messages = messages + 1, last_seq = CASE WHEN last_seq < ? THEN ? ELSE last_seq END WHERE id = ?`,
		r.at("seq"), r.at("seq"), r.at("conversation"))
}

// renumber has a server number its next rows after those that were stored.
func (p *putting) renumber(ctx context.Context) error {
	if !p.c.distant() {
		return nil
	}
	for _, c := range tables() {
		if c.numbers == "" || !slices.Contains(putTables(), c.name) {
			continue
		}
		if _, err := many(ctx, p, scanInt, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', '%s'), GREATEST((SELECT COALESCE(max(%s), 0) + 1 FROM %s), nextval(pg_get_serial_sequence('%s', '%s'))), false)`,
			c.name, c.numbers, c.numbers, c.name, c.name, c.numbers)); err != nil {
			return err
		}
	}
	return nil
}
