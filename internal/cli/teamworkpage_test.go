package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheExamplesOfTeamworkWork runs the examples of docs/guides/teamwork.md, with its settings,
// rules and files: one prompt, and what a team makes of it has landed.
func TestTheExamplesOfTeamworkWork(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	r, text := newReader(t), page(t, "docs/guides/teamwork.md")
	if err := os.Remove(filepath.Join(r.dir, "bin/git")); err != nil { // the page needs a real one
		t.Fatal(err)
	}
	settings := fenced(text, "toml")
	r.write(".fika/config.toml", settings[0])
	r.write(".fika/rules.toml", settings[1])
	r.write("src/project/Makefile", fenced(text, "make")[0])
	r.write("src/project/test.sh", fenced(text, "sh")[0])
	here := func(line string) string { return r.run("cd src/project && "+line, "") }
	const landed = "git log --oneline fika/landing/main"
	for _, line := range indented(text) {
		// Whoever is free first takes a task, so one builder may have built both.
		if line == "fika board list --all" && !eventually(func() bool { return strings.Count(here(landed+" 2>/dev/null || true"), "\n") == 5 }) {
			t.Fatalf("it does not land:\n%s", here("fika land list --all; fika board list --all"))
		}
		if line == "fika down" && !eventually(func() bool { return here("ls ~/.fika/projects/*/worktrees | grep task- || true") == "" }) {
			t.Errorf("worktrees of tasks that have landed are left: %s", here("ls ~/.fika/projects/*/worktrees"))
		}
		out := here(line)
		switch {
		case line == landed && !strings.Contains(out, "multiply, and do not add"), line == "sh product.sh 2 3" && out != "6\n":
			t.Errorf("%s: %s", line, out)
		}
	}
	if out := here("fika land list --all --json"); !strings.Contains(out, `"round":2`) {
		t.Errorf("nothing came back: %s", out)
	}
}
