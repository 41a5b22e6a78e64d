package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"fika/internal/llm/llmtest"
)

// fault is something that breaks while fika works. It returns how often it
// struck; a fault that never strikes proves nothing.
type fault struct {
	name   string
	config string
	strike func(*run) int
}

func faults() []fault {
	return []fault{
		{"kill-agent", "", func(r *run) int { return r.killing(agentWords("arya"), agentWords("gendry"), agentWords("hotpie")) }},
		{"kill-hub", "", func(r *run) int { return r.killing(hubWords) }},
		{"kill-all", "", func(r *run) int { return r.killing("") }},
		{"stop-agent", "", stopAgent},
		{"stop-owner", "[hub]\nautostart = false\n", func(r *run) int { return stopOwner(r, "", "") }},
		{"bus-gone", "", busGone},
		{"bus-deleted", "", busDeleted},
		{"bus-full", "", busFull},
		{"store-locked", "", storeLocked},
		{"store-full", "", storeFull},
		{"store-limit", "", storeLimit},
		{"store-readonly", "", storeReadOnly},
		{"provider", "", provider},
		{"clock", "", clock},
		{"tails", "", tails},
		{"power-bus", "", powerBus},
		{"power-store", "", powerStore},
		{"pause-in-model", "", pauseInModel},
		{"pause-in-tool", "", pauseInTool},
		{"pause-unpublished", "", pauseUnpublished},
		{"pause-without-hub", "[hub]\nautostart = false\n", pauseWithoutHub},
	}
}

// notHere is how often a fault struck that this machine cannot have.
const notHere = -1

// strikeAll runs every fault with its seeds.
func (o options) strikeAll(ctx context.Context, t *table) error {
	for _, f := range faults() {
		if !strings.HasPrefix(f.name, o.fault) {
			continue
		}
		out, err := o.strike(ctx, f, "")
		if err != nil {
			return err
		}
		out.bad = out.red > 0 || out.runs > 0 && (out.fired == 0 || out.done == 0)
		if out.runs == 0 {
			out.note = "not possible on this machine"
		}
		t.add(out)
	}
	return nil
}

// strike runs one fault once per seed, without one of the guards if one is
// named.
func (o options) strike(ctx context.Context, f fault, without string) (row, error) {
	out := row{kind: "fault", name: f.name}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.jobs)
	for i := range o.seeds {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := newRun(o.bin, o.dir, f.config, o.seed+uint64(i))
			if err != nil {
				return err
			}
			r.kills = 99 // faults strike at random: how often something is asked again is not theirs to say
			if err := r.tell("without", without); err != nil {
				return err
			}
			struck := f.strike(r)
			r.finish()
			c := r.counts()
			switch {
			case struck == notHere:
				return nil
			case struck > 0:
				c.fired = 1
			}
			note := o.clear(r)
			mu.Lock()
			defer mu.Unlock()
			out.counts.add(c)
			if note != "" && out.note == "" {
				out.note = fmt.Sprintf("seed %d: %s", o.seed+uint64(i), note)
			}
			return nil
		})
	}
	return out, g.Wait()
}

// pause waits a random time up to d.
func (r *run) pause(d time.Duration) {
	r.mu.Lock()
	d = time.Duration(r.rng.Int64N(int64(d)))
	r.mu.Unlock()
	time.Sleep(d)
}

// meanwhile does work beside f, then waits for both and for rest.
func (r *run) meanwhile(n int, f func() int) int {
	if !r.start() {
		return 0
	}
	var work sync.WaitGroup
	work.Go(func() { r.all(n) })
	struck := f()
	work.Wait()
	r.ask("ask", "arya", "read")
	r.settle()
	r.rest()
	return struck
}

// killing ends processes at random moments.
func (r *run) killing(words ...string) int {
	return r.meanwhile(8, func() (n int) {
		for range 3 {
			r.pause(300 * time.Millisecond)
			r.mu.Lock()
			w := words[r.rng.IntN(len(words))]
			r.mu.Unlock()
			n += r.signal(w, syscall.SIGKILL)
			if r.hubPID() == 0 {
				r.start()
			}
		}
		return n
	})
}

