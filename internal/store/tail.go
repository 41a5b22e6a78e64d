package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fika"
)

// Events reads what has been committed, in one order that is the same for all readers.
// The events of transactions that wait for each other's rows come in the order of their
// commits, so the entries of a conversation come by seq, and the states of a request as
// they followed each other.
type Events struct{ *db }

// Cursor is a place in the order of events: behind the one with its number and time. The
// zero value is before the oldest event that is kept.
type Cursor struct{ N, At int64 }

// String returns the cursor as programs keep it: "n.at", or "0".
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return "0"
	}
	return strconv.FormatInt(c.N, 10) + "." + strconv.FormatInt(c.At, 10)
}

// ParseCursor reads what [Cursor.String] returns. It fails with Invalid.
func ParseCursor(text string) (Cursor, error) {
	if text == "0" {
		return Cursor{}, nil
	}
	before, after, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(before, 10, 64)
	when, err2 := strconv.ParseInt(after, 10, 64)
	c := Cursor{n, when}
	if err != nil || err2 != nil || n <= 0 || c.String() != text {
		return Cursor{}, fika.Errorf(fika.Invalid, "read events", "%.40q is not a cursor: want 0 or what an earlier event had, such as 1024.1767225600000", text)
	}
	return c, nil
}

// ErrReset is in the chain of a Conflict error that means that the event of a cursor is
// not there: it was removed with age, or the database is another one, was restored, or
// lost its end in a failover. Whoever gets it reads the state of things anew.
var ErrReset = errors.New("reset")

const opEvents = "read events"

// Tail reads events from a cursor on. It needs no closing and is not safe for concurrent
// use.
//
// On a server, numbers are given before commits, so a number that is missing may still
// come. A Tail passes it once every transaction that could have it is over: those that
// held the lock of writers on the table when a later number was first seen. A writer that
// hangs delays readers, and nobody else.
type Tail struct {
	*db
	at    Cursor
	gap   *gap
	waits bool
}

// gap is what a reader has to wait for before it passes numbers that are missing.
type gap struct {
	upto    int64    // only numbers below it are meant
	holders []string // transactions that may still commit them
}

// Tail returns a reader that begins behind from.
func (s Events) Tail(from Cursor) *Tail { return &Tail{db: s.db, at: from} }

// Cursor returns where the reader is: behind the last event that Next returned.
func (t *Tail) Cursor() Cursor { return t.at }

// Waits reports whether the last Next saw events that it did not return, because others
// may still be committed before them. They are worth another look soon.
func (t *Tail) Waits() bool { return t.waits }

// Next returns the following events, at most most of them, with the text of entries if
// that is asked for; none if there are none yet, or none that are safe to pass to. It
// fails with Conflict and [ErrReset] if the cursor is not in this database any more.
func (t *Tail) Next(ctx context.Context, most int, text bool) ([]Event, error) {
	list, err := t.after(ctx, most, text)
	if err != nil {
		return nil, err
	}
	n, missing := t.passable(list, 0)
	if n < len(list) && !t.opt.passGaps {
		holders, err := t.holders(ctx)
		if err != nil {
			return nil, err
		}
		if t.gap == nil || missing >= t.gap.upto {
			t.gap = &gap{upto: list[len(list)-1].N, holders: holders}
		} else {
			t.gap.holders = slices.DeleteFunc(t.gap.holders, func(h string) bool { return !slices.Contains(holders, h) })
		}
		if len(t.gap.holders) == 0 { // what they have committed can be read now
			if list, err = t.after(ctx, most, text); err != nil {
				return nil, err
			}
			n, _ = t.passable(list, t.gap.upto)
		}
	} else {
		n = len(list)
	}
	t.waits = n < len(list)
	if list = list[:n]; n > 0 {
		t.at = list[n-1].Cursor()
	}
	return list, nil
}

// passable returns how many of the events come without a gap, or with gaps of numbers
// below upto only, and the first number that is missing behind them.
func (t *Tail) passable(list []Event, upto int64) (n int, missing int64) {
	last := t.at.N
	for i, e := range list {
		if e.N != last+1 && e.N > upto {
			return i, last + 1
		}
		last = e.N
	}
	return len(list), 0
}

// Cursor returns the place behind an event.
func (e Event) Cursor() Cursor { return Cursor{e.N, ms(e.At)} }

