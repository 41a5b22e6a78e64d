package main

import (
	"os"
	"path/filepath"
	"strings"
)

// tails cuts off the ends of the files of the mirror and the stream, as a file system
// may after a power failure.
func tails(r *run) int {
	if !r.start() {
		return 0
	}
	r.all(6)
	r.once("notes", "bash")
	wire(r)
	r.settle()
	cut := 0
	r.dark(func() {
		for _, pattern := range []string{"contexts/*/*.jsonl", "contexts/*/transcript.md", "contexts/*/context_meta.json", "run/jetstream/*/*/*/*/*", "run/jetstream/*/*/*/*/*/*", "run/jetstream/*/*/*/*/*/*/*"} {
			found, _ := filepath.Glob(filepath.Join(r.root, pattern))
			for _, path := range found {
				st, err := os.Stat(path)
				if err != nil || !st.Mode().IsRegular() || st.Size() == 0 || r.rng.IntN(2) == 0 {
					continue
				}
				if os.Truncate(path, st.Size()-min(st.Size(), 1+r.rng.Int64N(200))) == nil {
					cut++
				}
			}
		}
	})
	r.start()
	r.once("notes", "bash")
	r.ask("ask", "hotpie") // opening a context repairs it
	wire(r)
	r.settle()
	r.people("down")
	r.mirrors()
	return cut
}

// mirrors compares every context's plain-text copy with the database.
func (r *run) mirrors() {
	for _, name := range append([]string{"notes"}, agents...) {
		want, err := r.number(`SELECT count(*) FROM entries e JOIN conversations c ON c.id = e.conversation JOIN agents a ON a.id = c.agent WHERE a.name = ? AND c.kind = 'ask'`, name)
		if err != nil {
			r.bad("%v", err)
		}
		have := 0
		for _, file := range []string{"context.jsonl", "transcript_archive.jsonl"} {
			data, _ := os.ReadFile(filepath.Join(r.root, "contexts", name, file))
			have += strings.Count(string(data), "\n")
		}
		if have != want {
			r.bad("lost: the mirror of %s has %d entries, the database %d", name, have, want)
		}
	}
}
