package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"fika/internal/llm/llmtest"
)

const (
	workChains = 100
	tick       = 10 * time.Millisecond // of /proc/PID/stat
)

// work measures the processor time of a hop, which other work on the machine hardly
// affects: agents and hub, over a thousand hops.
func work(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(func(r llmtest.Request) llmtest.Script { return pingPong(r.N - 1) })
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("work", srv.URL(), agents("arya", "gendry"))
	if err != nil {
		return nil, err
	}
	r, _, err := h.start(ctx)
	if err != nil {
		return nil, err
	}
	defer h.down()
	pids := []int{}
	for _, a := range r.Agents {
		pids = append(pids, a.PID)
	}
	var began, hub time.Duration
	var hops series
	chains := max(workChains, l.n)
	for chain := range chains + 1 {
		if chain == 1 { // the first warms
			if began, err = processorTime(pids...); err != nil {
				return nil, err
			}
			if hub, err = processorTime(r.PID); err != nil {
				return nil, err
			}
			hops = series{}
		}
		if err := h.talk(ctx, fmt.Sprintf("bench%d", chain)); err != nil {
			return nil, err
		}
		if err := followChain(ctx, srv, chain*(hopsPerChain+1), &hops); err != nil {
			return nil, err
		}
	}
	after, err := processorTime(pids...)
	if err != nil {
		return nil, err
	}
	afterHub, err := processorTime(r.PID)
	if err != nil {
		return nil, err
	}
	n := time.Duration(chains * (hopsPerChain + 1)) // turns
	res := bound("mention hop, wall", &hops, 0)
	res.note("processor time a turn: agents %v, hub %v", ((after - began) / n).Round(time.Microsecond), ((afterHub - hub) / n).Round(time.Microsecond))
	return []result{res}, nil
}

// talk begins a chain in a chat of its own, so that windows stay small.
func (h *home) talk(ctx context.Context, chat string) error {
	if _, _, err := h.run(ctx, "chat", "new", chat); err != nil {
		return err
	}
	_, _, err := h.run(ctx, "chat", "send", chat, "@arya go")
	return err
}

// processorTime returns the time that processes have used, in user and system mode.
func processorTime(pids ...int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest) // from the third on
		for _, i := range []int{11, 12} {
			n, err := strconv.Atoi(fields[i])
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * tick
		}
	}
	return sum, nil
}
