package shell

import (
	"encoding/json"
	"strings"
	"testing"

	"fika/internal/tool"
)

// TestWithheld: a command that failed because something was withheld is told which
// setting that is, and no other command is.
func TestWithheld(t *testing.T) {
	w := tool.Withheld{Network: true, Protected: []string{"/w/.git/hooks", "/w/.git/config", "/w/.envrc"}}
	for output, want := range map[string]string{
		"curl: (6) Could not resolve host: example.org":                                      `network = "on"`,
		"npm error code EAI_AGAIN":                                                           `network = "on"`,
		"dial tcp: lookup example.org: Temporary failure in name resolution":                 `network = "on"`,
		"error: could not write config file .git/config: Device or resource busy":            "/w/.git/config is protected",
		"bash: line 1: /w/.envrc: Read-only file system":                                     "/w/.envrc is protected",
		"fatal: could not create leading directories of '../wt/.git': Read-only file system": "git switch -c NAME",
		"make: *** [all] Error 1":                                                            "",
		"touch: /usr/x: Read-only file system":                                               "",
	} {
		got := strings.Join(explain(output, "/w", w), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q is explained by %q, want %q", output, got, want)
		}
		if with := explain(output, "/w", tool.Withheld{}); len(with) > 0 {
			t.Errorf("%q is explained by %q, though nothing is withheld", output, with)
		}
	}
	if got := explain("socket: Operation not permitted", "/w", tool.Withheld{Network: true, Loopback: true}); len(got) != 1 || !strings.Contains(got[0], "loopback") {
		t.Errorf("without a loopback: %q", got)
	}
}

// withheld lets a process run as it is, and says that it has no network.
type withheld struct{}

func (withheld) Confine(path string, args []string) (tool.Confined, error) {
	return tool.Confined{Path: path, Args: args, Withheld: tool.Withheld{Network: true}}, nil
}
func (withheld) Temp() (dir, seen string) { return "", "" }
func (withheld) Tier() string             { return "full" }
func (withheld) Network() bool            { return false }

// TestHintSurvivesScripts: that there is no network is said also where a script went on
// after the failure, and where the command was stopped for its time (trial row S20).
func TestHintSurvivesScripts(t *testing.T) {
	for command, want := range map[string]struct{ hint, failed bool }{
		`echo "npm error code EAI_AGAIN"; echo done`:                   {true, false},
		`echo "npm error code EAI_AGAIN"; sleep 60`:                    {true, true},
		`echo "curl: (6) Could not resolve host: example.org"; exit 6`: {true, true},
		`echo fine`: {false, false},
	} {
		args, _ := json.Marshal(map[string]any{"command": command, "timeout_seconds": 2})
		r, err := New(Options{}).Call(t.Context(), tool.Call{Args: args, Workspace: t.TempDir(), Confine: withheld{}})
		if err != nil || strings.Contains(r.Text, `network = "on"`) != want.hint || r.IsError != want.failed {
			t.Errorf("%s: %v, %+v", command, err, r)
		}
	}
}
