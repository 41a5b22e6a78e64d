package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
)

// Kept is a kind of rows that the settings may let go after a time.
type Kept string

// The kinds of rows that retention knows, in the order in which they are looked at.
const (
	KeptChats    Kept = "chats"    // what was said in chats
	KeptContexts Kept = "contexts" // what is out of the window of contexts, and closed conversations of theirs
	KeptRequests Kept = "requests" // ended requests with their steps and approvals, and the conversations of tasks
	KeptUsage    Kept = "usage"    // what model calls have cost
)

// KeptKinds lists the kinds.
func KeptKinds() []Kept { return []Kept{KeptChats, KeptContexts, KeptRequests, KeptUsage} }

const (
	// keptRows is how many rows of its main table a batch holds at most, and keptBytes how
	// much text: one transaction removes them, and readers and writers wait for it.
	keptRows  = 1000
	keptBytes = 4 << 20
	// keptRequests is the same for requests, each of which has many rows.
	keptRequests = 50
)

// TableRows are rows of one table, as they are stored.
type TableRows struct {
	Table   string
	Columns []string
	Rows    [][]any // text, integers
}

// Batch is a number of old rows of one kind and one month, with what belongs to them.
type Batch struct {
	Kind  Kept
	Name  string         // of the conversation that the rows are in; empty: of several, or of none
	Month string         // "2026-01"
	Agent fika.AgentName // whose context the rows are of; empty: of none
	// Refers has rows that stay and that the others refer to: agents and conversations.
	Refers []TableRows
	Tables []TableRows // the rows that go, each table after those it refers to

	conversation fika.ConversationID
}

// Count returns how many rows a batch removes.
func (b Batch) Count() (n int) {
	for _, t := range b.Tables {
		n += len(t.Rows)
	}
	return n
}

// column returns the values of a column of one of the tables that go.
func (b Batch) column(table, column string) (out []any) {
	for _, t := range b.Tables {
		if i := slices.Index(t.Columns, column); t.Table == table && i >= 0 {
			for _, row := range t.Rows {
				out = append(out, row[i])
			}
		}
	}
	return out
}

// Retention finds old rows, and removes them once they are in an archive.
type Retention struct{ *db }

// Place is how far a search for old rows has come; the zero Place is its beginning.
type Place struct {
	conversation string
	n            int64 // seq of an entry, or number of a request; 0: after the whole conversation
}

// NextOld returns the next batch of rows of a kind that are older than a time, from a
// place on, and the place after it; a batch without rows means that there are no more.
// Left out is what is open or under way, and all that hangs on it: chats and contexts
// with unfinished requests, messages that somebody has yet to read, pinned entries,
// compactions, chains of which anything is unfinished, runs of workflows, and requests
// that were given up, because they can be retried.
func (s Retention) NextOld(ctx context.Context, kind Kept, before time.Time, from Place) (b Batch, next Place, err error) {
	err = s.e.snapshot(ctx, func(q querier) (err error) {
		switch kind {
		case KeptChats, KeptContexts:
			b, next, err = s.oldEntries(ctx, q, kind, ms(before), from)
		case KeptRequests:
			b, next, err = s.oldRequests(ctx, q, ms(before), from)
		default:
			b, err = s.oldUsage(ctx, q, ms(before))
		}
		if err == nil && len(b.Tables) > 0 {
			err = b.refer(ctx, q)
		}
		return err
	})
	b.Kind = kind
	return b, next, s.explain("read old rows", err)
}

const (
	// awaited is true of an entry that somebody has yet to read, or may retry.
	awaited = `EXISTS (SELECT 1 FROM notifications x WHERE x.conversation = e.conversation AND x.seq = e.seq AND x.state IN ('pending', 'claimed', 'dead'))`
	// goable is true of an entry that retention may remove.
	goable = `e.pinned = 0 AND e.type <> 'compaction'`
	// agedConversations finds the conversations whose oldest entry that may go is old.
	agedConversations = `SELECT c.id, c.name, COALESCE(a.active_ask, '') = c.id, COALESCE(a.name, '') FROM conversations c LEFT JOIN agents a ON a.id = c.agent
WHERE c.kind = ? AND (c.id > ? OR c.id = ?) AND c.created_at < ? AND ` + atRest + ` AND EXISTS (SELECT 1 FROM entries o
  WHERE o.conversation = c.id AND o.at < ? AND o.seq = (SELECT e.seq FROM entries e WHERE e.conversation = c.id AND ` + goable + ` ORDER BY e.seq LIMIT 1)) ORDER BY c.id LIMIT 1`
)

