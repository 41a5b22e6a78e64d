package migrate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"fika"
	"fika/internal/settings/config"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const nifflerJSON = `{
  "yourName": "Ann",
  "config": "default",
  "instructionFiles": ["NIFFLER.md"],
  "agentTimeoutSeconds": 300,
  "defaultReasoningLevel": "low",
  "nats": {"url": "nats://localhost:4222", "timeout_ms": 30000, "reconnectAttempts": 5, "username": "u", "password": "p", "shiny": 1},
  "masterMode": {"enabled": true, "defaultAgent": "coder", "retryAttempts": 3},
  "agents": [
    {"id": "coder", "name": "Code Expert", "model": "sonnet", "toolPermissions": ["read", "edit"], "auto_start": true, "maxIdleSeconds": 60},
    {"id": "Bad Name", "model": "sonnet"},
    {"id": "lost", "model": "nothing"}
  ],
  "models": [
    {"nickname": "off", "model": "x", "base_url": "https://a/v1", "enabled": false},
    {"nickname": "sonnet", "model": "claude-sonnet", "base_url": "https://api.anthropic.com/v1", "api_env_var": "ANTHROPIC_API_KEY", "context": 200000, "inputCostPerMToken": 3, "outputCostPerMToken": 15.5, "reasoning": "medium", "temperature": 0.5},
    {"nickname": "deep", "model": "claude-sonnet", "base_url": "https://api.anthropic.com/v1", "api_key": "sk-ant-secret-secret", "maxThinkingTokens": 2000}
  ],
  "mcpServers": {"a": {"command": "b"}}
}`

func TestNiffler(t *testing.T) {
	dir, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
	source := write(t, filepath.Join(dir, "config.json"), nifflerJSON)
	r, err := Run(dir, home, noon)
	if err != nil {
		t.Fatal(err)
	}
	backup := source + ".backup-20260102-120000"
	if d := cmp.Diff(Result{Format: "niffler", Sources: []string{source}, Backups: []string{backup}, Written: filepath.Join(home, "config.toml"),
		Lost: r.Lost, Check: []string{
			"models[1].inputCostPerMToken: taken as US dollars per million tokens",
			"models[1].outputCostPerMToken: taken as US dollars per million tokens"}}, r); d != "" {
		t.Error(d)
	}
	if read(t, backup) != nifflerJSON || read(t, source) != nifflerJSON {
		t.Error("the source or its backup has changed")
	}
	text := read(t, r.Written)
	c, err := config.LoadHome(home)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if c.Username != "Ann" || c.Model != "sonnet" || c.TurnTimeout != 5*time.Minute || c.Reasoning.Effort != "low" ||
		c.NATS.User != "u" || c.Master.DefaultAgent != "coder" || len(c.Agents) != 2 || c.Agents[0].MaxIdle != time.Minute || c.Agents[1].Model != "" {
		t.Errorf("got\n%s", text)
	}
	want := []config.Model{
		{ID: "claude-sonnet", Nickname: "sonnet", BaseURL: "https://api.anthropic.com/v1", APIKeyEnv: "ANTHROPIC_API_KEY", ContextWindow: 200000,
			Prices: config.Prices{Input: 3, Output: 15.5, Cached: 3}, Priced: "config", Reasoning: &config.Reasoning{Enabled: true, Effort: "medium"}},
		{ID: "deep", WireModel: "claude-sonnet", BaseURL: "https://api.anthropic.com/v1", Reasoning: &config.Reasoning{Enabled: true, MaxTokens: 2000}},
	}
	if d := cmp.Diff(want, c.Models); d != "" {
		t.Error(d)
	}
	lost := strings.Join(r.Lost, "\n")
	for _, want := range []string{"mcpServers:", "config:", "instructionFiles:", "nats.shiny:", "masterMode.retryAttempts:", "models[0]: it was switched off",
		"models[1].temperature:", "models[2].api_key: keys are not kept", `id = "Bad Name": id:`, `model = "nothing": model "nothing" not found`} {
		if !strings.Contains(lost, want) {
			t.Errorf("missing %q in\n%s", want, lost)
		}
	}
	if strings.Contains(text+lost, "sk-ant") {
		t.Error("a key was repeated")
	}
}

