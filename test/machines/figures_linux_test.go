package machines

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fika/internal/store/pgtest"
)

// TestFigures prints what several hosts cost, if FIGURES says how many idle agents there are
// to be on three hosts: hops between two hosts that are away from the servers by some
// latency, what the idle agents ask of the database, what they need, and how long it takes
// until one of them begins what it is asked.
func TestFigures(t *testing.T) {
	many, err := strconv.Atoi(os.Getenv("FIGURES"))
	if err != nil {
		t.Skip("skipped: FIGURES says how many agents there are (make machines FIGURES=1000)")
	}
	t.Run("hop", measureHops)
	t.Run("idle", func(t *testing.T) { measureIdle(t, many) })
}

// quantile returns the value below which a share of the values lies.
func quantile(all []float64, share float64) float64 {
	slices.Sort(all)
	return all[min(len(all)-1, int(share*float64(len(all))))]
}

// numbers returns what a query selects as numbers.
func (l *lab) numbers(query string) (out []float64) {
	l.Helper()
	for _, text := range l.find(query) {
		n, err := strconv.ParseFloat(text, 64)
		check(l.T, err)
		out = append(out, n)
	}
	return out
}

// thereAndBack returns how long the database takes to answer over a link with a delay, in
// milliseconds: timers make it more than the delay.
func (h *host) thereAndBack(delay time.Duration) float64 {
	h.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	check(h.T, err)
	defer in.Close()
	go func() {
		if c, err := in.Accept(); err == nil {
			splice(c, "unix", h.outside[0], delay)
		}
	}()
	conf, err := pgx.ParseConfig(h.url)
	check(h.T, err)
	conf.Host, conf.Port, conf.Fallbacks = "127.0.0.1", uint16(in.Addr().(*net.TCPAddr).Port), nil
	db, err := pgx.ConnectConfig(h.Context(), conf)
	check(h.T, err)
	defer db.Close(context.Background())
	var took []float64
	for range 100 {
		began := time.Now()
		_, err := db.Exec(h.Context(), ";")
		check(h.T, err)
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	return quantile(took, 0.5)
}

func measureHops(t *testing.T) {
	l := newLab(t, 2, "")
	near := 0.0 // a hop without a delay
	const hops = 10
	for i, h := range l.hosts {
		rules, err := os.ReadFile(filepath.Join(h.home, "rules.toml"))
		check(t, err)
		text := string(rules)
		for n := 1; n <= hops; n++ {
			text += fmt.Sprintf("[[rule]]\nmatch = \"hop %d$\"\nreply = \"@a%d hop %d\"\n", n, 2-i, n-1)
		}
		h.write("rules.toml", text)
		h.must("up")
	}
	for _, delay := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		self, err := os.Executable()
		check(t, err)
		for _, h := range l.hosts {
			check(t, h.pg.Process.Kill())
			check(t, h.nats.Process.Kill())
			l.until("the links are down", func() bool { return h.pg.Wait() != nil && h.nats.Wait() != nil })
			h.pg = h.link(self, "127.0.0.1:5432", h.outside[0], delay)
			h.nats = h.link(self, "127.0.0.1:4222", h.outside[1], delay)
		}
		for _, h := range l.hosts {
			for _, o := range l.hosts {
				h.must("ask", strings.Replace(o.name, "h", "a", 1), "hello") // all are connected again
			}
		}
		var took []float64
		for chain := range 12 {
			room := fmt.Sprintf("room%d-%d", delay.Milliseconds(), chain)
			l.hosts[0].must("chat", "create", room)
			l.hosts[0].must("chat", "send", room, fmt.Sprintf("@a1 hop %d", hops))
			l.hosts[0].must("chat", "wait", room)
			at := l.numbers(`SELECT e.at::text FROM entries e JOIN conversations c ON c.id = e.conversation WHERE c.name = '` + room + `' AND e.type = 'message' ORDER BY e.seq`)
			for n := 2; chain > 1 && n < len(at); n++ { // the first hop is from a person, and the first chains warm up
				took = append(took, at[n]-at[n-1])
			}
		}
		way, hop := l.hosts[0].thereAndBack(delay), quantile(took, 0.5)
		t.Logf("hop with %v of latency: median %.0f ms, quickest tenth %.0f ms, slowest tenth %.0f ms, of %d", delay, hop, quantile(took, 0.1), quantile(took, 0.9), len(took))
		if delay == 0 {
			near = hop
			continue
		}
		t.Logf("the database answers in %.1f ms: a hop is %.1f answers more than without a delay", way, (hop-near)/way)
	}
}