// after reads the events behind the reader's place, whatever is missing between them. The
// event of the place is read with them: were any behind it removed with age, it would be
// gone as well.
func (t *Tail) after(ctx context.Context, most int, text bool) ([]Event, error) {
	query, args, scan := selectEvents, []any{t.at.N, int64(most) + 1}, scanEvent
	if text {
		withText, decode := t.d.withText()
		query, args = withText, []any{t.nowMS(), t.at.N, int64(most) + 1}
		scan = func(s scanner) (Event, error) { return scanTextEvent(s, decode) }
	}
	list, err := many(ctx, t.r, scan, query, args...)
	if err != nil {
		return nil, t.explain(opEvents, err)
	}
	if t.at == (Cursor{}) {
		return list[:min(most, len(list))], nil
	}
	if len(list) == 0 || list[0].Cursor() != t.at {
		return nil, resetError(t.at)
	}
	return list[1:], nil
}

func resetError(c Cursor) error {
	return &fika.Error{Kind: fika.Conflict, Op: opEvents, Err: ErrReset,
		Msg: "the events behind " + c.String() + " are not all here: they were removed with age, or the database was restored or is another one; begin with the state of things, or with 0"}
}

// holders returns the transactions that may have given their events a number and are not
// over. On a file there are none: what others can read is all that was numbered.
func (s *db) holders(ctx context.Context) ([]string, error) {
	if s.file != nil {
		return nil, nil
	}
	list, err := many(ctx, s.r, scanText, `SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND relation = 'events'::regclass
AND mode = 'RowExclusiveLock' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	return list, s.explain(opEvents, err)
}

// confirmWindow is how many of the newest events Confirmed looks at.
const confirmWindow = 1000

// Confirmed returns a cursor behind which nothing is missed by whoever reads the state of
// things from now on and then the events behind it: what is committed before it is in the
// state. Events that are in the state may come again.
func (s Events) Confirmed(ctx context.Context) (Cursor, error) {
	list, err := many(ctx, s.r, func(sc scanner) (c Cursor, err error) { return c, sc.Scan(&c.N, &c.At) },
		`SELECT n, at FROM events ORDER BY n DESC LIMIT ?`, int64(confirmWindow))
	if err != nil || len(list) == 0 {
		return Cursor{}, s.explain(opEvents, err)
	}
	first := -1 // index of the row before the first gap
	for i := 1; i < len(list); i++ {
		if list[i].N != list[i-1].N-1 {
			first = i
		}
	}
	if first < 0 {
		return list[0], nil
	}
	// Once nobody is left who was writing then, what is missing never comes, or is in the
	// state that is read next.
	if holders, err := s.holders(ctx); err != nil || len(holders) == 0 {
		return list[0], err
	}
	return list[first], nil
}

const eventColumns = `ev.n, ev.at, ev.kind, ev.conversation, ev.request, ev.chain, ev.agent, ev.seq, ev.state, ev.data`

const selectEvents = byArguments + `SELECT ` + eventColumns + ` FROM events ev WHERE ev.n >= ? ORDER BY ev.n LIMIT ?`

// maxEventText bounds the text that comes with an event, in bytes.
const maxEventText = 64 << 10

// eventsWithText is the query for events with the entries that are there now; content and
// metadata are how the engine cuts them, as bytes, and size is the length of the content.
func eventsWithText(content, size, metadata string) string {
	return byArguments + `SELECT ` + eventColumns + `,
COALESCE(e.seq, 0), COALESCE(e.id, ''), COALESCE(e.at, 0), COALESCE(e.sender, ''), COALESCE(e.recipient, ''), COALESCE(e.type, ''), COALESCE(e.reply_to, ''), COALESCE(e.depth, 0),
` + content + `, COALESCE(` + size + `, 0), ` + metadata + `
FROM events ev LEFT JOIN entries e ON ev.kind = 'entry' AND e.conversation = ev.conversation AND e.seq = ev.seq
AND (e.expires_at = 0 OR e.expires_at > ? OR e.pinned = 1) WHERE ev.n >= ? ORDER BY ev.n LIMIT ?`
}

const maxText = `65536` // maxEventText

// withText cuts bytes, not characters: a text that holds U+0000 ends there for the
// functions of SQLite.
func (sqliteDialect) withText() (query string, decode func(string) string) {
	query = eventsWithText(`substr(CAST(e.content AS BLOB), 1, `+maxText+`)`, `length(CAST(e.content AS BLOB))`,
		`CASE WHEN length(CAST(e.metadata AS BLOB)) <= `+maxText+` THEN e.metadata ELSE '' END`)
	return query, func(s string) string { return s }
}

// withText does not cut a text in which something is escaped (see [escape]), since that
// could be cut in half.
func (*pgDialect) withText() (query string, decode func(string) string) {
	query = eventsWithText(`CASE WHEN octet_length(e.content) <= `+maxText+` OR strpos(e.content, chr(63743)) > 0 THEN convert_to(e.content, 'UTF8')
ELSE substr(convert_to(e.content, 'UTF8'), 1, `+maxText+`) END`, `octet_length(e.content)`, `CASE WHEN octet_length(e.metadata) <= `+maxText+` THEN e.metadata ELSE '' END`)
	return query, unescape
}

func scanTextEvent(s scanner, decode func(string) string) (Event, error) {
	var ev Event
	var e fika.Entry
	var when, entryAt, size int64
	var data string
	var content []byte
	var meta *string
	err := s.Scan(&ev.N, &when, &ev.Kind, &ev.Conversation, &ev.Request, &ev.Chain, &ev.Agent, &ev.Seq, &ev.State, &data,
		&e.Seq, &e.ID, &entryAt, &e.From, &e.To, &e.Type, &e.ReplyTo, &e.Depth, &content, &size, &meta)
	ev.At = at(when)
	if data != "" {
		ev.Data = json.RawMessage(data)
	}
	if err != nil || e.Seq == 0 {
		return ev, err
	}
	e.Conversation, e.Request, e.Chain, e.At = ev.Conversation, ev.Request, ev.Chain, at(entryAt)
	text := string(content)
	whole := int64(len(content)) == size
	if whole { // otherwise nothing in it is escaped
		text = decode(text)
		size = int64(len(text))
	}
	if e.Content = text; !whole || len(text) > maxEventText {
		e.Content = text[:cutAt(text, maxEventText)]
	}
	ev.Entry, ev.Cut = &e, int(size)-len(e.Content)
	if meta != nil && *meta != "" {
		err = json.Unmarshal([]byte(decode(*meta)), &e.Meta)
	}
	return ev, err
}

// cutAt returns how many bytes of a text, at most most, do not cut a character in half,
// whether or not the text goes on.
func cutAt(text string, most int) int {
	most = min(most, len(text))
	for n := most; n > max(0, most-utf8.UTFMax); n-- {
		if r, size := utf8.DecodeLastRuneInString(text[:n]); r != utf8.RuneError || size != 1 {
			return n
		}
	}
	return most // it is no UTF-8
}

const (
	// eventsKept is how long events are kept.
	eventsKept = 7 * 24 * time.Hour
	// maxEvents is how many are kept at most.
	maxEvents = 200_000
	// pruneBatch is how many one transaction removes: readers wait for it.
	pruneBatch = 1000
)

// Prune removes the events that are older than a week or beyond the newest 200,000, and
// keys that are older than 30 days, in at most the given number of small transactions.
// Of the events that are too old, the newest stays, so that a reader who has seen it
// finds its place.
func (s Events) Prune(ctx context.Context, batches int) error {
	const op = "prune events"
	for range batches {
		from, upto, keys, err := s.prunable(ctx)
		if err != nil || upto == 0 && keys == 0 {
			return s.explain(op, err)
		}
		err = s.writeRelaxed(ctx, op, func(ctx context.Context, t *tx) error {
			if err := t.put(ctx, `DELETE FROM events WHERE n >= ? AND n <= ?`, from, upto); err != nil {
				return err
			}
			return t.put(ctx, `DELETE FROM keys WHERE id IN (SELECT k.id FROM keys k WHERE k.at >= 0 AND k.at < ? ORDER BY k.at LIMIT ?)`, t.now-keysKept.Milliseconds(), int64(pruneBatch))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// prunable returns the first and the last event of the next batch to remove, or 0 as the
// last, and 1 if there are keys to remove. Conditions with two ends let a server that
// does not know the arguments use its indexes.
func (s Events) prunable(ctx context.Context) (from, upto, keys int64, err error) {
	var list []Cursor
	var newest int64
	now := s.nowMS()
	err = s.r.run(ctx,
		all(&list, func(sc scanner) (c Cursor, err error) { return c, sc.Scan(&c.N, &c.At) }, `SELECT n, at FROM events ORDER BY n LIMIT ?`, int64(pruneBatch)+1),
		first(&newest, nil, scanInt, `SELECT n FROM events ORDER BY n DESC LIMIT 1`),
		first(&keys, nil, scanInt, `SELECT 1 FROM keys k WHERE k.at >= 0 AND k.at < ? LIMIT 1`, now-keysKept.Milliseconds()))
	for i := 1; i < len(list); i++ {
		if list[i].At >= now-eventsKept.Milliseconds() && list[i-1].N > newest-maxEvents {
			break
		}
		from, upto = list[0].N, list[i-1].N
	}
	return from, upto, keys, err
}