// aged is a conversation with old entries.
type aged struct {
	id     fika.ConversationID
	name   string
	active bool // it is the one that its agent's next ask continues
	agent  fika.AgentName
}

// oldEntries returns the oldest entries of the next conversation that has old ones: up to
// the first that is young, awaited, or in the window of its context.
func (s Retention) oldEntries(ctx context.Context, q querier, kind Kept, before int64, from Place) (b Batch, next Place, err error) {
	of := fika.Chat
	if kind == KeptContexts {
		of = fika.Ask
	}
	for next = from; ; {
		c, found, err := one(ctx, q, func(sc scanner) (c aged, err error) { return c, sc.Scan(&c.id, &c.name, flag{&c.active}, &c.agent) },
			agedConversations, of, next.conversation, next.continued(), before, before)
		if err != nil || !found {
			return b, next, err
		}
		if string(c.id) != next.continued() {
			next.n = 0
		}
		b = Batch{Name: c.name, Agent: c.agent, conversation: c.id}
		upto, kept := int64(1)<<62, map[int64]bool{}
		if kind == KeptContexts && c.active {
			cut, err := s.compaction(ctx, q, c.id)
			if err != nil {
				return b, next, err
			}
			upto = 0
			if cut != nil {
				upto = cut.Meta.UpTo
				for _, seq := range cut.Meta.Kept {
					kept[seq] = true
				}
			}
		}
		if err := b.addEntries(ctx, q, before, next.n, upto, kept); err != nil {
			return b, next, err
		}
		if next = (Place{conversation: string(c.id)}); len(b.Tables) > 0 {
			seqs := b.column("entries", "seq")
			next.n = number64(seqs[len(seqs)-1]) // the same conversation may have more
			return b, next, nil
		}
	}
}

// continued returns the conversation of which only a part was looked at; empty: none.
func (p Place) continued() string {
	if p.n == 0 {
		return ""
	}
	return p.conversation
}

// compaction returns the compaction that the window of people begins with; nil: none.
func (s Retention) compaction(ctx context.Context, q querier, c fika.ConversationID) (*fika.Entry, error) {
	list, err := many(ctx, q, scanEntry, selectEntry+` WHERE e.conversation = ? AND e.type = 'compaction' ORDER BY e.seq DESC`, c)
	if err != nil {
		return nil, err
	}
	undone := map[int64]bool{}
	for i, e := range list {
		switch {
		case e.Meta.View != "" || undone[e.Seq]:
		case e.Meta.Undo > 0:
			undone[e.Meta.Undo] = true
		case e.Meta.UpTo > 0:
			return &list[i], nil
		}
	}
	return nil, nil
}

// addEntries adds the oldest entries of a conversation with what was notified of them.
func (b *Batch) addEntries(ctx context.Context, q querier, before, since, upto int64, kept map[int64]bool) error {
	t := tableOf("entries")
	list, err := many(ctx, q, func(sc scanner) (r struct {
		row  []any
		wait bool
	}, err error) {
		r.row, err = scanRow(sc, len(t.columns), flag{&r.wait})
		return r, err
	}, `SELECT `+prefixed("e", t.columns)+`, `+awaited+` FROM entries e WHERE e.conversation = ? AND e.seq > ? AND e.seq <= ? AND `+goable+` ORDER BY e.seq LIMIT ?`, b.conversation, since, upto, int64(keptRows))
	if err != nil {
		return err
	}
	atColumn, seqColumn := slices.Index(t.columns, "at"), slices.Index(t.columns, "seq")
	rows, size := TableRows{Table: t.name, Columns: t.columns}, 0
	for _, r := range list {
		when := number64(r.row[atColumn])
		month := monthOf(when)
		if when >= before || r.wait || b.Month != "" && month != b.Month || size > keptBytes {
			break
		}
		for _, v := range r.row {
			if text, ok := v.(string); ok {
				size += len(text)
			}
		}
		if !kept[number64(r.row[seqColumn])] {
			b.Month = month
			rows.Rows = append(rows.Rows, r.row)
		}
	}
	if len(rows.Rows) == 0 {
		return nil
	}
	b.Tables = append(b.Tables, rows)
	seqs := b.column("entries", "seq")
	return b.add(ctx, q, "notifications", `conversation = ? AND seq >= ? AND seq <= ? AND seq IN (`+placeholders(len(seqs))+`)`,
		append([]any{b.conversation, seqs[0], seqs[len(seqs)-1]}, seqs...)...)
}

