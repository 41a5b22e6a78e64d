package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fika/internal/llm/llmtest"
	"fika/internal/store/pgtest"
)

// startServer starts a PostgreSQL server whose data are on the disk of the homes, so
// that a commit costs the same there as here.
func (l *lab) startServer(parent string) error {
	bin := pgtest.Find()
	if bin == "" {
		return errors.New("no PostgreSQL server program is installed (apt-get install postgresql)")
	}
	if parent == "" {
		parent = os.TempDir()
	}
	server, err := pgtest.StartIn(parent, bin, "-c", "max_connections=200")
	if err != nil {
		return err
	}
	l.server = server
	return server.Exec(context.Background(), `CREATE ROLE fika LOGIN; GRANT CREATE ON DATABASE postgres TO fika`)
}

// database returns the URL of a new database on the server, reached through a socket
// in a folder.
func (l *lab) database(name, socket string) string {
	q := url.Values{"host": {socket}, "search_path": {"bench_" + strings.ReplaceAll(name, "-", "_")}}
	return "postgres://fika@/postgres?" + q.Encode()
}

// delay starts a relay in front of a server that delays what is sent to the server by
// d: a network of that round-trip time.
func (l *lab) delay(d time.Duration) (socket string, stop func(), err error) {
	dir, err := os.MkdirTemp("/tmp", "fika-delay-") // a socket's path is short
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(l.server.Dir, ".s.PGSQL.5432"))
			if err != nil {
				_ = client.Close()
				continue
			}
			go later(d, server, client)
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
	return dir, func() { _ = errors.Join(listener.Close(), os.RemoveAll(dir)) }, nil
}

// later copies each piece after a delay, and closes both connections at the end.
func later(d time.Duration, to, from net.Conn) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 64)
	go func() {
		defer close(pieces)
		for {
			data := make([]byte, 1<<16)
			n, err := from.Read(data)
			if n > 0 {
				pieces <- piece{time.Now().Add(d), data[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			_ = from.Close()
		}
	}
	_ = errors.Join(to.Close(), from.Close())
}

const network = time.Millisecond

// engines measures the same hop with the database in a file, on a server of this
// machine, and on one behind a network. The cost of the relay that simulates the
// network (it runs on the same cores) is measured separately.
func engines(ctx context.Context, l *lab) ([]result, error) {
	if l.server == nil {
		return nil, nil
	}
	relay, closeRelay, err := l.delay(0)
	if err != nil {
		return nil, err
	}
	defer closeRelay()
	far, closeFar, err := l.delay(network)
	if err != nil {
		return nil, err
	}
	defer closeFar()
	places := []struct{ name, url string }{
		{"file", ""}, {"server", l.database("engines_near", l.server.Dir)},
		{"relay", l.database("engines_relay", relay)}, {"network", l.database("engines_far", far)},
	}
	hops := make([]series, len(places))
	chains := make([]func() error, len(places))
	for i, p := range places {
		srv, err := serve(func(r llmtest.Request) llmtest.Script { return pingPong(r.N - 1) })
		if err != nil {
			return nil, err
		}
		defer srv.Close()
		h, err := l.homeAt("engines-"+p.name, srv.URL(), agents("arya", "gendry"), p.url)
		if err != nil {
			return nil, err
		}
		if _, _, err := h.start(ctx); err != nil {
			return nil, err
		}
		defer h.down()
		if _, _, err := h.run(ctx, "chat", "new", "bench"); err != nil {
			return nil, err
		}
		n := 0
		chains[i] = func() error {
			if _, _, err := h.run(ctx, "chat", "send", "bench", "@arya go"); err != nil {
				return err
			}
			n++
			return followChain(ctx, srv, (n-1)*(hopsPerChain+1), &hops[i])
		}
	}
	for len(hops[len(hops)-1].all) < l.rounds() {
		for _, chain := range chains {
			if err := chain(); err != nil {
				return nil, err
			}
		}
	}
	for i := range hops {
		hops[i].skip(l.warm)
	}
	near := compare("mention hop, database on a server of this machine", &hops[1], "the same in a file", &hops[0], 2.5)
	relayed := bound("mention hop, through a relay that adds nothing", &hops[2], 0)
	most := relayed.Fika.Median + 14
	distant := bound(fmt.Sprintf("mention hop, through one that adds %v to each round trip", network), &hops[3], 0)
	distant.goal(fmt.Sprintf("<= %.1f ms: what it is through the other relay, and 14 ms", most), distant.Fika.Median <= most)
	return []result{near, relayed, distant}, nil
}

// looking counts the queries that a hundred idle agents send to their server.
func looking(ctx context.Context, l *lab) ([]result, error) {
	if l.server == nil {
		return nil, nil
	}
	const many = 100
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	var names []string
	for i := range many {
		names = append(names, fmt.Sprintf("idle%03d", i))
	}
	// A server with default settings, with a hundred connections.
	own := &lab{fika: l.fika, dir: l.dir, n: l.n, warm: l.warm}
	if own.server, err = pgtest.StartIn(os.TempDir(), pgtest.Find(), "-c", "max_connections=100", "-c", "shared_preload_libraries=pg_stat_statements", "-c", "pg_stat_statements.track_utility=on"); err != nil {
		return nil, err
	}
	defer own.server.Close()
	if err := own.server.Exec(ctx, `CREATE EXTENSION pg_stat_statements; CREATE ROLE fika LOGIN; GRANT CREATE ON DATABASE postgres TO fika`); err != nil {
		return nil, err
	}
	h, err := own.homeAt("looking", srv.URL(), agents(names...), own.database("looking", own.server.Dir))
	if err != nil {
		return nil, err
	}
	// A hundred processes at once may take longer than up waits for them.
	_, took, _ := h.run(ctx, "up")
	defer h.down()
	for ready := int64(0); ready < many; {
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if ready, err = own.server.Number(ctx, `SELECT count(*) FROM bench_looking.agents WHERE state = 'idle'`); err != nil {
			return nil, err
		}
	}
	statements, connections := series{unit: "statements/s"}, series{unit: "connections"}
	last, at := 0.0, time.Time{}
	for range 6 {
		n, err := own.server.Number(ctx, `SELECT COALESCE(sum(s.calls), 0)::bigint FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname = 'fika'`)
		if err != nil {
			return nil, err
		}
		c, err := own.server.Number(ctx, `SELECT count(*) FROM pg_stat_activity WHERE usename = 'fika'`)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		if !at.IsZero() {
			statements.add((float64(n) - last) / now.Sub(at).Seconds())
			connections.add(float64(c))
		}
		last, at = float64(n), now
		if len(statements.all) == 0 { // the queries of the start are over
			if err := own.server.Exec(ctx, `SELECT pg_stat_statements_reset()`); err != nil {
				return nil, err
			}
			last = 0
		}
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	res := bound(fmt.Sprintf("%d idle agents and their hub, all they ask the server", many), &statements, 60)
	top, err := own.server.Texts(ctx, `SELECT calls || ' times ' || left(regexp_replace(query, '\s+', ' ', 'g'), 100) FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid
WHERE r.rolname = 'fika' ORDER BY calls DESC LIMIT 12`)
	if err != nil {
		return nil, err
	}
	for _, t := range top {
		res.note("%s", t)
	}
	res.note("up took %.1f s", took.Seconds())
	res.note("%.0f connections in the median, %.0f at most, of 100", connections.median(), connections.at(1))
	return []result{res}, nil
}
