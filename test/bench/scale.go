package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fika/internal/llm/llmtest"
)

const (
	fewEntries  = 1_000
	manyEntries = 1_000_000
	indexing    = 8 * time.Second // several looks of a hub
	solo        = "hi"            // addressed to nobody in the chat
)

// scaleHome is a store of some size, with a hub and two agents.
type scaleHome struct {
	*home
	srv *llmtest.Server
	seq int64 // last of the big chat before the measurements
}

// scale does the same in a store of a million entries, a hundred thousand of them in
// one chat, and in one of a thousand entries, a hundred of them in that chat: sample
// by sample, in turns. Both have the same number of chats.
func scale(ctx context.Context, l *lab) ([]result, error) {
	if l.server != nil {
		return nil, nil // it is made by writing a file
	}
	var few, many *scaleHome
	notes := []string{}
	for _, x := range []struct {
		to      **scaleHome
		name    string
		entries int
	}{{&few, "few", fewEntries}, {&many, "many", manyEntries}} {
		started := time.Now()
		h, err := l.scaleHome(ctx, x.name, x.entries)
		if err != nil {
			return nil, err
		}
		defer h.srv.Close()
		defer h.down()
		*x.to = h
		info, err := os.Stat(filepath.Join(h.root, "fika.db"))
		if err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("%d entries, %d of them in the chat: %d MiB, made in %.1f s", x.entries, x.entries/10, info.Size()>>20, time.Since(started).Seconds()))
	}
	p := pair{ctx: ctx, lab: l, few: few, many: many}
	p.offline()
	p.ups()
	p.online()
	p.hops()
	if p.err != nil {
		return p.out, p.err
	}
	p.out[0].Notes = append(p.out[0].Notes, notes...)
	return p.out, nil
}

func (l *lab) scaleHome(ctx context.Context, name string, entries int) (*scaleHome, error) {
	var hops atomic.Int64
	srv, err := serve(func(r llmtest.Request) llmtest.Script {
		if last := r.Messages[len(r.Messages)-1]; last.Text == solo {
			return hello(r)
		}
		return pingPong(int(hops.Add(1)) - 1)
	})
	if err != nil {
		return nil, err
	}
	h, err := l.home("scale-"+name, srv.URL(), agents("arya", "gendry"))
	if err == nil {
		_, _, err = h.start(ctx)
	}
	if err == nil {
		_, _, err = h.run(ctx, "chat", "new", bigChat)
	}
	if err == nil {
		_, _, err = h.run(ctx, "down")
	}
	if err == nil {
		err = h.grow(ctx, entries)
	}
	return &scaleHome{home: h, srv: srv, seq: int64(entries / 10)}, err
}

// pair is two stores and the measurements in them. After an error nothing more is
// done.
type pair struct {
	ctx       context.Context
	lab       *lab
	few, many *scaleHome
	out       []result
	err       error
}

// both takes a sample in each store, alternating which comes first.
func (p *pair) both(name string, sample func(*scaleHome) (time.Duration, error)) {
	if p.err != nil {
		return
	}
	var few, many series
	for i := range p.lab.rounds() {
		order := []*scaleHome{p.few, p.many}
		if i%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, h := range order {
			took, err := sample(h)
			if err != nil {
				p.err = fmt.Errorf("%s: %w", name, err)
				return
			}
			if h == p.few {
				few.took(took)
			} else {
				many.took(took)
			}
		}
	}
	p.compare(name, &few, &many)
}

func (p *pair) compare(name string, few, many *series) {
	few.skip(p.lab.warm)
	many.skip(p.lab.warm)
	p.out = append(p.out, compare(name+", 1,000,000 entries", many, "the same with 1,000 entries", few, 1.5))
}

// command measures whole processes.
func (p *pair) command(name string, check func(*scaleHome, string) error, args func(*scaleHome) []string) {
	p.both(name, func(h *scaleHome) (time.Duration, error) {
		out, took, err := h.run(p.ctx, args(h)...)
		if err == nil && check != nil {
			err = check(h, out)
		}
		return took, err
	})
}

func same(args ...string) func(*scaleHome) []string {
	return func(*scaleHome) []string { return args }
}

