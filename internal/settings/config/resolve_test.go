package config

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/settings/toml"
)

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("config.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustLocal(t *testing.T, text string) *Local {
	t.Helper()
	l, err := ParseLocal("local.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func from(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

const layered = `username = "global"
model = "a"
auto_compact = true
system_prompt = "prompts/all.md"
[[agents]]
id = "coder"
username = "entry"
model = "bee"
workspace = "~/src"
reasoning = {effort = "high"}
turn_timeout_seconds = "10m"
[[models]]
id = "a"
base_url = "https://api.anthropic.com/v1/messages"
reasoning = {max_tokens = 100}
context_window = 1000
max_tokens = 50
[[models]]
id = "b"
nickname = "bee"
base_url = "http://localhost:1234/v1/"
model = "wire/b"
`

func TestPrecedence(t *testing.T) {
	c := mustParse(t, layered)
	local := mustLocal(t, "\nusername = \"local\"\n")
	env := from(map[string]string{"FIKA_USERNAME": "environment"})
	for _, test := range []struct {
		name         string
		in           Inputs
		want, origin string
	}{
		{"default", Inputs{Keys: from(map[string]string{"OPENAI_API_KEY": "x"})}, "user", "default"},
		{"config", Inputs{Config: c, Agent: "other"}, "global", "config.toml:1"},
		{"entry", Inputs{Config: c, Agent: "coder"}, "entry", "config.toml:7"},
		{"local", Inputs{Config: c, Agent: "coder", Local: local}, "local", "local.toml:2"},
		{"environment", Inputs{Config: c, Agent: "coder", Local: local, Env: env}, "environment", "environment FIKA_USERNAME"},
		{"flag", Inputs{Config: c, Agent: "coder", Local: local, Env: env, Flags: map[string]string{"username": "flag"}}, "flag", "flag --username"},
		{"named flag", Inputs{Config: c, Flags: map[string]string{"username": "flag"}, FlagNames: map[string]string{"username": "-U"}}, "flag", "flag -U"},
	} {
		s, err := Resolve(test.in)
		if err != nil || s.Username != test.want || s.Origins["username"] != test.origin {
			t.Errorf("%s: %q from %q, %v", test.name, s.Username, s.Origins["username"], err)
		}
	}
}

func TestResolve(t *testing.T) {
	c := mustParse(t, layered)
	t.Setenv("HOME", "/home/ann")
	s, err := Resolve(Inputs{Config: c, Agent: "coder", Home: "/h"})
	if err != nil {
		t.Fatal(err)
	}
	want := Model{ID: "b", Nickname: "bee", Provider: OpenAI, BaseURL: "http://localhost:1234/v1", WireModel: "wire/b"}
	if d := cmp.Diff(want, s.Model); d != "" {
		t.Error(d)
	}
	if s.Workspace != "/home/ann/src" || s.SystemPromptFile != "/h/prompts/all.md" || s.SystemPrompt != "" || !s.AutoCompact {
		t.Errorf("got %+v", s)
	}
	if s.Reasoning == nil || s.Reasoning.Effort != "high" || s.ContextWindow != DefaultContextWindow || s.TurnTimeout != 10*time.Minute {
		t.Errorf("got %+v", s)
	}
	s, err = Resolve(Inputs{Config: c, Agent: "other", Local: mustLocal(t, "context_window_limit = 500\nreasoning = {enabled = false}\ntool_permissions = []")})
	if err != nil {
		t.Fatal(err)
	}
	if s.Model.ID != "a" || s.Model.Provider != Anthropic || s.Model.BaseURL != "https://api.anthropic.com/v1" || s.Model.APIKeyEnv != "ANTHROPIC_API_KEY" {
		t.Errorf("got %+v", s.Model)
	}
	if s.Reasoning == nil || s.Reasoning.Enabled || s.ContextWindow != 500 || s.MaxTokens != 50 || s.ToolPermissions == nil || len(s.ToolPermissions) != 0 {
		t.Errorf("got %+v", s)
	}
}

// A key is never sent to another address than the one it was named for.
// TestLimits: the most specific holds, and where there is none it is [chat]'s.
func TestLimits(t *testing.T) {
	c := mustParse(t, "[chat]\nmax_depth = 50\nmax_turns_per_hour = 9\n[[agents]]\nid = \"coder\"\nmodel = \"gpt-5.5\"\nmax_depth = 60\nmax_cost_per_chain = 1.5\nmax_chain_age = \"2h\"\n"+
		"[[agents]]\nid = \"other\"\nmodel = \"gpt-5.5\"\n")
	local := mustLocal(t, "max_turns_per_hour = 0\nmax_cost_per_chain = 0.25\n")
	s, err := Resolve(Inputs{Config: c, Agent: "coder", Local: local})
	if err != nil {
		t.Fatal(err)
	}
	want := Limits{MaxDepth: 60, MaxTurnsPerChain: 200, MaxCostPerChain: 250_000, MaxChainAge: 2 * time.Hour, MaxEcho: 6}
	if d := cmp.Diff(want, s.Chat.Limits); d != "" {
		t.Error(d)
	}
	for key, origin := range map[string]string{"max_depth": "config.toml:7", "max_turns_per_hour": "local.toml:1", "max_turns_per_chain": "default"} {
		if s.Origins[key] != origin {
			t.Errorf("%s is from %s", key, s.Origins[key])
		}
	}
	s, err = Resolve(Inputs{Config: c, Agent: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c.Chat.Limits, s.Chat.Limits); d != "" || s.Origins["max_depth"] != "config.toml:2" {
		t.Error(d, s.Origins["max_depth"])
	}
	for text, want := range map[string]string{
		"max_depth = 3":                    "set in [chat] for all agents",
		"[chat]\nmax_echo = 3":             "too few to tell",
		"[chat]\nmax_depth = -1":           "at least 0",
		"[chat]\nmax_cost_per_chain=\"x\"": "must be a number",
	} {
		if _, err := Parse("config.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRoutes(t *testing.T) {
	const models = "[[models]]\nid = \"a\"\nbase_url = \"https://api.anthropic.com/v1\"\napi_key_env = \"MY_KEY\"\n[[models]]\nid = \"openai/x\"\n"
	type result struct{ provider, url, key string }
	for name, test := range map[string]struct {
		config, local string
		flags         map[string]string
		want          result
	}{
		"own definition":          {"model = \"a\"\n" + models, "", nil, result{Anthropic, anthropicURL, "MY_KEY"}},
		"own definition wins":     {"model = \"a\"\nbase_url = \"https://x/v1\"\napi_key_env = \"TOP\"\nprovider = \"openai\"\n" + models, "", nil, result{Anthropic, anthropicURL, "MY_KEY"}},
		"local base_url":          {"model = \"a\"\n" + models, "base_url = \"http://x/v1\"", nil, result{OpenAI, "http://x/v1", ""}},
		"local base_url and key":  {"model = \"a\"\n" + models, "base_url = \"http://x/v1\"\napi_key_env = \"K\"\nprovider = \"anthropic\"", nil, result{Anthropic, "http://x/v1", "K"}},
		"local key only":          {"model = \"a\"\n" + models, "api_key_env = \"K\"", nil, result{Anthropic, anthropicURL, "K"}},
		"no key wanted":           {"model = \"a\"\n" + models, "api_key_env = \"\"", nil, result{Anthropic, anthropicURL, ""}},
		"flag base_url":           {"model = \"a\"\n" + models, "", map[string]string{"base_url": "https://openrouter.ai/api/v1"}, result{OpenAI, openRouterURL, "OPENROUTER_API_KEY"}},
		"address for all":         {"model = \"openai/x\"\nbase_url = \"https://x/v1\"\napi_key_env = \"TOP\"\n" + models, "", nil, result{OpenAI, "https://x/v1", "TOP"}},
		"address told by id":      {"model = \"openai/x\"\n" + models, "", nil, result{OpenAI, openRouterURL, "OPENROUTER_API_KEY"}},
		"claude":                  {"model = \"claude-opus-5\"", "", nil, result{Anthropic, anthropicURL, "ANTHROPIC_API_KEY"}},
		"gpt":                     {"model = \"o3\"", "", nil, result{OpenAI, openAIURL, "OPENAI_API_KEY"}},
		"undefined with base_url": {"", "model = \"anything\"\nbase_url = \"http://127.0.0.1:1/v1\"", nil, result{OpenAI, "http://127.0.0.1:1/v1", ""}},
		"scripted":                {"model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r\"\n", "", nil, result{Scripted, "", ""}},
	} {
		s, err := Resolve(Inputs{Config: mustParse(t, test.config), Local: mustLocal(t, test.local), Flags: test.flags, Home: "/h"})
		if got := (result{s.Model.Provider, s.Model.BaseURL, s.Model.APIKeyEnv}); err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if s.Model.Rules != "" && s.Model.Rules != "/h/r" {
			t.Errorf("rules: %s", s.Model.Rules)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	c := mustParse(t, layered)
	for want, in := range map[string]Inputs{
		`choose model: model "beee" not found; did you mean bee?`:                                                                                                         {Config: c, Flags: map[string]string{"model": "beee"}},
		`local.toml:1: model "zzzzz" not found; known are a, b, bee`:                                                                                                      {Config: c, Local: mustLocal(t, `model = "zzzzz"`)},
		`setting "modell" not found; did you mean model?`:                                                                                                                 {Config: c, Flags: map[string]string{"modell": "a"}},
		`environment FIKA_AUTO_COMPACT: auto_compact must be true or false; this is "maybe"`:                                                                              {Config: c, Env: from(map[string]string{"FIKA_AUTO_COMPACT": "maybe"})},
		`environment FIKA_MAX_RECURSION_DEPTH: max_recursion_depth is not a number fika can hold`:                                                                         {Config: c, Env: from(map[string]string{"FIKA_MAX_RECURSION_DEPTH": "x"})},
		`flag --reasoning: reasoning must be one of none, minimal, low, medium, high, xhigh, max; this is "hihg"; did you mean high?`:                                     {Config: c, Flags: map[string]string{"reasoning": "hihg"}},
		`flag -u: username does not fit: "a b" cannot be a username: use 1 to 32 letters or digits of one script, _ or -; all, auto, system, tool and workflow are taken`: {Config: c, Flags: map[string]string{"username": "a b"}, FlagNames: map[string]string{"username": "-u"}},
		`flag --username: the username "coder" is the id of an agent: people and agents cannot share a name`:                                                              {Config: c, Flags: map[string]string{"username": "coder"}},
		`flag --env: env can only be set in a file`:                                                                                                                       {Config: c, Flags: map[string]string{"env": "A=b"}},
	} {
		_, err := Resolve(in)
		if fika.KindOf(err) != fika.Invalid || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestGivenAsText(t *testing.T) {
	c := mustParse(t, layered)
	s, err := Resolve(Inputs{Config: c, Env: from(map[string]string{
		"FIKA_AUTO_COMPACT": "0", "FIKA_TOOL_PERMISSIONS": "read, list", "FIKA_TURN_TIMEOUT_SECONDS": "90",
		"FIKA_WARN_THRESHOLD_PERCENT": "12.5", "FIKA_MAX_TOKENS": "7", "FIKA_ENV": "ignored",
	}), Flags: map[string]string{"reasoning": "2000", "turn_timeout": "2m", "tools_off": ""}})
	if err != nil {
		t.Fatal(err)
	}
	if s.AutoCompact || !slices.Equal(s.ToolPermissions, []string{"read", "list"}) || s.TurnTimeout != 2*time.Minute ||
		s.WarnThresholdPercent != 12.5 || s.MaxTokens != 7 || s.Reasoning.MaxTokens != 2000 || s.Env != nil {
		t.Errorf("got %+v", s)
	}
}

func TestDefaultModel(t *testing.T) {
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/tags" {
			w.Write([]byte(`{"models":[{"name":"qwen3:8b"},{"name":"other"}]}`))
		}
	}))
	defer ollama.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, test := range []struct {
		env    map[string]string
		ollama string
		want   string
	}{
		{map[string]string{"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "y"}, closed.URL, "anthropic claude-sonnet-5-5"},
		{map[string]string{"OPENAI_API_KEY": "x", "OPENROUTER_API_KEY": "y"}, closed.URL, "openai gpt-5.5"},
		{map[string]string{"OPENROUTER_API_KEY": "y"}, closed.URL, "openai openrouter/auto"},
		{map[string]string{"GEMINI_API_KEY": "z"}, closed.URL, "gemini gemini-2.5-pro"},
		{nil, ollama.URL + "/v1", "openai qwen3:8b"},
		{nil, closed.URL + "/v1", " "},
	} {
		m, err := defaultModel(from(test.env), test.ollama)
		if got := m.Provider + " " + m.WireModel; got != test.want {
			t.Errorf("%v: got %s, %v", test.env, got, err)
		}
		if test.want == " " && (fika.KindOf(err) != fika.Invalid || !strings.Contains(err.Error(), "export ANTHROPIC_API_KEY")) {
			t.Errorf("got %v", err)
		}
	}
}

// TestDefaultModelAsDefined: where no file chooses a model, the one that a key means
// is as its [[models]] entry has it, with the address that the key may go to.
func TestDefaultModelAsDefined(t *testing.T) {
	c := mustParse(t, "[[models]]\nid = \"claude-sonnet-5-5\"\nbase_url = \"http://127.0.0.1:1234\"\nprices = {input = 3, output = 15}\n")
	s, err := Resolve(Inputs{Config: c, Agent: "coder", Env: from(map[string]string{"ANTHROPIC_API_KEY": "x"})})
	if err != nil || !strings.HasPrefix(s.Model.BaseURL, "http://127.0.0.1:1234") || s.Model.Prices.Input != 3 {
		t.Errorf("got %+v, %v", s.Model, err)
	}
}

func TestCost(t *testing.T) {
	p := Prices{Input: 3, Output: 15, Cached: 0.3}
	if got := p.Cost(fika.Usage{Input: 1_000_000, Cached: 500_000, Output: 100_000}); got != 1_500_000+150_000+1_500_000 {
		t.Errorf("got %d", got)
	}
	c := mustParse(t, "[[models]]\nid = \"gpt-5\"\nprices = {input = 2, output = 8.5}\n[chat]\nmax_cost_per_chain = 0.25\n")
	if p := c.Models[0].Prices; p.Cached != 2 || !c.Models[0].PriceKnown() || c.Chat.MaxCostPerChain != 250_000 {
		t.Errorf("got %+v, %d", p, c.Chat.MaxCostPerChain)
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "1y": 365 * 24 * time.Hour, "1y1d": 366 * 24 * time.Hour, "11y": -1, "10y1d": -1, "1d1y": -1, "2h30m": 150 * time.Minute, "0s": 0,
		"": -1, "d": -1, "-5s": -1, "5": -1, "99999d": -1, "1d-3h": -1, "NaNd": -1, "1w": -1, "999999h": -1,
	} {
		got, ok := ParseDuration(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: got %s %v", text, got, ok)
		}
	}
}

func TestShow(t *testing.T) {
	c := mustParse(t, layered+"[nats]\nuser = \"u\"\npassword = \"hush\"\n")
	c.Store.URL = "postgres://me:hush@db/fika"
	s, err := Resolve(Inputs{Config: c, Agent: "coder", Home: "/h", Local: mustLocal(t, `env = {TOKEN = "hush"}`)})
	if err != nil {
		t.Fatal(err)
	}
	all := append(s.Show(), c.Show()...)
	for _, row := range all {
		if strings.Contains(row.Value, "hush") {
			t.Errorf("a secret is shown: %+v", row)
		}
	}
	for _, want := range []Shown{
		{"model", `"b"`, "config.toml:8"}, {"base_url", `"http://localhost:1234/v1"`, "model b"}, {"tool_permissions", "", "default"},
		{"env", `{TOKEN = "…"}`, "local.toml:1"}, {"nats.timeout", `"30s"`, "default"}, {"turn_timeout", `"10m"`, "config.toml:11"},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("missing %+v", want)
		}
	}
}

// Every key of the reference is known to the strict reader with its default
// and its example.
func TestReference(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range KeyReference() {
		if seen[d.Key] || d.Meaning == "" || d.Type == "" {
			t.Errorf("bad entry %+v", d)
		}
		seen[d.Key] = true
		for _, v := range []string{d.Default, d.Example} {
			if v == "" || strings.Contains(v, "…") {
				continue
			}
			text := d.Key + " = " + v
			if list, key, inside := strings.Cut(d.Key, "."); inside && (list == "agents" || list == "models" || list == "rules" || list == "mcp" || list == "executors" || list == "budgets" || list == "schedules" || list == "bus_members" || list == "webhooks") {
				text = "[[" + list + "]]\n" + key + " = " + v
			}
			if key, inside := strings.CutPrefix(d.Key, "agents.model_rules."); inside {
				text = "[[agents]]\n[[agents.model_rules]]\n" + key + " = " + v
			}
			var p Problems
			Default().readSource(toml.Read("x", []byte(text), &p), false)
			for _, q := range p.List {
				if !strings.Contains(q.Message, "has no id") && !strings.Contains(q.Message, "has no name") && !strings.Contains(q.Message, "this webhook has no") && !strings.Contains(q.Message, "this rule does nothing") && !strings.Contains(q.Message, "this rule says nothing") && !strings.Contains(q.Message, "tool: a rule names") && !strings.Contains(q.Message, "this budget") && !strings.Contains(q.Message, "this schedule") && !strings.Contains(q.Message, "a budget is more than 0") {
					t.Errorf("%s: %s", text, q.Message)
				}
			}
		}
	}
	for _, key := range []string{"model", "nats.server", "nats.tls.ca", "agents.id", "models.prices.input", "plugins.NAME.env", "reasoning.effort", "chat.max_depth"} {
		if !seen[key] {
			t.Errorf("%s is missing", key)
		}
	}
}

func TestExample(t *testing.T) {
	if c := mustParse(t, ExampleFile()); len(c.where) != 0 {
		t.Errorf("the example sets %v", c.where)
	}
	var b strings.Builder
	for line := range strings.Lines(ExampleFile()) {
		if rest, ok := strings.CutPrefix(line, "# "); ok && (strings.Contains(rest, " = ") || strings.HasPrefix(rest, "[")) {
			line = rest
		}
		b.WriteString(line)
	}
	c := mustParse(t, b.String())
	if len(c.Agents) != 1 || len(c.Models) != 2 || c.Chat.MaxDepth != 100 {
		t.Errorf("got %+v", c)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(layered)
	f.Add(ExampleFile())
	f.Add("a.b = {c = [1, {d = 2}]}\n[[agents]]\nid='x'\n[agents.env]\nA=\"b\"")
	f.Add("\ufeffmodel = \"\"\"x\r\ny\"\"\"\r\n[nats\n[hub]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("c.toml", []byte(text))
		ParseLocal("l.toml", []byte(text))
		if (c == nil) == (err == nil) {
			t.Fatal("both or none")
		}
		for _, p := range problemPlaces(err) {
			if p.Line < 1 && len(text) < toml.MaxFile || p.Column < 0 || p.Line > 1+strings.Count(text, "\n") {
				t.Fatalf("no such place: %v", p)
			}
		}
		if c != nil {
			Resolve(Inputs{Config: c, Agent: "coder", Flags: map[string]string{"model": "gpt-5"}})
		}
	})
}

func problemPlaces(err error) []Problem {
	if p, ok := err.(*Problems); ok {
		return p.List
	}
	return nil
}

// Setting a key changes nothing else, whatever the file looks like.
func FuzzSetKey(f *testing.F) {
	f.Add(layered, "x")
	f.Add("# c\n[nats]\r\nport=1", "é\"\n")
	f.Fuzz(func(t *testing.T, text, value string) {
		before := toml.Read("c", []byte(text), &Problems{})
		literal := QuoteTOML(strings.ToValidUTF8(value, "?"))
		out, err := editKey("c", []byte(text), []string{"model"}, literal)
		if err != nil {
			return
		}
		after := toml.Read("c", out, &Problems{})
		if after.Broken || !holdsValue(after.Root, []string{"model"}, literal) {
			t.Fatalf("not set in %q", out)
		}
		for _, e := range before.Root.Entries {
			if now := after.Root.Get(e.Name); e.Name != "model" && (now == nil || now.Value.Kind != e.Value.Kind) {
				t.Fatalf("%q was lost in %q", e.Name, out)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	path := filepath.Join("testdata", "example.toml")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(path); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	c, err := Load(filepath.Join("testdata", "example.toml"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Resolve(Inputs{Config: c, Agent: "coder", Env: func(string) string { return "" }}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAccountIsTheUsername: the person goes by the name of their account, unless they
// have chosen another or somebody else is called so.
func TestAccountIsTheUsername(t *testing.T) {
	for _, tt := range []struct{ account, file, want, origin string }{
		{"anna", "", "anna", "environment USER"},
		{"anna", "username = \"kim\"\n", "kim", "config.toml:1"},
		{"", "", "user", "default"},
		{"anna maria", "", "user", "default"},
		{"root; rm", "", "user", "default"},
		{"system", "", "user", "default"},
		{"Coder", "[[agents]]\nid = \"coder\"\n", "user", "default"},
		{"build", "[[bus_members]]\nname = \"build\"\n", "user", "default"},
	} {
		home := t.TempDir()
		file := filepath.Join(home, "config.toml")
		if err := os.WriteFile(file, []byte(tt.file+"[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"r\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadLayers(Layers{Home: home, Account: tt.account})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Inputs{Config: c, Agent: "other"}.mergeLayers()
		if err != nil || m.Username != tt.want || filepath.Base(m.origins["username"]) != tt.origin {
			t.Errorf("%+v: %q from %q, %v", tt, m.Username, m.origins["username"], err)
		}
	}
}