// add adds the rows of a table that match.
func (b *Batch) add(ctx context.Context, q querier, table, where string, args ...any) error {
	rows, err := readRows(ctx, q, table, where, args...)
	if err == nil && len(rows.Rows) > 0 {
		b.Tables = append(b.Tables, rows)
	}
	return err
}

// readRows reads the rows of a table that match, in the order of its key.
func readRows(ctx context.Context, q querier, table, where string, args ...any) (TableRows, error) {
	t := tableOf(table)
	list, err := many(ctx, q, func(sc scanner) ([]any, error) { return scanRow(sc, len(t.columns)) },
		`SELECT `+strings.Join(t.columns, ", ")+` FROM `+table+` WHERE `+where+` ORDER BY `+strings.Join(t.key, ", "), args...)
	return TableRows{Table: table, Columns: t.columns, Rows: list}, err
}

// scanRow scans n values as they are stored, and the columns after them into more.
func scanRow(sc scanner, n int, more ...any) ([]any, error) {
	row, dest := make([]any, n), make([]any, n, n+len(more))
	for i := range row {
		dest[i] = &row[i]
	}
	err := sc.Scan(append(dest, more...)...)
	for i, v := range row {
		if raw, ok := v.([]byte); ok {
			row[i] = string(raw)
		}
	}
	return row, err
}

// tableOf returns a table that is copied.
func tableOf(name string) copied {
	list := tables()
	return list[slices.IndexFunc(list, func(c copied) bool { return c.name == name })]
}

func prefixed(with string, columns []string) string {
	return with + "." + strings.Join(columns, ", "+with+".")
}

func number64(v any) int64 {
	n, _ := v.(int64)
	return n
}

func monthOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01") }

// endedRequests reads requests in the order in which they came, and whether each may go.
const endedRequests = `SELECT r.n, r.id, r.conversation, r.created_at, r.finished_at > 0 AND r.finished_at < ? AND r.state <> 'dead' AND (r.announced_at > 0 OR r.origin <> 'queued')
  AND c.run = '' AND NOT EXISTS (SELECT 1 FROM flow_runs f WHERE f.request = r.id)
  AND NOT EXISTS (SELECT 1 FROM requests o WHERE o.chain = r.chain AND (o.finished_at = 0 OR o.state = 'dead'))
  AND NOT EXISTS (SELECT 1 FROM requests o WHERE o.retry_of = r.id AND o.retry_of <> '' AND o.finished_at = 0)
  AND NOT EXISTS (SELECT 1 FROM notifications x WHERE x.request = r.id AND x.request <> '' AND x.state IN ('pending', 'claimed', 'dead')), c.kind
FROM requests r JOIN conversations c ON c.id = r.conversation WHERE r.n > ? ORDER BY r.n LIMIT ?`

// past is a request as the search for old ones sees it.
type past struct {
	n, created       int64
	id, conversation string
	kind             fika.ConversationKind
	may              bool
}

// oldRequests returns the next requests that ended long ago.
func (s Retention) oldRequests(ctx context.Context, q querier, before int64, from Place) (b Batch, next Place, err error) {
	var ids []any
	tasks := map[string]bool{}
	for next = from; len(ids) == 0; {
		list, err := many(ctx, q, func(sc scanner) (r past, err error) {
			return r, sc.Scan(&r.n, &r.id, &r.conversation, &r.created, flag{&r.may}, &r.kind)
		}, endedRequests, before, next.n, int64(keptRows))
		if err != nil || len(list) == 0 {
			return b, next, err
		}
		for _, r := range list {
			month := monthOf(r.created)
			if r.created >= before {
				if len(ids) == 0 {
					return b, next, nil
				}
				break
			}
			if len(ids) == keptRequests || r.may && b.Month != "" && month != b.Month {
				break
			}
			next.n = r.n
			if r.may {
				b.Month = month
				ids = append(ids, r.id)
				if r.kind == fika.Task {
					tasks[r.conversation] = true
				}
			}
		}
	}
	return b, next, b.addRequests(ctx, q, ids, tasks)
}

