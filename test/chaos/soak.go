package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	soakAgents = 20
	soakChats  = 10
)

// soakFor is a long evening: 20 agents at 10 tables, with pauses and kills at random.
// In the end every answer is there once, no process has grown, and the spending that
// fika reports agrees with the ledger.
func (o options) soakFor(ctx context.Context, t *table) error {
	var names []string
	var more strings.Builder
	for i := range soakAgents {
		names = append(names, fmt.Sprintf("guest%02d", i))
	}
	r, err := o.newRun("", o.seed)
	if err != nil {
		return err
	}
	// With a small window, what a turn holds is the same after a minute as after
	// an hour.
	fmt.Fprintf(&more, "\n[[models]]\nid = \"small\"\nprovider = \"openai\"\nbase_url = %q\ncontext_window = 8000\n", r.models.URL())
	for _, n := range names {
		fmt.Fprintf(&more, "\n[[agents]]\nid = %q\nmodel = \"small\"\nauto_start = true\npersistent = true\ntool_permissions = [\"bash\", \"read\", \"list\"]\n", n)
	}
	path := filepath.Join(r.root, "config.toml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, more.String()...), 0o600)
	}
	if err != nil {
		return err
	}
	r.kills = 1 << 20
	_ = r.tell("pace", "1") // the ordinary pace
	if !r.start() {
		return fmt.Errorf("soak: %s", r.wrong[0])
	}
	ctx, cancel := context.WithTimeout(ctx, o.soak)
	defer cancel()
	var busy sync.WaitGroup
	var kills, pauses int
	var sizes []float64
	for c := range soakChats {
		busy.Go(func() { r.table(ctx, fmt.Sprintf("table-%d", c), names[2*c], names[2*c+1]) })
	}
	busy.Go(func() { kills = r.trouble(ctx, names) })
	busy.Go(func() { pauses = r.pauses(ctx) })
	busy.Go(func() { sizes = r.sizes(ctx) })
	busy.Wait()
	r.settle()
	r.rest()
	r.finish()
	figures := r.figures()
	c := r.counts()
	c.fired = kills
	out := row{kind: "soak", name: fmt.Sprintf("%d agents, %d chats, %s", soakAgents, soakChats, o.soak), counts: c}
	second, last := quarter(sizes, 1), quarter(sizes, 3)
	out.note = fmt.Sprintf("%d kills, %d pauses, RssAnon %.2f MiB then %.2f MiB per process (x %.3f); %s %s", kills, pauses, second/1024, last/1024, last/second, figures, o.clear(r))
	out.bad = c.red > 0 || c.done == 0 || kills == 0 || !(last <= 1.1*second)
	t.add(out)
	return nil
}

// table keeps two agents talking: one chain after the other.
func (r *run) table(ctx context.Context, name, a, b string) {
	r.people("chat", "create", name)
	for ctx.Err() == nil {
		plan := []hop{{a, nil}, {b, nil}, {a, nil}, {b, nil}}
		plan[r.rng.IntN(len(plan))].tools = []string{[]string{"bash", "list"}[r.rng.IntN(2)]}
		j := r.new("chat", plan...)
		j.chat = name
		r.say(j)
		for end := fmt.Sprintf("answer %d hop %d", j.id, len(plan)-1); j.accepted && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if n, err := r.number(`SELECT count(*) FROM entries WHERE content = ?`, end); err == nil && n > 0 {
				break
			}
		}
	}
}

// trouble kills an agent or the hub now and then.
func (r *run) trouble(ctx context.Context, names []string) (kills int) {
	for ctx.Err() == nil {
		r.pause(4 * time.Second)
		words := agentWords(names[r.rng.IntN(len(names))])
		if r.rng.IntN(8) == 0 {
			words = hubWords
		}
		kills += r.signal(words, syscall.SIGKILL)
		if r.hubPID() == 0 {
			r.start()
		}
	}
	return kills
}

// pauses pauses one chat, or all, and resumes.
func (r *run) pauses(ctx context.Context) (n int) {
	for ctx.Err() == nil {
		r.pause(6 * time.Second)
		which := fmt.Sprintf("table-%d", r.rng.IntN(soakChats))
		if r.rng.IntN(5) == 0 {
			which = "--all"
		}
		if r.fika("chat", "pause", which).code == 0 {
			n++
		}
		r.pause(time.Second)
		r.people("chat", "resume", which)
	}
	return n
}

// sizes samples, once a second, the average private memory of the home's processes in
// KiB.
func (r *run) sizes(ctx context.Context) (all []float64) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return all
		case <-every.C:
		}
		sum, n := 0, 0
		for _, words := range []string{hubWords, "agent run --by-hub"} {
			for pid := range r.processes(words) {
				if kib := private(pid); kib > 0 {
					sum, n = sum+kib, n+1
				}
			}
		}
		if n > 0 {
			all = append(all, float64(sum)/float64(n))
		}
	}
}

// private returns RssAnon of a process in KiB.
func private(pid int) (kib int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			_, _ = fmt.Sscan(rest, &kib)
		}
	}
	return kib
}

// quarter returns the median of the n-th quarter of a series.
func quarter(all []float64, n int) float64 {
	part := slices.Clone(all[n*len(all)/4 : (n+1)*len(all)/4])
	if len(part) == 0 {
		return 0
	}
	slices.Sort(part)
	return part[len(part)/2]
}
