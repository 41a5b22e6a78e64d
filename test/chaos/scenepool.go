package main

import (
	"os"
	"path/filepath"
)

// configure adds to the settings. Who runs follows them.
func (r *run) configure(more string) {
	path := filepath.Join(r.root, "config.toml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, more...), 0o600)
	}
	if err != nil {
		r.bad("%v", err)
	}
}

// backedUp is work for an agent that cannot be started: its backup does it, and what
// is asked under its name is answered once.
func backedUp(r *run) {
	r.configure(`
[[agents]]
id = "sansa"
model = "nowhere"
backup = ["gendry"]
[[models]]
id = "nowhere"
provider = "scripted"
rules = "none.toml"
`)
	r.ask("task", "sansa", "bash")
	r.ask("ask", "sansa", "read")
	r.follow("task", "sansa")
}
