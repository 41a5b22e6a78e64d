package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"fika/internal/llm/llmtest"
)

// runs lets two agents work the steps of a run in turn and, between two runs, call
// each other in a chat as often: a step against a mention hop, each from the end of an
// answer to the next request.
func runs(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(func(r llmtest.Request) llmtest.Script { return pingPong((r.N - 1) % (2 * (hopsPerChain + 1))) })
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("runs", srv.URL(), agents("arya", "gendry"))
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
	chain, err := h.chainOfSteps()
	if err != nil {
		return nil, err
	}
	var hops, steps series
	for asked := 0; len(steps.all) < l.rounds(); {
		if _, _, err := h.run(ctx, "chat", "send", "bench", "@arya go"); err != nil {
			return nil, err
		}
		if err := followChain(ctx, srv, asked, &hops); err != nil {
			return nil, err
		}
		asked += hopsPerChain + 1
		if _, _, err := h.run(ctx, "workflow", "run", "--no-wait", chain); err != nil {
			return nil, err
		}
		if err := followChain(ctx, srv, asked, &steps); err != nil {
			return nil, err
		}
		asked += hopsPerChain + 1
	}
	hops.skip(l.warm)
	steps.skip(l.warm)
	return []result{compare("step of a run", &steps, "a mention hop of the same two agents", &hops, 3)}, nil
}

// chainOfSteps returns a workflow whose steps two agents do in turn, each with the
// results of those before.
func (h *home) chainOfSteps() (string, error) {
	var b strings.Builder
	for i := range hopsPerChain + 1 {
		fmt.Fprintf(&b, "[[steps]]\nid = \"s%d\"\nagent = %q\n", i, []string{"arya", "gendry"}[i%2])
		if i > 0 {
			fmt.Fprintf(&b, "needs = [\"s%d\"]\nprompt = \"go on: {{.steps.s%d.output}}\"\n", i-1, i-1)
		} else {
			b.WriteString("prompt = \"go\"\n")
		}
	}
	path := filepath.Join(h.work, "chain.toml")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

const (
	longItems    = 10_000
	longAgents   = 4
	longParallel = 20
	longLimit    = 8 * time.Minute
)

// longRun does one step for each of ten thousand items, and measures the hub and the
// agents, all of which advance the run, when a tenth is done and when everything is.
func longRun(ctx context.Context, l *lab) ([]result, error) {
	var answered atomic.Int64
	srv, err := serve(func(llmtest.Request) llmtest.Script {
		answered.Add(1)
		return llmtest.Script{llmtest.Text("done")}
	})
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	var names []string
	for i := range longAgents {
		names = append(names, fmt.Sprintf("agent%02d", i))
	}
	h, err := l.home("longrun", srv.URL(), agents(names...))
	if err != nil {
		return nil, err
	}
	r, _, err := h.start(ctx)
	if err != nil {
		return nil, err
	}
	defer h.down()
	pids := []int{r.PID}
	for _, a := range r.Agents {
		pids = append(pids, a.PID)
	}
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "[[steps]]\nid = %q\nagent = %q\nfor_each = '1..%d'\nmax_parallel = %d\nprompt = \"item {{.item}}\"\n", name, name, longItems/longAgents, longParallel/longAgents)
	}
	path := filepath.Join(h.work, "long.toml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	if _, _, err := h.run(ctx, "workflow", "run", "--no-wait", path); err != nil {
		return nil, err
	}
	var early, late, first, last series
	if err := answeredAll(ctx, &answered, longItems/10, &first); err != nil {
		return nil, err
	}
	if err := residents(pids, &early); err != nil {
		return nil, err
	}
	if err := answeredAll(ctx, &answered, 9*longItems/10, &series{}); err != nil {
		return nil, err
	}
	if err := answeredAll(ctx, &answered, longItems, &last); err != nil {
		return nil, err
	}
	if err := residents(pids, &late); err != nil {
		return nil, err
	}
	memory := compare("memory after 10,000 steps, of hub and agents", &late, "after 1,000", &early, 1.3)
	memory.note("%d agents, %d steps at a time", longAgents, longParallel)
	return []result{memory, compare("a step of the last 1,000", &last, "of the first 1,000", &first, 1.5)}, nil
}

// answeredAll waits for n answers in all, and adds how long each took.
func answeredAll(ctx context.Context, answered *atomic.Int64, n int64, each *series) error {
	began, had := time.Now(), answered.Load()
	for answered.Load() < n {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(began) > longLimit:
			return fmt.Errorf("%d of %d steps are done after %v", answered.Load(), n, longLimit)
		}
		time.Sleep(10 * time.Millisecond)
	}
	each.took(time.Since(began) / time.Duration(max(1, n-had)))
	return nil
}

// residents adds the memory held by processes.
func residents(pids []int, all *series) error {
	all.unit = "MiB"
	for _, pid := range pids {
		mib, err := memoryOf(pid, "RssAnon")
		if err != nil {
			return err
		}
		all.add(mib)
	}
	return nil
}
