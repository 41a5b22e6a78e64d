package store

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fika/internal/system/sleep"
)

// postgres is the engine of a schema on a PostgreSQL server, with at most [poolSize]
// connections, which are closed after each use while the server is crowded.
type postgres struct {
	d      dialect
	pool   *pgxpool.Pool
	wait   time.Duration // how long a read waits for a server that is gone
	try    time.Duration // how long one try of a read waits for an answer
	server *acquaintance
	stays  bool // connections are kept while the server is crowded
}

// poolSize is the maximum number of connections per process: one that writes and two
// that read meanwhile. Mostly one is enough.
const poolSize = 3

func (e *postgres) writer(ctx context.Context) (conn, error) {
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &pgConn{e.d, c}, nil
}

// done gives a connection back for the next caller. It closes the connection if that
// broke, or if the server is crowded.
func (e *postgres) done(c conn, err error) {
	pc := c.(*pgConn)
	broke := err != nil && e.d.fault(err) == faultConn
	if broke {
		e.server.forget()
	}
	if broke || e.server.isCrowded() && !e.stays {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = pc.c.Conn().Close(ctx)
	}
	pc.c.Release() // the pool discards a connection that is closed or in a transaction
}

// run reads, and tries again while the server is gone or busy.
func (e *postgres) run(ctx context.Context, list ...statement) error {
	deadline := time.Now().Add(e.wait)
	for {
		err := e.read(ctx, list)
		f := e.d.fault(err)
		if err == nil || ctx.Err() != nil || f != faultConn && f != faultBusy || time.Now().After(deadline) {
			return err
		}
		if err := sleep.For(ctx, goneWait); err != nil {
			return err
		}
	}
}

func (e *postgres) read(ctx context.Context, list []statement) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.try, errSilent)
	defer cancel()
	c, err := e.writer(ctx)
	if err == nil {
		err = c.run(ctx, list...)
		e.done(c, err)
	}
	return silence(ctx, err)
}

// snapshot lets fn read in a transaction of its own.
func (e *postgres) snapshot(ctx context.Context, fn func(querier) error) error {
	c, err := e.writer(ctx)
	if err != nil {
		return err
	}
	if err = c.run(ctx, statement{text: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`}); err == nil {
		err = fn(c)
		err = errors.Join(err, c.run(context.WithoutCancel(ctx), statement{text: `ROLLBACK`}))
	}
	e.done(c, err)
	return err
}

func (e *postgres) close() error {
	e.pool.Close()
	return nil
}

// pgConn is one connection of the pool.
type pgConn struct {
	d dialect
	c *pgxpool.Conn
}

func (c *pgConn) distant() bool { return true }

// beginning begins a transaction in which each statement sees what is committed by
// then. A relaxed one does not wait for the server's disk.
func (c *pgConn) beginning(d durability) []statement {
	begin := []statement{{text: `BEGIN ISOLATION LEVEL READ COMMITTED`}}
	if d == relaxed {
		begin = append(begin, statement{text: `SET LOCAL synchronous_commit = off`})
	}
	return begin
}

// byArguments begins a text that the server plans anew each time, because the
// quickest plan depends on the arguments. It plans other texts once per connection,
// since planning costs as much as running them.
const byArguments = `/* by arguments */ `

// planned encloses each text that begins with byArguments in statements that have it
// planned anew.
func planned(list []statement) []statement {
	var out []statement
	for _, st := range list {
		if strings.HasPrefix(st.text, byArguments) {
			out = append(out, statement{text: `SET plan_cache_mode = force_custom_plan`}, st, statement{text: `SET plan_cache_mode = ` + planOnce})
			continue
		}
		out = append(out, st)
	}
	return out
}

const planOnce = `force_generic_plan`

// run sends all statements at once and reads their answers in order.
func (c *pgConn) run(ctx context.Context, list ...statement) error {
	batch := &pgx.Batch{}
	list = planned(list)
	for _, st := range list {
		batch.Queue(c.d.rebind(st.text), pgArgs(st.args)...)
	}
	results := c.c.SendBatch(ctx, batch)
	for _, st := range list {
		if err := answer(results, st); err != nil {
			_ = results.Close()
			return err
		}
	}
	return results.Close()
}

func answer(results pgx.BatchResults, st statement) error {
	if st.read == nil {
		tag, err := results.Exec()
		if err == nil && st.hit != nil {
			*st.hit = tag.RowsAffected()
		}
		return err
	}
	found, err := results.Query()
	if err != nil {
		return err
	}
	err = st.read(pgRows{found})
	found.Close()
	return errors.Join(err, found.Err())
}

// pgArgs converts arguments to the types of the columns: text, integers, bytes.
func pgArgs(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			out[i] = escape(a)
		case int64, []byte, nil:
			out[i] = a
		default:
			out[i] = plain(reflect.ValueOf(a))
		}
	}
	return out
}

func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.String:
		return escape(v.String())
	case reflect.Int, reflect.Int64, reflect.Int32:
		return v.Int()
	case reflect.Bool:
		return number(v.Bool())
	default:
		return v.Interface()
	}
}

// pgRows are rows whose text is unescaped.
type pgRows struct{ pgx.Rows }

// Scan implements [scanner].
func (r pgRows) Scan(dest ...any) error {
	into := make([]any, len(dest))
	texts := make([]*string, len(dest))
	numbers := make([]*int64, len(dest))
	for i, d := range dest {
		into[i] = d
		switch d.(type) {
		case *int64, *any, *[]byte, sql.Scanner, *sql.RawBytes:
			continue
		}
		switch reflect.TypeOf(d).Elem().Kind() {
		case reflect.String:
			texts[i] = new(string)
			into[i] = texts[i]
		case reflect.Int, reflect.Int64, reflect.Int32:
			numbers[i] = new(int64)
			into[i] = numbers[i]
		}
	}
	if err := r.Rows.Scan(into...); err != nil {
		return err
	}
	for i, d := range dest {
		if v, ok := d.(*any); ok {
			if text, ok := (*v).(string); ok {
				*v = unescape(text)
			}
		}
		if texts[i] != nil {
			reflect.ValueOf(d).Elem().SetString(unescape(*texts[i]))
		}
		if numbers[i] != nil {
			reflect.ValueOf(d).Elem().SetInt(*numbers[i])
		}
	}
	return nil
}

// pgDialect speaks PostgreSQL.
type pgDialect struct{ texts sync.Map }

// rebind numbers the arguments. It leaves text between quotes alone.
func (d *pgDialect) rebind(query string) string {
	if known, ok := d.texts.Load(query); ok {
		return known.(string)
	}
	var b strings.Builder
	n := 0
	quoted := false
	for _, r := range query {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == '?' && !quoted:
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	d.texts.Store(query, b.String())
	return b.String()
}

// matching returns a query for all the words that were typed.
func (*pgDialect) matching(words string) (query, arg string) {
	if arg = wordsQuery(words); arg == "" {
		return "", ""
	}
	return searchPostgres, arg
}

const searchPostgres = byArguments + `SELECT ` + entryColumns + `, e.n, c.name
FROM entries e
JOIN conversations c ON c.id = e.conversation
WHERE e.words @@ CAST(CAST(? AS TEXT) AS tsquery) AND e.n < ?
  AND (e.expires_at = 0 OR e.expires_at > ? OR e.pinned = 1)
  AND (? = '' OR c.kind = ?)
  AND (? = '' OR c.agent = ? OR EXISTS (SELECT 1 FROM participants p WHERE p.conversation = c.id AND p.agent = ?))
ORDER BY e.n DESC LIMIT ?`
