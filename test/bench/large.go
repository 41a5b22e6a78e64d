package main

import (
	"context"
	"fmt"

	"fika"
)

const (
	smallContext = 200
	largeContext = 200_000
	largeMemory  = 50 << 20
)

// large looks into a context of 200,000 entries, all of them in its window, and into one
// of 200: the same commands with the same answers, in turns.
func large(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	names := []string{"small", "large"}
	homes := map[string]*home{}
	for name, n := range map[string]int{"small": smallContext, "large": largeContext} {
		if homes[name], err = l.home(name+"-context", srv.URL(), ""); err != nil {
			return nil, err
		}
		if _, _, err := homes[name].run(ctx, "run", "-c", "it", "hi"); err != nil {
			return nil, err
		}
		if err := homes[name].fill(ctx, fika.AgentName("it"), n, 0); err != nil {
			return nil, err
		}
	}
	forgetPeak()
	var out []result
	for _, args := range [][]string{
		{"context", "log", "it", "-n", "5"}, {"context", "show", "it"}, {"conversation", "show", "it", "-n", "5"},
		{"conversation", "search", "sentence", "-n", "5"}, {"conversation", "search", "sentence from the end", "-n", "5"},
	} {
		took, peak := map[string]*series{"small": {}, "large": {}}, int64(0)
		for range l.rounds() {
			for _, name := range names {
				cmd := homes[name].command(ctx, args...)
				_, wall, err := timed(cmd)
				if err != nil {
					return out, err
				}
				took[name].took(wall)
				if name == "large" {
					peak = max(peak, peakOf(cmd))
				}
			}
		}
		for _, name := range names {
			took[name].skip(l.warm)
		}
		r := compare(fmt.Sprintf("fika %s %s, 200,000 entries", args[0], args[1]), took["large"], "the same with 200", took["small"], 3)
		r.note("at most %d MiB resident, of %d", peak>>20, largeMemory>>20)
		r.goal("<= 3 x, and 50 MiB", r.Met != nil && *r.Met && peak <= largeMemory)
		out = append(out, r)
	}
	return out, nil
}
