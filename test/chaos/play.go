package main

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// play plays the scene with useful work before and after it.
func (r *run) play(s scene) {
	if !r.start() {
		return
	}
	r.ask("ask", "arya", "read")
	s.play(r)
	r.ask("task", "gendry")
	r.settle()
	r.rest()
	r.settle()
}

// rest ends what only the next opening of a context can end: a prompt in the
// foreground whose process was killed.
func (r *run) rest() {
	db, err := r.query()
	if err != nil {
		r.bad("%v", err)
		return
	}
	for _, name := range column(r, db, `SELECT DISTINCT a.name FROM requests q JOIN agents a ON a.id = q.agent WHERE q.origin = 'foreground' AND q.finished_at = 0`) {
		r.once(name)
	}
	r.tidy()
}

// tidy ages half-made files and lets the next writer remove them, as an hour would.
func (r *run) tidy() {
	made := map[string]bool{} // contexts
	long := time.Now().Add(-2 * time.Hour)
	for _, pattern := range []string{"contexts/.create-*", "contexts/*/.*", ".*"} {
		found, _ := filepath.Glob(filepath.Join(r.root, pattern))
		for _, path := range found {
			_ = os.Chtimes(path, long, long)
			made[filepath.Base(filepath.Dir(path))] = true
		}
	}
	for context := range made {
		switch context {
		case "contexts":
			r.people("context", "new", "spare")
			r.people("context", "delete", "spare", "--yes")
		case "home":
			r.people("context", "switch", "new:spare")
		default:
			r.people("down") // its agent has it
			r.once(context, "list")
		}
	}
}

// all does many things at once, for faults that strike at random.
func (r *run) all(n int) {
	var together sync.WaitGroup
	for i := range n {
		switch i % 4 {
		case 0:
			plan := r.chain(3, 1)
			together.Go(func() { r.chat(plan...) })
		case 1:
			tools := r.pick("", 2).tools
			together.Go(func() { r.ask("ask", "arya", tools...) })
		case 2:
			together.Go(func() { r.ask("task", "gendry", "bash", "read") })
		case 3:
			together.Go(func() { r.ask("ask", "hotpie", "bash") })
		}
	}
	together.Wait()
}
