package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// search finds what was said, for which a file's words are indexed first.
func search(r *run) {
	r.ask("ask", "gendry")
	r.settle()
	if res := r.people("conversation", "search", "answer"); res.code != 0 || !strings.Contains(res.stdout, "answer") {
		r.bad("nothing is found: %v", res)
	}
}

// idle is an agent whose process ends because it has nothing to do.
func idle(r *run) {
	r.ask("ask", "hotpie", "list")
	r.settle()
	for later := 10_000; later < 200_000; later += 10_000 {
		_ = r.tell("clock", fmt.Sprint(later))
		if wait(2*time.Second, func() bool {
			n, err := r.number(`SELECT count(*) FROM agents WHERE name = 'hotpie' AND desired = '' AND state = 'stopped'`)
			return err == nil && n == 1
		}) {
			break
		}
	}
	_ = r.tell("clock", "0")
}

// move moves the database: from a server into a file and back, or from one file to
// another. A killed command is repeated.
func move(r *run) {
	r.settle()
	r.people("down")
	r.forget()
	file, server := filepath.Join(r.root, "fika.db"), r.url
	if server == "" {
		other := filepath.Join(r.dir, "moved.db")
		r.must("store", "move", other)
		for _, end := range []string{"", "-wal", "-shm"} {
			_ = os.Rename(file+end, filepath.Join(r.dir, "old.db"+end))
		}
		for _, end := range []string{"", "-wal", "-shm"} {
			_ = os.Rename(other+end, file+end)
		}
	} else {
		r.must("store", "move", file)
		r.useDatabase("")
	}
	r.start()
	r.ask("ask", "arya", "list")
	r.settle()
	if server == "" {
		return
	}
	r.people("down")
	next := server + "_moved"
	r.must("store", "move", next)
	r.useDatabase(next)
	r.start()
}

// must repeats a command until it is not killed and nobody else is at work; then it
// has to succeed.
func (r *run) must(args ...string) {
	var res result
	wait(patience/2, func() bool { res = r.people(args...); return res.code != 4 })
	if res.code != 0 {
		r.bad("%v", res)
	}
}

// useDatabase sets the home's database in the settings; empty means its file.
func (r *run) useDatabase(url string) {
	path := filepath.Join(r.root, "config.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		r.bad("%v", err)
		return
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "url = ") && !strings.HasPrefix(line, "[store]") {
			kept = append(kept, line)
		}
	}
	if url != "" {
		kept = append(kept, fmt.Sprintf("[store]\nurl = %q\n", url))
	}
	if err := os.WriteFile(path, []byte(strings.Join(kept, "")), 0o600); err != nil {
		r.bad("%v", err)
	}
	r.forget()
	r.url, r.owner = url, strings.Replace(url, "fika@", "postgres@", 1)
}

// restore restores a backup made when everything was done. A killed restore is not
// repeated if the hub comes up all the same: then nothing may be missing.
func restore(r *run) {
	r.settle()
	r.people("down")
	file := filepath.Join(r.dir, "backup.zip")
	for n := 0; ; n++ {
		res := r.fika("backup", file)
		if res.code == 0 {
			break
		}
		if n == 1 {
			r.bad("%v", res)
			return
		}
		file += "2"
	}
	r.forget()
	if res := r.fika("restore", file); res.code != 0 && r.fika("up").code != 0 {
		r.forget()
		r.must("restore", file)
	}
	r.start()
	r.ask("ask", "arya", "list")
}