func measureIdle(t *testing.T, many int) {
	server, err := pgtest.StartIn(os.TempDir(), pgtest.Find(), "-c", fmt.Sprintf("max_connections=%d", 2*many+100), "-c", "shared_preload_libraries=pg_stat_statements")
	check(t, err)
	t.Cleanup(server.Close)
	check(t, server.Exec(t.Context(), `CREATE EXTENSION pg_stat_statements`))
	l := newLabOn(t, server.URL(), 3, func(host int) string {
		var text strings.Builder
		for i := range many / 3 {
			fmt.Fprintf(&text, "[[agents]]\nid = \"idle%d-%d\"\nauto_start = true\npersistent = true\n", host, i)
		}
		return text.String()
	})
	began := time.Now()
	for _, h := range l.hosts {
		h.run(h.home, "up") // that many processes at once may take longer than up waits for them
	}
	idle := func() float64 { return l.numbers(`SELECT count(*)::text FROM agents WHERE state = 'idle'`)[0] }
	for idle() < float64(many/3*3) {
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("%.0f of %d agents are up after ten minutes", idle(), many)
		}
		time.Sleep(time.Second)
	}
	t.Logf("%d agents are up after %.0f s", many/3*3, time.Since(began).Seconds())
	time.Sleep(time.Minute) // what they do at their start is over
	check(t, server.Exec(t.Context(), `SELECT pg_stat_statements_reset()`))
	const window = 30 * time.Second
	time.Sleep(window)
	asked := l.numbers(`SELECT sum(calls)::text FROM public.pg_stat_statements`)[0]
	top := l.find(`SELECT calls || ' times ' || left(regexp_replace(query, '\s+', ' ', 'g'), 90) FROM public.pg_stat_statements ORDER BY calls DESC LIMIT 8`)
	t.Logf("%.0f statements/s, on %.0f connections; in %v: %s", asked/window.Seconds(), l.numbers(`SELECT count(*)::text FROM pg_stat_activity`)[0], window, strings.Join(top, "\n\t"))
	var private []float64
	shared := 0.0
	for _, h := range l.hosts {
		for _, pid := range h.processes("agent run") {
			data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
			sum := 0.0
			for line := range strings.Lines(string(data)) {
				f := strings.Fields(line)
				if len(f) < 2 {
					continue
				}
				kb, _ := strconv.ParseFloat(f[1], 64)
				switch {
				case strings.HasPrefix(f[0], "Private_"):
					sum += kb
				case f[0] == "Pss:":
					shared += kb
				}
			}
			private = append(private, sum/1024)
		}
	}
	t.Logf("%d processes: %.1f MiB private in the median, %.1f GiB together", len(private), quantile(private, 0.5), shared/(1<<20))
	for i := range 100 {
		l.hosts[i%3].must("task", fmt.Sprintf("idle%d-%d", i%3+1, i*7%(many/3)), "hello")
	}
	waited := l.numbers(`SELECT (started_at - created_at)::text FROM requests WHERE started_at > 0`)
	t.Logf("from a request to its beginning: median %.0f ms, p99 %.0f ms, of %d", quantile(waited, 0.5), quantile(waited, 0.99), len(waited))
}
