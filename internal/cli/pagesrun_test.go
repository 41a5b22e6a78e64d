package cli_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// guideSettings are those of a person who reads the guides: the agents of a team, and one
// that takes tasks of the board.
const guideSettings = `model = "m"
[[models]]
id = "m"
provider = "scripted"
rules = "rules.toml"
prices = {input = 1, output = 1}
[[agents]]
id = "coder"
description = "writes and debugs code"
workspace = "~/src/shop"
tool_permissions = ["read", "edit"]
[[agents]]
id = "reviewer"
description = "finds mistakes in a change and says whether a diff is safe to merge"
capabilities = ["review"]
examples = ["find the mistakes in my change", "is this diff safe to merge?"]
[[agents]]
id = "tester"
[[agents]]
id = "builder"
board = true
[doors]
metrics = true
`

// shellLines gives the commands of fika in the examples of a page.
func shellLines(text string) (lines []string) {
	for i, part := range strings.Split("\n"+text, "\n```") {
		for line := range strings.Lines(part) {
			shown := strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			if strings.HasPrefix(shown, "fika ") && (i%2 == 1 || strings.HasPrefix(line, "    ")) {
				lines = append(lines, shown)
			}
		}
	}
	return lines
}

// triedElsewhere are the pages whose examples other tests run, as these show them or with the same
// commands, and which.
var triedElsewhere = map[string]string{
	"docs/guides/guests.md":    "the programs are those of other makers: test/interop, TestScript/guests",
	"docs/guides/landing.md":   "TestScript/land, with a repository",
	"docs/guides/machines.md":  "test/machines, with three hosts",
	"docs/guides/master.md":    "TestTheExamplesOfThePagesWork",
	"docs/guides/mcp.md":       "the servers come from npm: test/interop, TestScript/door_install",
	"docs/guides/migrating.md": "TestTheExamplesOfMigratingWork",
	"docs/guides/models.md":    "shows requests of another home: TestScript/trace",
	"docs/guides/plugins.md":   "TestTheExamplesOfThePagesWork",
	"docs/guides/pools.md":     "shows requests of another home: TestScript/l9",
	"docs/guides/projects.md":  "TestScript/worktree, with a repository",
	"docs/guides/providers.md": "TestTheExamplesOfProvidersWork",
	"docs/guides/session.md":   "a session needs a terminal: TestA7Session",
	"docs/guides/skills.md":    "TestTheExamplesOfSkillsWork",
	"docs/guides/teamwork.md":  "TestTheExamplesOfTeamworkWork",
	"docs/guides/workflows.md": "TestTheExamplesOfTheWorkflowsPage",
	"docs/reference/bus.md":    "TestTheExamplesOfThePagesWork",
	"docs/start/tutorial.md":   "TestTheExamplesOfThePagesWork",
	"docs/start/install.md":    "test/packages",
}

// TestTheExamplesOfTheGuidesWork runs those of further pages, a home directory for each.
// What is left out has its reason; what a page shows to fail, fails.
func TestTheExamplesOfTheGuidesWork(t *testing.T) {
	t.Parallel()
	here := map[string]map[string]string{
		"docs/concepts/learning.md": {},
		"docs/concepts/memory.md":   {},
		"docs/concepts/routing.md":  {},
		"docs/guides/board.md":      {},
		"docs/guides/budgets.md":    {"fika run hello": "after others that have spent the budget: TestScript/b14"},
		"docs/guides/metrics.md":    {},
		"docs/guides/schedules.md":  {},
		"docs/guides/editors.md":    {},
		"docs/guides/web.md":        {"fika web": "opens a browser: internal/door/web"},
		"docs/guides/webhooks.md":   {},
		"docs/internals/figures.md": {"fika request trace 01a205f4-09ce": "a request of another home: TestScript/trace"},
	}
	names, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name = strings.TrimPrefix(name, "../../")
		if _, isHere := here[name]; !isHere && triedElsewhere[name] == "" && len(shellLines(page(t, name))) > 0 {
			t.Errorf("nothing runs the examples of %s", name)
		}
	}
	for name, left := range here {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t)
			r.write(".fika/config.toml", guideSettings)
			r.write(".fika/rules.toml", "fallback = \"ok\"\n")
			r.run(`fika ask coder "the staging password is in the vault"`, "")
			lines := shellLines(page(t, name))
			if len(lines) == 0 {
				t.Error("there are no examples")
			}
			for _, line := range lines {
				if left[line] == "" {
					r.run(line, "")
				}
			}
			for _, line := range slices.Sorted(maps.Keys(left)) {
				if !slices.Contains(lines, line) {
					t.Errorf("no example is %q any more", line)
				}
			}
		})
	}
}