// addRequests adds requests with their rows, and the conversations of tasks of which no
// request is left.
func (b *Batch) addRequests(ctx context.Context, q querier, ids []any, tasks map[string]bool) error {
	in := `IN (` + placeholders(len(ids)) + `)`
	var over []any
	for _, c := range sortedKeys(tasks) {
		_, more, err := one(ctx, q, scanInt, `SELECT r.n FROM requests r WHERE r.conversation = ? AND r.id NOT `+in+` LIMIT 1`, append([]any{c}, ids...)...)
		if err != nil {
			return err
		}
		pinned, _, err := one(ctx, q, scanInt, `SELECT count(*) FROM entries e WHERE e.conversation = ? AND e.pinned <> 0`, c)
		if err != nil {
			return err
		}
		if !more && pinned == 0 {
			over = append(over, c)
		}
	}
	type part struct {
		table, where string
		args         []any
	}
	var parts []part
	if len(over) > 0 {
		of := ` IN (` + placeholders(len(over)) + `)`
		parts = append(parts, part{"conversations", "id" + of, over}, part{"participants", "conversation" + of, over},
			part{"entries", "conversation" + of, over}, part{"notifications", "conversation" + of, over})
	}
	parts = append(parts, part{"requests", "id " + in, ids}, part{"steps", "request " + in, ids}, part{"approvals", "request " + in, ids}, part{"executions", "request " + in, ids})
	for _, p := range parts {
		if err := b.add(ctx, q, p.table, p.where, p.args...); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// oldUsage returns the oldest rows of the ledger.
func (s Retention) oldUsage(ctx context.Context, q querier, before int64) (b Batch, err error) {
	first, found, err := one(ctx, q, scanInt, `SELECT u.at FROM usage u WHERE u.at < ? ORDER BY u.at LIMIT 1`, before)
	if err != nil || !found {
		return b, err
	}
	b.Month = monthOf(first)
	month, _ := time.Parse("2006-01", b.Month)
	upto := min(before, ms(month.AddDate(0, 1, 0)))
	t := tableOf("usage")
	list, err := many(ctx, q, func(sc scanner) ([]any, error) { return scanRow(sc, len(t.columns)) },
		`SELECT `+strings.Join(t.columns, ", ")+` FROM usage WHERE at < ? ORDER BY at, request, n LIMIT ?`, upto, int64(keptRows))
	b.Tables = []TableRows{{Table: "usage", Columns: t.columns, Rows: list}}
	return b, err
}

// CountOldUsage counts the rows of the ledger that are older than a time.
func (s Retention) CountOldUsage(ctx context.Context, before time.Time) (int, error) {
	n, _, err := one(ctx, s.r, scanInt, `SELECT count(*) FROM usage u WHERE u.at < ?`, ms(before))
	return int(n), s.explain("count old rows", err)
}

// refer adds the agents and conversations that the rows of a batch refer to.
func (b *Batch) refer(ctx context.Context, q querier) error {
	// Only what never changes of them: the same rows give the same archive.
	for _, ref := range []struct {
		column, table string
		columns       []string
	}{
		{"agent", "agents", []string{"id", "name", "home_id", "display_name", "description", "created_at"}},
		{"conversation", "conversations", []string{"id", "name", "kind", "agent", "created_at", "updated_at"}},
	} {
		var ids []any
		for _, t := range b.Tables {
			for _, v := range b.column(t.Table, ref.column) {
				if v != "" && !slices.Contains(ids, v) && !slices.Contains(b.column(ref.table, "id"), v) {
					ids = append(ids, v)
				}
			}
		}
		if len(ids) == 0 {
			continue
		}
		rows, err := readRows(ctx, q, ref.table, `id IN (`+placeholders(len(ids))+`)`, ids...)
		if err != nil {
			return err
		}
		b.Refers = append(b.Refers, rows.only(ref.columns))
	}
	return nil
}

// only returns the rows with fewer columns. What was updated when counts as when it was
// made.
func (r TableRows) only(columns []string) TableRows {
	out := TableRows{Table: r.Table, Columns: columns}
	for _, values := range r.Rows {
		row := make([]any, len(columns))
		for i, c := range columns {
			if c == "updated_at" {
				c = "created_at"
			}
			row[i] = values[slices.Index(r.Columns, c)]
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// errOther says that the rows of a batch are not any more what was read.
func errOther(op string) error {
	return fika.Errorf(fika.Conflict, op, "the rows have changed since they were read")
}

// Remove removes the rows of a batch in one transaction, and records the name of the
// archive that has them until [Retention.Settle]. It fails with Conflict, and removes
// nothing, if they have changed since they were read, or are needed again.
func (s Retention) Remove(ctx context.Context, b Batch, archive string) error {
	const op = "archive rows"
	return s.write(ctx, op, func(ctx context.Context, t *tx) error {
		var err error
		switch b.Kind {
		case KeptChats, KeptContexts:
			err = retainedIn(t).removeEntries(ctx, b)
		case KeptRequests:
			err = retainedIn(t).removeRequests(ctx, b)
		default:
			for _, row := range b.Tables[0].Rows {
				if err := t.put(ctx, `DELETE FROM usage WHERE request = ? AND n = ?`, row[0], row[1]); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
		return t.put(ctx, `INSERT INTO meta (key, value) VALUES (?, ?)`, archivedKey+archive, fmt.Sprint(t.now))
	})
}

// archivedKey begins the key in meta of an archive that is not in its place yet.
const archivedKey = "archived "

// retainedRows removes rows that an archive has.
type retainedRows struct{ *tx }

func retainedIn(t *tx) retainedRows { return retainedRows{t} }

// removeEntries removes entries of one conversation and their notifications.
func (t retainedRows) removeEntries(ctx context.Context, b Batch) error {
	c, err := conversationsIn(t.tx).lock(ctx, b.conversation)
	if err != nil {
		return err
	}
	_, rests, err := one(ctx, t, scanText, `SELECT c.id FROM conversations c WHERE c.id = ? AND `+atRest, c.ID)
	if err != nil {
		return err
	}
	seqs := b.column("entries", "seq")
	in := `seq IN (` + placeholders(len(seqs)) + `)`
	args := append([]any{c.ID}, seqs...)
	messages, _, err := one(ctx, t, scanInt, `SELECT count(*) FROM entries WHERE conversation = ? AND `+in+` AND type = 'message'`, args...)
	if err != nil {
		return err
	}
	if ids := b.column("notifications", "id"); len(ids) > 0 {
		n, err := t.exec(ctx, `DELETE FROM notifications WHERE id IN (`+placeholders(len(ids))+`) AND state NOT IN ('pending', 'claimed', 'dead')`, ids...)
		if err == nil && n != int64(len(ids)) {
			err = errOther("archive rows")
		}
		if err != nil {
			return err
		}
	}
	n, err := t.exec(ctx, `DELETE FROM entries AS e WHERE e.conversation = ? AND e.`+in+` AND `+goable+` AND NOT `+awaited, args...)
	if err == nil && (!rests || n != int64(len(seqs))) {
		err = errOther("archive rows")
	}
	if err != nil {
		return err
	}
	last := number64(seqs[len(seqs)-1])
	t.tell(event{kind: ConversationEvent, conversation: c.ID, state: string(c.Status), data: EventData{Removed: n}})
	return t.put(ctx, `UPDATE conversations SET messages = messages - ?, archived_to = CASE WHEN archived_to < ? THEN ? ELSE archived_to END WHERE id = ?`, messages, last, last, c.ID)
}

// removeRequests removes requests with their rows, and conversations of tasks with all
// that is in them.
func (t retainedRows) removeRequests(ctx context.Context, b Batch) error {
	ids := b.column("requests", "id")
	in := `IN (` + placeholders(len(ids)) + `)`
	if err := t.lockAll(ctx, `SELECT r.id FROM requests r WHERE r.id `+in+` ORDER BY r.n`+lockRequest, ids...); err != nil {
		return err
	}
	for _, c := range b.column("conversations", "id") {
		_, more, err := one(ctx, t, scanInt, `SELECT r.n FROM requests r WHERE r.conversation = ? AND r.id NOT `+in+` LIMIT 1`, append([]any{c}, ids...)...)
		if err != nil {
			return err
		}
		if more {
			return errOther("archive rows")
		}
	}
	n, err := t.exec(ctx, `DELETE FROM requests WHERE id `+in+` AND finished_at > 0 AND NOT EXISTS (
SELECT 1 FROM requests o WHERE o.retry_of = requests.id AND o.retry_of <> '' AND o.finished_at = 0)`, ids...)
	if err == nil && n != int64(len(ids)) {
		err = errOther("archive rows")
	}
	if err != nil {
		return err
	}
	if over := b.column("conversations", "id"); len(over) > 0 {
		_, err = t.tellConversations(ctx, Deleted, `DELETE FROM conversations WHERE id IN (`+placeholders(len(over))+`)`, over...)
	}
	return err
}

// Removed lists the archives whose rows were removed and that [Retention.Settle] has not
// been called for.
func (s Retention) Removed(ctx context.Context) ([]string, error) {
	list, err := many(ctx, s.r, scanText, `SELECT key FROM meta WHERE key >= ? AND key < ? ORDER BY key`, archivedKey, archivedKey+"\U0010ffff")
	for i, key := range list {
		list[i] = strings.TrimPrefix(key, archivedKey)
	}
	return list, s.explain("read archives", err)
}

// Settle forgets an archive that is in its place.
func (s Retention) Settle(ctx context.Context, archive string) error {
	return s.writeRelaxed(ctx, "settle archive", func(ctx context.Context, t *tx) error {
		return t.put(ctx, `DELETE FROM meta WHERE key = ?`, archivedKey+archive)
	})
}
