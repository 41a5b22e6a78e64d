package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keepMemory is how much archiving and importing may hold, in bytes.
const keepMemory = 200 << 20

// keep archives nearly all of a store of a million entries, gives the space back, and
// stores the rows again: what is there then is what was there before.
func keep(ctx context.Context, l *lab) ([]result, error) {
	if l.server != nil {
		return nil, nil // it is made by writing a file
	}
	h, err := l.scaleHome(ctx, "keep", manyEntries)
	if err != nil {
		return nil, err
	}
	defer h.srv.Close()
	config := filepath.Join(h.root, "config.toml")
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, append(text, "\n[keep]\nchats = \"2d\"\nrequests = \"2d\"\n"...), 0o600); err != nil {
		return nil, err
	}
	forgetPeak()
	var out []result
	before, err := h.sums(ctx)
	if err != nil {
		return nil, err
	}
	var sizes []int64
	for _, args := range [][]string{{"store", "shrink"}, {"store", "import", filepath.Join(h.root, "archive")}} {
		info, err := os.Stat(filepath.Join(h.root, "fika.db"))
		if err != nil {
			return out, err
		}
		sizes = append(sizes, info.Size())
		cmd := h.command(ctx, args...)
		said, wall, err := timed(cmd)
		if err != nil {
			return out, err
		}
		var took series
		took.took(wall)
		r := bound("fika store "+args[1]+", 1,000,000 entries", &took, 0)
		peak := peakOf(cmd)
		r.goal(fmt.Sprintf("<= %d MiB resident", keepMemory>>20), peak <= keepMemory)
		r.note("at most %d MiB resident; the file had %d MiB before; it said: %s", peak>>20, info.Size()>>20, strings.Join(strings.Fields(said), " "))
		out = append(out, r)
	}
	after, err := h.sums(ctx)
	if err != nil {
		return out, err
	}
	last := &out[len(out)-1]
	last.note("the file shrank to %d %% of what it was", 100*sizes[1]/sizes[0])
	if !slices.Equal(before, after) {
		return out, fmt.Errorf("what came back is not what went:\n%s\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	last.note("all is as it was: %s", strings.Join(after, ", "))
	return out, nil
}

// sums returns, for each table that is archived, how many rows it has and what adds up in
// them: two stores with the same rows have the same sums.
func (h *home) sums(ctx context.Context) (out []string, err error) {
	db, err := h.database("query_only(1)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, c := range [][2]string{
		{"entries", "length(content) + length(metadata) + seq + at % 1000003 + length(reply_to) + depth"}, {"requests", "length(payload) + length(outcome) + finished_at % 1000003"},
		{"steps", "n + round + started_at % 1000003"}, {"notifications", "seq + created_at % 1000003"}, {"chains", "turns + tokens + cost"}, {"usage", "input + output + cost"},
		{"conversations", "last_seq + messages"},
	} {
		var n, sum int64
		if err := db.QueryRowContext(ctx, `SELECT count(*), COALESCE(sum(`+c[1]+`), 0) FROM `+c[0]).Scan(&n, &sum); err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprintf("%s %d (%d)", c[0], n, sum))
	}
	return out, nil
}
