package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

const idleAgents = 50

// idle starts many agents, lets them settle and measures their memory.
func idle(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	var names []string
	for i := range idleAgents {
		names = append(names, fmt.Sprintf("idle%02d", i))
	}
	h, err := l.home("idle", srv.URL(), agents(names...))
	if err != nil {
		return nil, err
	}
	r, took, err := h.start(ctx)
	if err != nil {
		return nil, err
	}
	defer h.down()
	var peers []*exec.Cmd
	defer func() {
		for _, p := range peers {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	}()
	for range 5 {
		p, _, _, err := h.startPeer(ctx, "fika.chat.bench-idle")
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	select { // past the start: two looks at the store
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	private, floor := series{unit: "MiB"}, series{unit: "MiB"}
	for _, a := range r.Agents {
		v, err := memoryOf(a.PID, "RssAnon")
		if err != nil {
			return nil, err
		}
		private.add(v)
	}
	for _, p := range peers {
		v, err := memoryOf(p.Process.Pid, "RssAnon")
		if err != nil {
			return nil, err
		}
		floor.add(v)
	}
	res := compare("idle agent, RssAnon", &private, "a bare Go process with a NATS connection", &floor, 0)
	res.goal("<= 6 MiB median", res.Fika.Median <= 6)
	res.note("%d agents, up in %.1f s", len(r.Agents), took.Seconds())
	return []result{res}, nil
}

// up measures starting and stopping a hub with three agents.
func up(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("up", srv.URL(), agents("arya", "gendry", "sansa"))
	if err != nil {
		return nil, err
	}
	var starts, stops series
	for range l.rounds() {
		_, took, err := h.start(ctx)
		if err != nil {
			return nil, err
		}
		starts.took(took)
		_, took, err = h.run(ctx, "down")
		if err != nil {
			return nil, err
		}
		stops.took(took)
	}
	starts.skip(l.warm)
	stops.skip(l.warm)
	return []result{bound("fika up, three agents ready", &starts, 1000), bound("fika down", &stops, 0)}, nil
}