// stopAgent halts an agent for longer than its lease. On one home nobody takes
// over: the hub ends the one that hangs, and starts it again.
func stopAgent(r *run) int {
	hub := r.command(context.Background(), "up", "--foreground", "--hung", "1500ms")
	if err := hub.Start(); err != nil {
		r.bad("%v", err)
		return 0
	}
	defer func() { _ = hub.Wait() }()
	defer func() { r.fika("down") }()
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM agents WHERE state = 'idle'`)
		return err == nil && n >= 2
	})
	n := 0
	if r.rng.IntN(2) == 0 { // with the database's write lock in its hands
		_ = r.tell("plan", "commit-tool-step.before 1 stop")
		r.ask("ask", "arya", "bash", "long", "read")
		if wait(patience/4, func() bool { return r.passed("commit-tool-step.before") > 0 }) {
			n = 1
		}
	} else {
		r.begun(r.ask("ask", "arya", "bash", "long", "read"))
		r.pause(400 * time.Millisecond)
		n = r.signal(agentWords("arya"), syscall.SIGSTOP)
	}
	_ = r.tell("clock", "60000")
	r.ask("task", "gendry", "bash")
	r.settle()
	return n
}

// stopOwner halts one owner of an agent at a random step, lets a second take
// over (the flock is left out, the lease is over), and wakes the first while
// the second works, or after. The fence alone keeps them apart.
func stopOwner(r *run, point, more string) int {
	if point == "" {
		// Between transactions: within one it would keep the database for itself.
		all := []string{"claim.after", "commit-model-step.after", "begin-tool-step.after", "tool-start.before", "tool-exit", "commit-tool-step.after"}
		point = all[r.rng.IntN(len(all))]
	}
	_ = r.tell("without", "flock "+more)
	_ = r.tell("plan", point+" 1 stop")
	r.fika("context", "new", "arya")
	first := r.command(context.Background(), "agent", "run", "arya")
	if err := first.Start(); err != nil {
		r.bad("%v", err)
		return 0
	}
	r.start0()
	r.ask("ask", "arya", "bash", "list", "long")
	r.ask("task", "arya", "bash")
	struck := 0
	if wait(patience/4, func() bool { return r.passed(point) > 0 && halted(first.Process.Pid) }) {
		struck = 1
	}
	_ = r.tell("clock", "60000")
	second := r.command(context.Background(), "agent", "run", "arya")
	if err := second.Start(); err != nil {
		r.bad("%v", err)
	}
	early := r.rng.IntN(2) == 0 || more != ""
	if early {
		wait(patience/4, func() bool {
			n, err := r.number(`SELECT count(*) FROM agents WHERE name = 'arya' AND epoch > 1`)
			return err == nil && n > 0
		})
		r.pause(150 * time.Millisecond)
	} else {
		r.quiet()
	}
	_ = first.Process.Signal(syscall.SIGCONT)
	r.quiet()
	_ = first.Process.Signal(syscall.SIGTERM)
	_ = second.Process.Signal(syscall.SIGTERM)
	_, _ = first.Wait(), second.Wait()
	_ = r.tell("without", more) // one owner again, and a hub that publishes what came of it
	r.start()
	r.settle()
	return struck
}

// start0 notes the chat-free home as begun: its database exists.
func (r *run) start0() {
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM agents WHERE state = 'idle'`)
		return err == nil && n > 0
	})
}

