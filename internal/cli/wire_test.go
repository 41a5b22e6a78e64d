package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fika/internal/cli"
	"fika/internal/llm/llmtest"
	"fika/internal/system/term"
)

// fika runs a command line in this process.
func (h *home) fika(env map[string]string, args ...string) (code int, stdout, stderr string) {
	s, _, out, err := term.TestStreams()
	code = cli.Main(append([]string{"--home", h.dir}, args...), s, func(k string) string {
		if k == "KEY" {
			return llmtest.Secret
		}
		return env[k]
	})
	return code, out.String(), err.String()
}

// Every per-context setting reaches the provider, from wherever it is set.
func TestSettingsReachTheWire(t *testing.T) {
	hej := func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("hej")} }
	first, second, claude := llmtest.NewOpenAI(t, hej), llmtest.NewOpenAI(t, hej), llmtest.NewAnthropic(t, hej)
	more := fmt.Sprintf("[[models]]\nid = \"other\"\nnickname = \"o\"\nprovider = \"openai\"\nbase_url = %q\napi_key_env = \"KEY\"\nmax_tokens = 77\n", first.URL())
	tests := []struct {
		name   string
		local  string
		prompt string // system_prompt.md
		env    map[string]string
		args   []string
		srv    *llmtest.Server
		check  func(r llmtest.Record, body map[string]any) string
	}{
		{name: "nothing", check: func(r llmtest.Record, _ map[string]any) string { return same(r.Model, "m") }},
		{name: "model", local: `model = "o"`, check: func(r llmtest.Record, b map[string]any) string {
			return same(r.Model, "other") + same(r.MaxTokens, int64(77))
		}},
		{name: "-m", local: `model = "m"`, args: []string{"-m", "o"}, check: func(r llmtest.Record, _ map[string]any) string { return same(r.Model, "other") }},
		{name: "FIKA_MODEL", local: `model = "m"`, env: map[string]string{"FIKA_MODEL": "o"}, check: func(r llmtest.Record, _ map[string]any) string { return same(r.Model, "other") }},
		{name: "-m over FIKA_MODEL", args: []string{"-m", "m"}, env: map[string]string{"FIKA_MODEL": "o"}, check: func(r llmtest.Record, _ map[string]any) string { return same(r.Model, "m") }},
		{name: "base_url", local: fmt.Sprintf("base_url = %q", second.URL()), srv: second, check: func(r llmtest.Record, _ map[string]any) string {
			return same(r.Model, "m") + same(r.Header.Get("Authorization"), "") // a key goes to no other address
		}},
		{name: "base_url and key", local: fmt.Sprintf("base_url = %q\napi_key_env = \"KEY\"", second.URL()), srv: second, check: func(r llmtest.Record, _ map[string]any) string {
			return same(r.Header.Get("Authorization"), "Bearer "+llmtest.Secret)
		}},
		{name: "-m keeps other settings", local: fmt.Sprintf("base_url = %q\nusername = \"ragnar\"", second.URL()), args: []string{"-m", "o", "-U", "freja"}, srv: second, check: func(r llmtest.Record, _ map[string]any) string {
			prompt, _, _ := strings.Cut(said(r), "\n")
			return same(r.Model, "other") + contains(r.System, "The user is called freja") + same(prompt, "hello")
		}},
		{name: "provider", local: fmt.Sprintf("base_url = %q\nprovider = \"anthropic\"\napi_key_env = \"KEY\"", claude.URL()), srv: claude, check: func(r llmtest.Record, _ map[string]any) string {
			return same(r.Wire, llmtest.Anthropic) + same(r.Model, "m")
		}},
		{name: "max_tokens", local: "max_tokens = 1234", check: func(r llmtest.Record, _ map[string]any) string { return same(r.MaxTokens, int64(1234)) }},
		{name: "reasoning", local: `reasoning = {effort = "high"}`, check: func(_ llmtest.Record, b map[string]any) string {
			return contains(fmt.Sprint(b), "high")
		}},
		{name: "username", local: `username = "ragnar"`, check: func(r llmtest.Record, _ map[string]any) string {
			return contains(r.System, "The user is called ragnar")
		}},
		{name: "-U over username", local: `username = "ragnar"`, args: []string{"-U", "freja"}, check: func(r llmtest.Record, _ map[string]any) string {
			return contains(r.System, "The user is called freja")
		}},
		{name: "system_prompt", local: `system_prompt = "You bake bread."`, check: func(r llmtest.Record, _ map[string]any) string { return contains(r.System, "You bake bread.") }},
		{name: "system_prompt.md", local: `system_prompt = "You bake bread."`, prompt: "You bake cake.", check: func(r llmtest.Record, _ map[string]any) string {
			return contains(r.System, "You bake cake.")
		}},
		{name: "tool_permissions", local: `tool_permissions = ["read"]`, check: func(r llmtest.Record, _ map[string]any) string {
			return same(offers(r, "read"), true) + same(offers(r, "list"), false) + same(offers(r, "bash"), false) + same(offers(r, "update_todos"), true)
		}},
		{name: "tools_off", local: `tools_off = ["update_todos"]`, check: func(r llmtest.Record, _ map[string]any) string {
			return same(offers(r, "update_todos"), false) + same(offers(r, "update_goals"), true)
		}},
		{name: "reflection", check: func(r llmtest.Record, _ map[string]any) string {
			return contains(said(r), "I like rye.") + same(offers(r, "update_reflection"), true)
		}},
		{name: "reflection_enabled", local: "reflection_enabled = false", check: func(r llmtest.Record, _ map[string]any) string {
			return same(strings.Contains(said(r), "I like rye."), false) + same(offers(r, "update_reflection"), false)
		}},
		{name: "-x", args: []string{"-x"}, check: func(r llmtest.Record, _ map[string]any) string {
			return same(strings.Contains(said(r), "I like rye."), false) + same(offers(r, "update_reflection"), false)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := tt.srv
			if srv == nil {
				srv = first
			}
			h := newHome(t, openAI(first, "")+more)
			h.write("prompts/reflection.md", "I like rye.")
			h.write("contexts/default/local.toml", tt.local+"\n")
			if tt.prompt != "" {
				h.write("contexts/default/system_prompt.md", tt.prompt)
			}
			before := len(srv.Requests())
			code, out, errs := h.fika(tt.env, append(append([]string{"run"}, tt.args...), "hello")...)
			if code != 0 || out != "hej\n" {
				t.Fatalf("exit status %d: %s%s", code, out, errs)
			}
			all := srv.Requests()
			if len(all) != before+1 {
				t.Fatalf("the server was asked %d times", len(all)-before)
			}
			r := all[before]
			var body map[string]any
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatal(err)
			}
			if wrong := tt.check(r, body); wrong != "" {
				t.Errorf("%s\n%s", wrong, r.Body)
			}
		})
	}
}

func same[T comparable](got, want T) string {
	if got != want {
		return fmt.Sprintf("got %v, want %v. ", got, want)
	}
	return ""
}

func contains(text, part string) string {
	if !strings.Contains(text, part) {
		return fmt.Sprintf("%q is missing. ", part)
	}
	return ""
}

func offers(r llmtest.Record, tool string) bool {
	for _, x := range r.Tools {
		if x.Name == tool {
			return true
		}
	}
	return false
}