// lines returns a check that the output has n lines.
func lines(n int) func(*scaleHome, string) error {
	return func(_ *scaleHome, out string) error {
		if got := strings.Count(out, "\n"); got != n {
			return fmt.Errorf("%d lines, not %d: %.200s", got, n, out)
		}
		return nil
	}
}

// offline measures what needs no hub.
func (p *pair) offline() {
	// The compaction, and half of what was before: tools are not shown.
	p.command("fika chat view --since, 21 rows", lines(21), func(h *scaleHome) []string {
		return []string{"chat", "view", bigChat, "--since", strconv.FormatInt(h.seq-40, 10)}
	})
	p.command("fika chat view --limit 20", lines(20), same("chat", "view", bigChat, "--limit", "20"))
	p.command("fika chat list, 101 chats", lines(102), same("chat", "list"))
	p.command("fika request list", nil, same("request", "list"))
	p.command("fika request list --state open", nil, same("request", "list", "--state", "open"))
	p.command("fika chat queue", nil, same("chat", "queue", bigChat))
	p.command("fika run, another conversation", nil, same("run", "-c", "solo", solo))
}

// ups measures starting and stopping the hubs. Afterwards they run.
func (p *pair) ups() {
	p.both("fika up, two agents ready", func(h *scaleHome) (time.Duration, error) {
		if _, _, err := h.run(p.ctx, "down"); err != nil {
			return 0, err
		}
		_, took, err := h.start(p.ctx)
		return took, err
	})
}

// online measures what is done with a hub.
func (p *pair) online() {
	p.command("fika chat send", nil, same("chat", "send", bigChat, "a word to everybody, and nobody in particular"))
	p.command("fika chat wait --until-idle", nil, same("chat", "wait", bigChat, "--until-idle"))
	p.command("fika status", nil, same("status"))
}

// hops measures turns in the big chat: from one agent's answer to the other's request,
// with the same window.
func (p *pair) hops() {
	if p.err != nil {
		return
	}
	var few, many series
	for len(few.all) < 3*p.lab.rounds() { // they are fast
		for _, x := range []struct {
			h *scaleHome
			s *series
		}{{p.few, &few}, {p.many, &many}} {
			if p.err = x.h.chain(p.ctx, x.s); p.err != nil {
				return
			}
		}
	}
	a, b := p.few.lastWindow(), p.many.lastWindow()
	if a != b {
		p.err = fmt.Errorf("the windows differ: %d and %d messages", a, b)
		return
	}
	p.compare(fmt.Sprintf("a turn in the chat: answer, claim, a window of %d messages", a), &few, &many)
	p.unindexed(&many)
}

// unindexed lets the large store forget its index of words, as if all entries had just
// been imported, and measures turns while its hub indexes them.
func (p *pair) unindexed(usual *series) {
	if _, _, p.err = p.many.run(p.ctx, "down"); p.err != nil {
		return
	}
	if p.err = p.many.forgetWords(p.ctx); p.err != nil {
		return
	}
	if _, p.err = p.many.cutWindow(p.ctx, int64(windowKept+p.lab.rounds())); p.err != nil { // as long as it was when that began
		return
	}
	if _, _, p.err = p.many.start(p.ctx); p.err != nil {
		return
	}
	var late series
	for len(late.all) < len(usual.all)+p.lab.warm {
		if p.err = p.many.chain(p.ctx, &late); p.err != nil {
			return
		}
		select {
		case <-time.After(indexing / time.Duration(len(usual.all)/hopsPerChain)):
		case <-p.ctx.Done():
			p.err = p.ctx.Err()
			return
		}
	}
	late.skip(p.lab.warm)
	var known int64
	if known, p.err = p.many.wordsKnown(p.ctx); p.err != nil {
		return
	}
	r := compare("the same while all words wait to be indexed", &late, "when they are", usual, 1.5)
	r.note("%d entries were taken into the index meanwhile", known)
	p.out = append(p.out, r)
}

// chain lets the agents mention each other ten times.
func (h *scaleHome) chain(ctx context.Context, s *series) error {
	first := len(h.srv.Requests())
	if _, _, err := h.run(ctx, "chat", "send", bigChat, "@arya go"); err != nil {
		return err
	}
	return followChain(ctx, h.srv, first, s)
}

func (h *scaleHome) lastWindow() int {
	r := h.srv.Requests()
	return len(r[len(r)-1].Messages)
}
