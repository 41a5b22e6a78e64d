package main

import (
	"context"
	"fmt"
	"time"

	"fika/internal/llm/llmtest"
)

const hopsPerChain = 10

// hop lets two agents mention each other. A hop lasts from the moment when the model
// server begins to send the last chunk of one agent's answer to the arrival of the
// other agent's request.
func hop(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(func(r llmtest.Request) llmtest.Script { return pingPong(r.N - 1) })
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("hop", srv.URL(), agents("arya", "gendry"))
	if err != nil {
		return nil, err
	}
	if _, _, err := h.start(ctx); err != nil {
		return nil, err
	}
	defer h.down()
	w, err := h.wire(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	c, err := l.commits()
	if err != nil {
		return nil, err
	}
	defer c.close()
	if _, _, err := h.run(ctx, "chat", "new", "bench"); err != nil {
		return nil, err
	}
	var hops, floor series
	for chain := 0; len(hops.all) < l.rounds(); chain++ {
		if _, _, err := h.run(ctx, "chat", "send", "bench", "@arya go"); err != nil {
			return nil, err
		}
		if err := followChain(ctx, srv, chain*(hopsPerChain+1), &hops); err != nil {
			return nil, err
		}
		if err := hopFloor(c, w, &floor); err != nil {
			return nil, err
		}
	}
	hops.skip(l.warm)
	floor.skip(l.warm)
	return []result{compare("mention hop", &hops, "3 FULL commits + 1 NATS message between processes", &floor, 3)}, nil
}

// pingPong returns the n-th answer (from 0) of two agents that call each other ten
// times and then begin anew.
func pingPong(n int) llmtest.Script {
	switch {
	case n%(hopsPerChain+1) == hopsPerChain:
		return llmtest.Script{llmtest.Text("that was the last")}
	case n%(hopsPerChain+1)%2 == 0:
		return llmtest.Script{llmtest.Text(fmt.Sprintf("%d: your turn, @gendry", n+1))}
	}
	return llmtest.Script{llmtest.Text(fmt.Sprintf("%d: your turn, @arya", n+1))}
}

// followChain measures the hops of the chain that begins with answer number first of
// the server, counted from 0.
func followChain(ctx context.Context, srv *llmtest.Server, first int, hops *series) error {
	end := first + hopsPerChain + 1
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	records, err := srv.Await(wait, func(r []llmtest.Record) bool { return len(r) >= end && r[end-1].Done })
	if err != nil {
		return fmt.Errorf("the chain stopped after %d of %d answers: %w", len(records)-first, end-first, err)
	}
	for i := first; i < end-1; i++ {
		hops.took(records[i+1].Received.Sub(records[i].Leaving))
	}
	return nil
}

// hopFloor measures as many floors as there were hops, immediately after them.
func hopFloor(c *commits, w *wire, floor *series) error {
	for range hopsPerChain {
		started := time.Now()
		if err := c.make(3); err != nil {
			return err
		}
		stored := time.Since(started)
		way, err := w.send(nil)
		if err != nil {
			return err
		}
		floor.took(stored + way)
	}
	return nil
}