// quiet waits until nothing is open, without starting anything.
func (r *run) quiet() {
	if !wait(patience/2, func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE finished_at = 0`)
		return err == nil && n == 0
	}) {
		r.bad("still open: %s", r.openWork())
	}
}

// halted reports whether a process is stopped.
func halted(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := string(data)[strings.LastIndex(string(data), ")")+1:]
	return strings.HasPrefix(strings.TrimSpace(rest), "T")
}

// busGone is a hub that does not answer, and then one that is not there.
func busGone(r *run) int {
	return r.meanwhile(8, func() (n int) {
		r.pause(200 * time.Millisecond)
		n += r.signal(hubWords, syscall.SIGSTOP)
		r.pause(2 * time.Second)
		r.signal(hubWords, syscall.SIGCONT)
		r.pause(300 * time.Millisecond)
		n += r.signal(hubWords, syscall.SIGKILL)
		r.pause(2 * time.Second)
		r.start()
		return n
	})
}

// busDeleted loses the folder of the bus between two hubs.
func busDeleted(r *run) int {
	return r.meanwhile(8, func() int {
		r.pause(200 * time.Millisecond)
		n := r.dark(func() { // nobody may start another hub meanwhile
			if err := os.RemoveAll(filepath.Join(r.root, "run", "jetstream")); err != nil {
				r.bad("%v", err)
			}
		})
		r.start()
		wire(r)
		return n
	})
}

// storeLocked is another program that keeps the database for itself.
func storeLocked(r *run) int {
	return r.meanwhile(8, func() (n int) {
		for range 2 {
			r.pause(300 * time.Millisecond)
			if release := r.lock(); release != nil {
				r.pause(1500 * time.Millisecond)
				release()
				n++
			}
		}
		return n
	})
}

// lock takes the write lock of the database.
func (r *run) lock() (release func()) {
	db, err := r.query()
	if err != nil {
		return nil
	}
	conn, err := db.Conn(context.Background())
	if err == nil {
		_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		r.bad("lock: %v", err)
		return nil
	}
	return func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		if err := errors.Join(err, conn.Close()); err != nil {
			r.bad("lock: %v", err)
		}
	}
}

// storeReadOnly is a database that may not be written for a while: work is
// refused with a reason, and none of it is half there.
func storeReadOnly(r *run) int {
	if !r.start() {
		return 0
	}
	r.ask("ask", "arya", "bash")
	r.settle()
	files, _ := filepath.Glob(filepath.Join(r.root, "fika.db*"))
	defer func() { _ = immutable(files, false) }()
	if err := immutable(files, true); err != nil {
		return notHere
	}
	if j := r.ask("ask", "arya"); j.accepted {
		r.bad("job %d was accepted by a database that cannot be written", j.id)
	}
	if err := immutable(files, false); err != nil {
		r.bad("%v", err)
	}
	r.ask("ask", "arya", "bash")
	r.settle()
	return 1
}

// provider is a model server that stalls, cuts, repeats and errs, and comes to
// itself.
func provider(r *run) int {
	_ = r.tell("pace", "200") // so that a stall is noticed soon
	struck := map[asked]int{}
	var total int
	var mu sync.Mutex
	r.model.fault = func(a asked) llmtest.Script {
		mu.Lock()
		defer mu.Unlock()
		if struck[a]++; struck[a] > 1 || r.rng.IntN(3) > 0 {
			return nil
		}
		total++
		return [...]llmtest.Script{
			{llmtest.Status(500, "overloaded", 0)},
			{llmtest.Status(429, "slow down", time.Second)},
			{llmtest.Text("ans"), llmtest.Cut()},
			{llmtest.Text("ans"), llmtest.Stall()},
			{llmtest.Stall()},
			{llmtest.Error("server_error", "sorry")},
			{llmtest.Call("x", "bash", `{"command": "echo beg`), llmtest.Cut()},
			append(r.model.script(a, r.planOf(a)), llmtest.NoDone()),
		}[r.rng.IntN(8)]
	}
	r.meanwhile(8, func() int { return 0 })
	return total
}

// planOf is the plan of the job that is asked about.
func (r *run) planOf(a asked) []hop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[a.job-1].plan
}

// clock goes back and forth by up to a day, leases included.
func clock(r *run) int {
	return r.meanwhile(8, func() int {
		for range 5 {
			r.pause(150 * time.Millisecond)
			r.mu.Lock()
			ms := r.rng.Int64N(2*86400_000) - 86400_000
			r.mu.Unlock()
			_ = r.tell("clock", fmt.Sprint(ms))
		}
		_ = r.tell("clock", "0")
		return 1
	})
}

