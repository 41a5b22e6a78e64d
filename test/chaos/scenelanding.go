package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// landed is a person who offers branches for landing: one that fits, one that conflicts with
// it, one whose check fails, and one that they cancel.
func landed(r *run) {
	repo := r.project(map[string]string{"fits": "a", "conflicts": "a", "breaks": "broken", "late": "b"})
	if repo == "" {
		return
	}
	for _, name := range []string{"fits", "conflicts", "breaks", "late"} {
		r.people("land", name, "--key", name)
	}
	r.people("land", "cancel", "4", "--key", "cancel")
	r.people("land", "retry", "4", "--key", "retry")
	if !wait(patience, func() bool {
		if r.hubPID() == 0 && !r.start() {
			return true
		}
		n, err := r.number(`SELECT count(*) FROM offers WHERE ended_at = 0`)
		return r.over() || err == nil && n == 0
	}) {
		r.bad("offers do not come to an end")
	}
	r.checkLanded(repo)
}

// project makes the home that of a project with branches, each of which adds one file, and
// returns its repository; "" if that cannot be made.
func (r *run) project(branches map[string]string) string {
	r.people("down") // the next hub is that of the project
	repo := filepath.Join(r.root, "repo")
	err := os.MkdirAll(repo, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.root, "project.json"), fmt.Appendf(nil, `{"id":"shop","root":%q}`, repo), 0o600)
	}
	if err != nil {
		r.bad("project: %v", err)
		return ""
	}
	r.configure("[landing]\ncheck = \"test ! -e broken\"\n")
	steps := [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "eve"}, {"config", "user.email", "eve@example.org"}, {"commit", "-q", "--allow-empty", "-m", "first"}}
	for _, args := range steps {
		r.git(repo, args...)
	}
	for name, file := range branches {
		r.git(repo, "switch", "-qc", name, "main")
		if err := os.WriteFile(filepath.Join(repo, file), []byte(name), 0o600); err != nil {
			r.bad("project: %v", err)
		}
		r.git(repo, "add", "-A")
		r.git(repo, "commit", "-qm", name)
	}
	r.git(repo, "switch", "-q", "--detach", "main")
	return repo
}

func (r *run) git(dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.bad("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// checkLanded holds that the branch has what passed, once, and that nothing is left of how
// it came there.
func (r *run) checkLanded(repo string) {
	if titles := r.git(repo, "log", "--reverse", "--format=%s", "main"); titles != "first\nfits\nlate" {
		r.bad("main has %q", titles)
	}
	if n, err := r.number(`SELECT count(*) FROM offers WHERE n = 1 AND state = 'landed' OR n IN (2, 3) AND state = 'back' OR n = 4 AND state = 'landed'`); err != nil || n != 4 {
		r.bad("%d of 4 offers are where they should be: %v", n, err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.root, "landing", "tree")); len(left) > 0 {
		r.bad("left: %v", left)
	}
	if locks, _ := filepath.Glob(filepath.Join(repo, ".git", "refs", "*", "*", "*", "*.lock")); len(locks) > 0 {
		r.bad("left: %v", locks)
	}
}
