package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/llm/llmtest"
	"fika/internal/settings/config"
)

// proved says, for each per-context setting, which test shows that it does
// what it says; a new setting has to be added.
var proved = map[string]string{
	"model": "TestSettingsReachTheWire", "username": "TestSettingsReachTheWire", "provider": "TestSettingsReachTheWire",
	"base_url": "TestSettingsReachTheWire", "api_key_env": "TestSettingsReachTheWire", "reasoning": "TestSettingsReachTheWire",
	"max_tokens": "TestSettingsReachTheWire", "system_prompt": "TestSettingsReachTheWire",
	"tool_permissions": "TestSettingsReachTheWire", "tools_off": "TestSettingsReachTheWire",
	"reflection_enabled": "TestSettingsReachTheWire", "turn_timeout": "TestTurnTimeout",
	"patience": "internal/turn TestU6AnOverloadedProviderIsWaitedFor", "patience_background": "the same",
	"workspace": "TestSettingsWork", "env": "TestSettingsWork", "agents_md": "TestSettingsWork",
	"warn_threshold_percent": "TestSettingsWork", "context_window_limit": "TestSettingsWork",
	"max_recursion_depth": "TestSettingsWork", "reflection_character_limit": "TestSettingsWork",
	"auto_compact": "the tests of compaction in internal/app", "auto_compact_threshold": "the tests of compaction in internal/app",
	"rolling_compact_drop_percentage": "the tests of compaction in internal/app",
	"skills":                          "skill.txtar",
	"readable_by":                     "the tests of internal/tool/peer",
	"limits":                          "the tests of internal/sandbox/confine and internal/system/cgroup",
	"rules":                           "t15.txtar", "callable_by": "d3.txtar",
}

func TestEverySettingIsProved(t *testing.T) {
	for _, k := range config.KeyReference() {
		if k.Context && proved[k.Key] == "" {
			t.Errorf("no test shows that %s works: write one, and name it in proved", k.Key)
		}
	}
}

// What else settings of a context do, seen from the model and from the shell.
func TestSettingsWork(t *testing.T) {
	tests := []struct {
		name, local string
		top         string // config.toml
		prompt      string
		call        []string // tool and arguments of the model's first answer
		always      bool     // it calls that tool again and again
		code        int
		results     []string // of the tool, as the model saw them
		system      string
		stderr      string
	}{
		{name: "workspace", local: `workspace = "%HOME%/place"`, call: []string{"read", `{"path":"note.txt"}`}, results: []string{"rye bread"}},
		{name: "env", local: "tool_permissions = [\"bash\"]\nenv = {FLOUR = \"rye\"}", call: []string{"bash", `{"command":"echo \"$FLOUR flour\""}`}, results: []string{"rye flour"}},
		{name: "agents_md", top: `trust = ["%HOME%/place"]`, local: "workspace = \"%HOME%/place\"\nagents_md = true", system: "Knead it long."},
		{name: "agents_md untrusted", local: "workspace = \"%HOME%/place\"\nagents_md = true", system: "!Knead"},
		{name: "agents_md off", top: `trust = ["%HOME%/place"]`, local: "workspace = \"%HOME%/place\"\nagents_md = false", system: "!Knead"},
		{name: "window", local: "context_window_limit = 5000\nwarn_threshold_percent = 10", prompt: strings.Repeat("bread ", 1000), stderr: "of 5000 tokens"},
		{name: "max_recursion_depth", local: "max_recursion_depth = 3", call: []string{"list", `{"path":"."}`}, always: true, code: 8, stderr: "max_recursion_depth"},
		{name: "reflection_character_limit", local: "reflection_character_limit = 10", call: []string{"update_reflection", `{"content":"far too long a reflection"}`}, results: []string{"10"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
				if tt.call != nil && (r.N == 1 || tt.always) {
					return llmtest.Script{llmtest.Call(fmt.Sprintf("c%d", r.N), tt.call[0], tt.call[1])}
				}
				return llmtest.Script{llmtest.Text("hej")}
			})
			h := newHome(t, "")
			fill := func(s string) string { return strings.ReplaceAll(s, "%HOME%", h.work) }
			h.write("config.toml", fill(tt.top)+"\n"+openAI(srv, ""))
			h.write("contexts/default/local.toml", fill(tt.local)+"\n")
			place := filepath.Join(h.work, "place")
			if err := os.MkdirAll(place, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"note.txt": "rye bread", "AGENTS.md": "Knead it long."} {
				if err := os.WriteFile(filepath.Join(place, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, errs := h.run(tt.code, "run", "hello "+tt.prompt)
			has(t, "stderr", errs, tt.stderr)
			all := srv.Requests()
			if part, not := strings.CutPrefix(tt.system, "!"); strings.Contains(all[0].System, part) == not {
				t.Errorf("system prompt: %s", all[0].System)
			}
			has(t, "last request", fmt.Sprint(all[len(all)-1].Messages), tt.results...)
		})
	}
}