func TestChibi(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	source := write(t, filepath.Join(dir, "config.toml"), `api_key = "sk-or-secret"
model = "anthropic/claude-sonnet"
username = "ann"
context_window_limit = 100000
warn_threshold_percent = 75.0
auto_compact = true
max_recursion_depth = 15
lock_heartbeat_seconds = 20
fuel = 3
reflection_character_limit = -4
[api]
max_tokens = 900
temperature = 0.5
[api.reasoning]
effort = "high"
exclude = true
[url_policy]
default = "deny"
[models."openai/gpt"]
context_window = 1000
`)
	models := write(t, filepath.Join(dir, "models.toml"), "[models.\"anthropic/claude-sonnet\"]\ncontext_window = 200000\n[models.a_b]\n[models.aB]\n")
	r, err := Run(source, home, noon)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{source, models}, r.Sources); d != "" || len(r.Backups) != 2 {
		t.Errorf("%s %v", d, r.Backups)
	}
	c, err := config.LoadHome(home)
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.Resolve(config.Inputs{Config: c, Agent: "default", Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if s.Model.BaseURL != openRouter || s.Model.APIKeyEnv != openRouterKey || s.ContextWindow != 100000 || s.Reasoning.Effort != "high" ||
		s.Username != "ann" || s.MaxTokens != 900 || s.MaxRecursionDepth != 15 || s.LockHeartbeat != 20*time.Second || len(c.Models) != 4 {
		t.Errorf("got %+v\n%s", s, read(t, r.Written))
	}
	lost := strings.Join(r.Lost, "\n")
	for _, want := range []string{"api_key: keys are not kept", "fuel:", "api.temperature:", "api.reasoning.exclude:", "url_policy:", "reflection_character_limit = -4: "} {
		if !strings.Contains(lost, want) {
			t.Errorf("missing %q in\n%s", want, lost)
		}
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	good := write(t, filepath.Join(dir, "good.json"), "{}")
	full := t.TempDir()
	existing := write(t, filepath.Join(full, "config.toml"), "# mine\n")
	for name, test := range map[string]struct {
		source, home string
		kind         fika.Kind
		want         string
	}{
		"exists":      {good, full, fika.Conflict, "was left as it is"},
		"no source":   {filepath.Join(dir, "none"), t.TempDir(), fika.NotFound, "there is no config.json"},
		"no file":     {full + "/..", t.TempDir(), fika.NotFound, "there is no config.json"},
		"broken json": {write(t, filepath.Join(dir, "broken.json"), "{\n\"a\": ,\n}"), t.TempDir(), fika.Invalid, "line 2"},
		"broken toml": {write(t, filepath.Join(dir, "broken.toml"), "a = 1\nb =\n"), t.TempDir(), fika.Invalid, "line 2, column"},
		"not a table": {write(t, filepath.Join(dir, "list.json"), "[]"), t.TempDir(), fika.Invalid, "list.json"},
		"too big":     {write(t, filepath.Join(dir, "big.json"), strings.Repeat(" ", maxSource+1)), t.TempDir(), fika.Invalid, "bytes"},
	} {
		r, err := Run(test.source, test.home, noon)
		if fika.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) || len(r.Backups) != 0 {
			t.Errorf("%s: got %v, %v", name, err, r)
		}
	}
	if read(t, existing) != "# mine\n" {
		t.Error("an existing file was changed")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*backup*")); len(left) != 0 {
		t.Errorf("backups of nothing: %v", left)
	}
}

func TestBackupIsNeverOverwritten(t *testing.T) {
	dir := t.TempDir()
	source := write(t, filepath.Join(dir, "config.json"), "{}")
	backup := write(t, source+".backup-20260102-120000", "older")
	home := t.TempDir()
	if _, err := Run(source, home, noon); fika.KindOf(err) != fika.Storage {
		t.Errorf("got %v", err)
	}
	if read(t, backup) != "older" {
		t.Error("the older backup was overwritten")
	}
	if _, err := os.Stat(filepath.Join(home, "config.toml")); err == nil {
		t.Error("written without a backup")
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	want := write(t, filepath.Join(dir, ".chibi", "config.toml"), "")
	if got := FindForeign(dir); !cmp.Equal(got, []string{want}) {
		t.Errorf("got %v", got)
	}
}

// Whatever the source says, the result is a file that fika loads.
func FuzzMigrate(f *testing.F) {
	f.Add(nifflerJSON, true)
	f.Add(`{"agents":[{"id":"a\nb","name":["x",1]}],"models":[{"model":"é\u0001","context":1e300,"reasoning":{"effort":3}}]}`, true)
	f.Add("model = \"x\"\nusername = [\"a\"]\n[models.'a\"]b']\ncontext_window = 1.5\n[api]\nreasoning = 5", false)
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		var fields map[string]any
		d := &draft{}
		o := object{draft: d}
		if isJSON {
			if json.Unmarshal([]byte(text), &fields) != nil {
				return
			}
			o.fields = fields
			convertNiffler(d, o)
		} else {
			if toml.Unmarshal([]byte(text), &fields) != nil {
				return
			}
			o.fields = fields
			convertChibi(d, o)
		}
		out, err := d.settleText("c.toml", "# heading\n")
		if err != nil {
			if len(text) < 2000 {
				t.Fatalf("%v\n%s", err, d.text.String())
			}
			return
		}
		if _, err := config.Parse("c.toml", []byte(out)); err != nil {
			t.Fatal(err)
		}
	})
}

