package main

import (
	"context"
	"fmt"
	"path/filepath"

	"fika/test/bench/prefix"
)

// tokens counts what models are sent, and how much of it their providers have read before.
func tokens(ctx context.Context, l *lab) ([]result, error) {
	var out []result
	for i, scene := range prefix.Scenes() {
		for _, wire := range []prefix.Wire{prefix.OpenAI, prefix.Anthropic} {
			rows, err := scene.Play(ctx, l.fika, filepath.Join(l.dir, fmt.Sprintf("tokens-%d-%s", i, wire)), wire)
			if err != nil {
				return out, err
			}
			r := result{Name: scene.Name + ", " + string(wire)}
			met := true
			for _, row := range rows {
				r.note("%s", row)
				met = met && row.Share() >= scene.Least && (scene.Lost < 0 || row.Lost <= scene.Lost) && row.Heads <= scene.Heads
			}
			r.goal(fmt.Sprintf(">= %g %% common with the request before", scene.Least), met)
			out = append(out, r)
		}
	}
	return out, nil
}