// busFull is a hub that can write no more, and can again.
func busFull(r *run) int {
	return r.meanwhile(6, func() (n int) {
		r.pause(200 * time.Millisecond)
		hub := r.hubPID()
		if sizeLimit(hub, 64) != nil {
			return notHere
		}
		url := r.fika("status", "--show-bus").stdout
		j := r.new("wire", hop{"gendry", nil})
		j.request = "full"
		body := wireBody("task_request", "gendry", j)
		for range 3 { // whatever it says now, it may not say yes and forget
			j.accepted = r.publishTo(url, "gendry", body) || j.accepted
		}
		r.pause(2 * time.Second)
		if err := sizeLimit(hub, 0); err != nil {
			r.bad("%v", err)
		}
		if !r.publish("gendry", body) {
			r.bad("the bus does not come to itself when there is space again")
		}
		j.accepted = true
		return 1
	})
}

// storeFull is a disk without space under the database of everybody who runs.
func storeFull(r *run) int {
	return r.meanwhile(6, func() (n int) {
		r.pause(300 * time.Millisecond)
		pids := r.processes("")
		for pid := range pids {
			if err := sizeLimit(pid, 4096); errors.Is(err, syscall.EPERM) {
				return notHere
			}
		}
		r.pause(2 * time.Second)
		for pid := range r.processes("") {
			_ = sizeLimit(pid, 0)
		}
		return len(pids)
	})
}

// storeLimit is a database that has reached its largest size, and may grow
// again after a restart.
func storeLimit(r *run) int {
	if !r.start() {
		return 0
	}
	r.ask("ask", "arya", "read")
	r.settle()
	pages, err := r.number(`SELECT page_count FROM pragma_page_count`)
	if err != nil {
		r.bad("%v", err)
	}
	r.people("down")
	_ = r.tell("pages", fmt.Sprint(pages+3))
	r.start()
	refused := 0
	for range 20 {
		if j := r.ask("ask", "arya", "flood", "bash"); j.refused {
			refused++
		}
	}
	_ = r.tell("pages", "0")
	r.dark(func() {})
	r.settle()
	return refused
}

// tails cuts the ends of the mirror's and the stream's files off, as a file
// system may after a power failure.
func tails(r *run) int {
	if !r.start() {
		return 0
	}
	r.all(6)
	r.once("notes", "bash")
	wire(r)
	r.settle()
	cut := 0
	r.dark(func() {
		for _, pattern := range []string{"contexts/*/*.jsonl", "contexts/*/transcript.md", "contexts/*/context_meta.json", "run/jetstream/*/*/*/*/*", "run/jetstream/*/*/*/*/*/*", "run/jetstream/*/*/*/*/*/*/*"} {
			found, _ := filepath.Glob(filepath.Join(r.root, pattern))
			for _, path := range found {
				st, err := os.Stat(path)
				if err != nil || !st.Mode().IsRegular() || st.Size() == 0 || r.rng.IntN(2) == 0 {
					continue
				}
				if os.Truncate(path, st.Size()-min(st.Size(), 1+r.rng.Int64N(200))) == nil {
					cut++
				}
			}
		}
	})
	r.start()
	r.once("notes", "bash")
	r.ask("ask", "hotpie") // whoever opens a context mends it
	wire(r)
	r.settle()
	r.people("down")
	r.mirrors()
	return cut
}

// mirrors holds every context's plain-text copy against the database.
func (r *run) mirrors() {
	for _, name := range append([]string{"notes"}, agents...) {
		want, err := r.number(`SELECT count(*) FROM entries e JOIN conversations c ON c.id = e.conversation JOIN agents a ON a.id = c.agent WHERE a.name = ? AND c.kind = 'ask'`, name)
		if err != nil {
			r.bad("%v", err)
		}
		have := 0
		for _, file := range []string{"context.jsonl", "transcript_archive.jsonl"} {
			data, _ := os.ReadFile(filepath.Join(r.root, "contexts", name, file))
			have += strings.Count(string(data), "\n")
		}
		if have != want {
			r.bad("lost: the mirror of %s has %d entries, the database %d", name, have, want)
		}
	}
}
