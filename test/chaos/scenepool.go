package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// configure adds to the settings, which running processes follow.
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

// backedUp is work for an agent that cannot be started: its backup does it, and
// requests in its name are answered once.
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

// pooled is work for a pool, which loses a member and becomes smaller: any member
// takes its tasks, one member keeps a person's asks until a reset, and its mentions go
// to some member.
func pooled(r *run) {
	pool := "[[agents]]\nid = \"hound\"\nmodel = \"own\"\ntool_permissions = [\"bash\", \"read\", \"list\", \"edit\", \"create\"]\nmax_idle_seconds = 3\ninstances = 3\n"
	r.configure(pool)
	r.kills++
	j := r.ask("task", "hound", "bash")
	r.begun(j)
	r.signal(agentWords("hound-1"), syscall.SIGKILL)
	for range 3 {
		r.ask("task", "hound", "read")
	}
	r.ask("ask", "hound", "list")
	r.people("agent", "reset", "hound")
	r.follow("ask", "hound")
	r.chat(hop{"hound", []string{"bash"}}, hop{"arya", nil})
	r.settle() // the work that a member has begun waits for it
	r.replaceSettings("instances = 3", "instances = 2")
	r.ask("task", "hound")
}

// severalModels is work for an agent with two models: whatever is killed, once two
// rounds in a row have failed the next is asked of the second model, and after one of
// the first.
func severalModels(r *run) {
	r.configure(fmt.Sprintf(`
[[models]]
id = "first"
provider = "openai"
base_url = %[1]q
[[models]]
id = "second"
provider = "openai"
base_url = %[1]q
[[agents]]
id = "sandor"
models = ["first", "second"]
escalate = 2
tool_permissions = ["bash", "read", "list"]
`, r.models.URL()))
	r.ask("task", "sandor", "read", "read", "bash", "list") // there is no such file
	r.ask("ask", "sandor", "read", "list")
	r.settle()
	wrong, err := r.number(`SELECT count(*) FROM usage u JOIN agents a ON a.id = u.agent JOIN requests r ON r.id = u.request WHERE a.name = 'sandor'
AND u.model <> CASE WHEN r.kind <> 'task' OR (SELECT count(*) FROM usage o WHERE o.request = u.request AND o.n < u.n) < 2 THEN 'first' ELSE 'second' END`)
	if err != nil || wrong > 0 {
		r.bad("%d calls went to the wrong model: %v", wrong, err)
	}
	if twice, err := r.number(`SELECT count(*) FROM (SELECT call_id FROM steps WHERE call_id <> '' GROUP BY request, call_id HAVING count(*) > 1) d`); err != nil || twice > 0 {
		r.bad("%d calls were noted twice: %v", twice, err)
	}
}

// replaceSettings replaces a part of the settings.
func (r *run) replaceSettings(from, to string) {
	path := filepath.Join(r.root, "config.toml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600)
	}
	if err != nil {
		r.bad("%v", err)
	}
}
