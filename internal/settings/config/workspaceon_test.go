package config_test

import (
	"errors"
	"strings"
	"testing"

	"fika/internal/settings/config"
)

// TestWorkspaceOn: what cannot be is said once, with its place.
func TestWorkspaceOn(t *testing.T) {
	const server = "[store]\nurl = \"postgres://h/d\"\n"
	agent := func(more string) string { return "[[agents]]\nid = \"a\"\n" + more + "\n" }
	for text, want := range map[string]string{
		agent(`workspace_on = "host"`):                                                          "3:1: workspace_on needs a database that hosts share",
		server + agent(`workspace_on = "host"`):                                                 "",
		server + agent(`workspace_on = "Shared"`):                                               "workspace_on must be one of",
		server + agent(`workspace_on = true`):                                                   "workspace_on must be",
		server + agent(`workspace_on = "shared"`):                                               "5:1: workspace_on = \"shared\" needs workspace in the same entry",
		server + agent("workspace_on = \"shared\"\nworkspace = \"worktree\""):                   "needs workspace in the same entry",
		server + agent("workspace_on = \"shared\"\nworkspace = \"/mnt/x\""):                     "",
		server + agent(`workspace_on = "git"`):                                                  "needs workspace = \"worktree\" in the same entry",
		server + agent("workspace_on = \"git\"\nworkspace = \"/mnt/x\""):                        "needs workspace = \"worktree\" in the same entry",
		server + agent("workspace_on = \"git\"\nworkspace = \"worktree\""):                      "",
		server + agent("workspace_on = \"git\"\nworkspace = \"worktree\"\ninstances = 2"):       "the members of a pool stay on their hosts",
		server + "workspace_on = \"git\"\n" + agent(""):                                         "workspace_on",
		server + agent("workspace_on = \"shared\"\nworkspace = \"/mnt/x\"\nrun_on = [\"gpu\"]"): "",
	} {
		_, err := config.Parse("config.toml", []byte(text))
		var problems *config.Problems
		switch {
		case want == "" && err == nil:
		case !errors.As(err, &problems) || len(problems.List) != 1 || !strings.Contains(problems.List[0].String(), want):
			t.Errorf("%s\n%v, want %q, once", text, err, want)
		}
	}
}