// nifflerTOML is a system of agents in TOML, with models that name their
// protocol and their price by the token.
const nifflerTOML = `[nats]
server = "nats://localhost:4222"
timeout_ms = 30000
reconnect_attempts = 5

[master]
default_agent = "coder"
auto_start_agents = true

[[agents]]
id = "coder"
name = "Code Expert"
model = "claude-3.5-sonnet"
capabilities = ["coding"]
tool_permissions = ["read", "edit", "bash"]
auto_start = true
persistent = true

[[agents]]
id = "researcher"
model = "haiku"
persistent = false
max_idle_seconds = 600

[[models]]
id = "claude-3.5-sonnet"
nickname = "sonnet"
base_url = "https://proxy.example/v1"
type = "anthropic"
api_key_env = "ANTHROPIC_API_KEY"
inputCostPerToken = 0.000003
output_cost_per_token = 0.000015

[[models]]
id = "claude-3-haiku"
nickname = "haiku"
base_url = "https://api.anthropic.com/v1"
api_key_env = "ANTHROPIC_API_KEY"
type = "vertex"
`

// TestB12NifflersTOMLIsNoChibis: both have a config.toml; what is in it says
// whose it is, and everything is carried over or named.
func TestB12NifflersTOMLIsNoChibis(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	source := write(t, filepath.Join(dir, ".config", "niffler", "config.toml"), nifflerTOML)
	write(t, filepath.Join(dir, ".config", "niffler", "config.json"), "{}") // what it had before
	write(t, filepath.Join(dir, ".config", "niffler", "default", "agents", "poet.md"), "## System Prompt\nRhyme.")
	if found := FindForeign(dir); !cmp.Equal(found, []string{source}) {
		t.Fatalf("found %q", found)
	}
	write(t, filepath.Join(home, "config.toml"), config.ExampleFile()) // as a new home has it
	r, err := Run(source, home, noon)
	if err != nil || r.Format != "niffler" {
		t.Fatalf("%+v, %v", r, err)
	}
	c, err := config.LoadHome(home)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Agents) != 2 || c.Agents[0].Name != "Code Expert" || c.Agents[1].MaxIdle != 10*time.Minute || c.NATS.Server != "nats://localhost:4222" || c.Master.DefaultAgent != "coder" {
		t.Errorf("got\n%s", read(t, r.Written))
	}
	m := c.Models[0]
	if m.Provider != config.Anthropic || m.Nickname != "sonnet" || m.Prices.Input != 3 || m.Prices.Output != 15 {
		t.Errorf("got %+v\n%s", m, read(t, r.Written))
	}
	lost, check := strings.Join(r.Lost, "\n"), strings.Join(r.Check, "\n")
	if !strings.Contains(lost, "models[1].type:") || !strings.Contains(lost, "agents/*.md (1): bring each along with: fika agent import") || !strings.Contains(check, "inputCostPerToken: taken as US dollars per token: 3 per million") {
		t.Errorf("lost %s\ncheck %s", lost, check)
	}
}

// TestB12WhatLiesBesideIsNamed: contexts, prompts and plugins are no settings.
func TestB12WhatLiesBesideIsNamed(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "config.toml"), "model = \"x/y\"\napi_key = \"sk\"\n")
	write(t, filepath.Join(dir, "contexts", "work", "context.json"), "{}")
	write(t, filepath.Join(dir, "contexts", "play", "context.json"), "{}")
	write(t, filepath.Join(dir, "prompts", "chibi.md"), "hi")
	write(t, filepath.Join(dir, "plugins", "coffee-table"), "hi")
	r, err := Run(dir, home, noon)
	if err != nil || r.Format != "chibi" {
		t.Fatalf("%+v, %v", r, err)
	}
	lost := strings.Join(r.Lost, "\n")
	for _, want := range []string{"contexts/* (2): conversations are not settings; bring each along with: fika context import", "prompts/*.md (1)", "plugins/* (1)"} {
		if !strings.Contains(lost, want) {
			t.Errorf("missing %q in\n%s", want, lost)
		}
	}
}

func TestForeignConfiguration(t *testing.T) {
	home := t.TempDir()
	if got := ForeignConfig(home); got != "" {
		t.Errorf("got %q", got)
	}
	path := write(t, filepath.Join(home, "config.json"), "{}")
	if got := ForeignConfig(home); got != path {
		t.Errorf("got %q", got)
	}
	write(t, filepath.Join(home, "config.toml"), "model = \"x\"\n")
	if got := ForeignConfig(home); got != "" {
		t.Errorf("a home with settings of its own: %q", got)
	}
}
