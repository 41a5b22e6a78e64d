package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/cli"
	"fika/internal/system/term"
)

// TestK2Route: agents that are stopped, may not be asked or are over budget are
// not chosen, and why is said; auto takes nobody of whom it is not sure.
func TestK2Route(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rules.toml": "fallback = 'yes'\n",
		"config.toml": `
model = "script"
[hub]
autostart = false
[[models]]
id = "script"
provider = "scripted"
rules = "rules.toml"
[[agents]]
id = "coder"
description = "Writes and changes code"
[[agents]]
id = "reviewer"
description = "Reads changes and finds mistakes in them"
[[agents]]
id = "translator"
description = "Translates texts between languages"
callable_by = ["coder"]
[[agents]]
id = "lawyer"
description = "Reads contracts"
[[budgets]]
scope = "agent:lawyer"
per = "day"
tokens = 1
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (status int, stdout, stderr string) {
		var out, errs bytes.Buffer
		status = cli.Main(args, &term.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, func(k string) string {
			if k == "FIKA_HOME" {
				return dir
			}
			return ""
		})
		return status, out.String(), errs.String()
	}
	if status, _, said := run("agent", "stop", "coder"); status != 0 {
		t.Fatal(said)
	}
	for _, tt := range []struct{ prompt, agent, why, said string }{
		{"is this diff safe to merge?", "reviewer", "code review, by ", "this looks like code review: @reviewer"},
		{"put this letter into French", "translator", "not chosen: you may not ask it (callable_by); translation, by ", "the best match cannot take work now: @translator: you may not ask it (callable_by)"},
		{"implement a function that sorts", "coder", "not chosen: it was stopped by hand", "the best match cannot take work now: @coder: it was stopped by hand"},
		{"who is liable by this contract?", "lawyer", "not chosen: over budget: agent:lawyer a day: 0 of 1 token spent", "the best match cannot take work now: @lawyer: over budget"},
		{"hello", "reviewer", "no matching words", "this fits no agent"},
	} {
		status, out, said := run("route", "--json", tt.prompt)
		var list []struct {
			Agent string
			Score float64
			Sure  bool
			Why   string
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil || status != 0 || len(list) != 4 {
			t.Fatalf("status %d, %v: %s%s", status, err, out, said)
		}
		sure := ""
		for _, m := range list {
			if m.Agent == tt.agent && !strings.Contains(m.Why, tt.why) {
				t.Errorf("%s: of %s: %s", tt.prompt, m.Agent, m.Why)
			}
			if m.Sure {
				sure = m.Agent
			}
		}
		if chosen := strings.HasPrefix(tt.why, "code review"); chosen != (sure == tt.agent) {
			t.Errorf("%s: sure of %q", tt.prompt, sure)
		}
		status, out, said = run("task", "auto", "--no-wait", tt.prompt)
		if sure != "" {
			if status != 0 || !strings.Contains(said, "→ @"+sure) {
				t.Errorf("%s: status %d, %s", tt.prompt, status, said)
			}
			_, out, said = run("route", tt.prompt)
			if !strings.Contains(said, tt.said) {
				t.Errorf("%s: %s%s", tt.prompt, out, said)
			}
			continue
		}
		if want := map[bool]int{true: 3, false: 2}[!strings.Contains(said, "not sure")]; status != want || out != "" || !strings.Contains(said, tt.said) {
			t.Errorf("%s: status %d (want %d), %q, %s", tt.prompt, status, want, out, said)
		}
	}
}
