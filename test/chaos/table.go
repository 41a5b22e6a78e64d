package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// row is one line of the table: a point or a fault with the result of its runs.
type row struct {
	kind, name string
	counts
	note string
	bad  bool
}

// table holds all results. It is safe for concurrent use.
type table struct {
	mu   sync.Mutex
	rows []row
}

func (t *table) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
	fmt.Println(r)
}

func (r row) String() string {
	word := "ok"
	if r.bad {
		word = "RED"
	}
	return fmt.Sprintf("%-8s %-34s %5d %6d %9d %6d %5d %7d  %-4s %s", r.kind, r.name, r.runs, r.fired, r.accepted, r.done, r.lost, r.doubled, word, r.note)
}

func (t *table) print(w io.Writer, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sums := map[string]*row{}
	var order []string
	for _, r := range t.rows {
		s := sums[r.kind]
		if s == nil {
			s = &row{kind: r.kind}
			sums[r.kind], order = s, append(order, r.kind)
		}
		s.counts.add(r.counts)
		s.bad = s.bad || r.bad
		s.red = 0
		s.name = fmt.Sprintf("all %d", s.count(t.rows))
	}
	fmt.Fprintf(w, "\n%-8s %-34s %5s %6s %9s %6s %5s %7s\n", "", "", "runs", "struck", "accepted", "done", "lost", "doubled")
	for _, k := range order {
		fmt.Fprintln(w, sums[k])
	}
	fmt.Fprintf(w, "%.0f s\n", took.Seconds())
}

func (r *row) count(rows []row) (n int) {
	for _, o := range rows {
		if o.kind == r.kind {
			n++
		}
	}
	return n
}

// verdict returns an error when a row is red, or when nothing was tried.
func (t *table) verdict() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	red, done := 0, 0
	for _, r := range t.rows {
		done += r.done
		if r.bad {
			red++
		}
	}
	switch {
	case red > 0:
		return fmt.Errorf("%d of %d rows are red", red, len(t.rows))
	case done == 0:
		return fmt.Errorf("nothing was done, so nothing is shown")
	}
	return nil
}
