package config

import (
	"errors"
	"fika/internal/settings/toml"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
)

func TestExampleLoadsUnchanged(t *testing.T) {
	c, err := Load("testdata/example.toml")
	if err != nil {
		t.Fatal(err)
	}
	if got := []any{c.NATS.Server, c.NATS.Timeout, c.NATS.ReconnectDelay, c.NATS.SubjectPrefix}; !cmp.Equal(got,
		[]any{"nats://localhost:4222", 30 * time.Second, time.Second, "fika"}) {
		t.Errorf("nats: %v", got)
	}
	if m := c.Master; m.Enabled || m.DefaultAgent != "coder" || !m.AutoStartAgents || m.HeartbeatCheckInterval != 30*time.Second {
		t.Errorf("master: %+v", m)
	}
	if c.NATS.ReconnectAttempts != 5 {
		t.Errorf("reconnect_attempts = %d", c.NATS.ReconnectAttempts)
	}
	if len(c.Agents) != 4 || len(c.Models) != 4 {
		t.Fatalf("%d agents, %d models", len(c.Agents), len(c.Models))
	}
	r := c.Agent("researcher")
	if r.Model != "claude-3-haiku" || r.AutoStart || r.Persistent || r.MaxIdle != 10*time.Minute || !r.Wake || r.MaxConcurrent != 1 {
		t.Errorf("researcher: %+v", r)
	}
	if !cmp.Equal(r.ToolPermissions, []string{"read", "list", "fetch"}) {
		t.Errorf("permissions: %v", r.ToolPermissions)
	}
	s, err := Resolve(Inputs{Config: c, Agent: "bash_helper", Home: "/home"})
	if err != nil {
		t.Fatal(err)
	}
	want := Model{ID: "gpt-4o", Nickname: "gpt4o", Provider: OpenAI, BaseURL: "https://api.openai.com/v1", APIKeyEnv: "OPENAI_API_KEY", WireModel: "gpt-4o",
		ContextWindow: 128_000, MaxOutput: 16_384, Prices: Prices{Input: 2.5, Output: 10, Cached: 1.25}}
	want.Known = "https://developers.openai.com/api/docs/pricing, copy read 2026-11-23"
	want.Priced = want.Known
	if d := cmp.Diff(want, s.Model); d != "" {
		t.Error(d)
	}
	if s.Origins["model"] != "testdata/example.toml:57" || s.Origins["username"] != "default" {
		t.Errorf("origins: %v", s.Origins)
	}
}

func TestMissingFilesAreDefaults(t *testing.T) {
	c, err := LoadHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Default(), c, cmp.AllowUnexported(Config{}, fileText{})); d != "" {
		t.Error(d)
	}
}

// A configuration that is no regular file is refused before it is read: a pipe
// would never end, nor would a device.
func TestD18NotAFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]string{t.TempDir(): "a folder", pipe: "a pipe", "/dev/zero": "a device"} {
		_, err := Load(path)
		if fika.KindOf(err) != fika.Invalid || !strings.Contains(fmt.Sprint(err), kind) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestLastGood(t *testing.T) {
	dir := t.TempDir()
	file, kept := filepath.Join(dir, "config.toml"), filepath.Join(dir, "config.last")
	if _, _, err := LoadLast(kept); fika.KindOf(err) != fika.NotFound {
		t.Errorf("without one: %v", err)
	}
	if err := os.WriteFile(file, []byte("username = \"ann\"\n[nats]\nport = 4000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file)
	if err == nil {
		var changed bool
		if changed, err = c.KeepCopy(kept); !changed {
			t.Error("the first is not new")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := c.KeepCopy(kept); changed || err != nil {
		t.Errorf("the same again: %v %v", changed, err)
	}
	last, _, err := LoadLast(kept)
	if err != nil || last.Username != "ann" || last.NATS.Port != 4000 {
		t.Errorf("%+v %v", last, err)
	}
	if p, _ := last.WhereSet("nats.port"); p.File != file || p.Line != 3 {
		t.Errorf("place %v", p)
	}
	if err := os.WriteFile(kept, []byte("{garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadLast(kept); fika.KindOf(err) != fika.NotFound {
		t.Errorf("garbage: %v", err)
	}
}

func TestStamp(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	old := time.Now().Add(-time.Hour)
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, dir} {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	missing := StampOf(file)
	write("1", old)
	first := StampOf(file, dir)
	if StampOf(file).SameAs(missing) || !StampOf(file, dir).SameAs(first) {
		t.Error("a file that came, or one that stayed as it was")
	}
	write("2", old.Add(time.Second))
	if StampOf(file, dir).SameAs(first) {
		t.Error("a file of another time")
	}
	write("3", time.Now())
	if young := StampOf(file, dir); StampOf(file, dir).SameAs(young) {
		t.Error("a file that was only just written may change within the same tick")
	}
}

func TestStampOfReplaced(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	age := func() {
		t.Helper()
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
		old = old.Add(time.Second)
	}
	age()
	first := StampOf(dir + "/none").CombinedWith(StampOfReplaced(dir))
	if !StampOf(dir + "/none").CombinedWith(StampOfReplaced(dir)).SameAs(first) {
		t.Error("nothing has changed")
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	age()
	if StampOf(dir + "/none").CombinedWith(StampOfReplaced(dir)).SameAs(first) {
		t.Error("a file came into the folder")
	}
	if err := os.Chtimes(dir, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if young := StampOf().CombinedWith(StampOfReplaced(dir)); StampOf().CombinedWith(StampOfReplaced(dir)).SameAs(young) {
		t.Error("what has only just changed may change within the same tick")
	}
}

// problemsOf loads text as a config.toml and gives what is said of it.
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var p *Problems
	if !errors.As(err, &p) {
		t.Fatalf("not *Problems: %v", err)
	}
	if fika.KindOf(err) != fika.Invalid {
		t.Errorf("kind %s", fika.KindOf(err))
	}
	return strings.Split(p.String(), "\n")
}

func TestProblems(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"unknown keys": {"modle = \"gpt-5\"\n[nats]\n  sever = 1\nfoo = 2\n", []string{
			`c.toml:1:1: unknown key "modle" at the top level; did you mean model?`,
			`c.toml:3:3: unknown key "sever" in nats; did you mean server?`,
			`c.toml:4:1: unknown key "foo" in nats; known are server, timeout, reconnect_attempts, reconnect_delay, user, password, password_env, token, token_env, nkey, creds, tls, subject_prefix, request_tools, port`,
		}},
		"wrong table": {"default_agent = \"x\"\n[hub]\nusername = \"ann\"\n", []string{
			`c.toml:1:1: unknown key "default_agent" at the top level; it belongs in [master]`,
			`c.toml:3:1: unknown key "username" in hub; it belongs at the top level, above the first [table]`,
		}},
		"foreign keys": {"api_key = \"sk-secret\"\ntemperature = 1.0\nfuel = 5\n", []string{
			`c.toml:1:1: unknown key "api_key" at the top level: keys are not kept in settings; store it with fika key set, or put it into an environment variable, and name that in api_key_env`,
			`c.toml:2:1: unknown key "temperature" at the top level: fika leaves it to the provider`,
			`c.toml:3:1: unknown key "fuel" at the top level: a turn is bounded by max_recursion_depth`,
		}},
		"wrong types": {"username = 3\nauto_compact = \"yes\"\nmax_recursion_depth = 1.5\ntrust = \"~/src\"\ntools_off = [\"a\", 1]\nnats = 4\nagents = 1\nmodels = [1]\nenv = {A = 1}\nlock_heartbeat_seconds = true\ncontext_window_limit = 99999999999999999999\n", []string{
			`c.toml:1:12: username must be a text in quotes; this is a whole number`,
			`c.toml:2:16: auto_compact must be true or false; this is a text`,
			`c.toml:3:23: max_recursion_depth must be a whole number; this is a number with a fraction`,
			`c.toml:4:9: trust must be a list of texts, as in ["a", "b"]; this is a text`,
			`c.toml:5:1: tools_off must be a list of texts; one of them is a whole number`,
			`c.toml:6:8: nats must be a table, as in [nats]; this is a whole number`,
			`c.toml:7:10: agents must be a list of tables, as in [[agents]]; this is a whole number`,
			`c.toml:8:11: models must be a list of tables, as in [[models]]; one of them is a whole number`,
			`c.toml:9:12: A must be a text in quotes; this is a whole number`,
			`c.toml:10:26: lock_heartbeat must be seconds as a whole number, or a text like "90s"; this is true or false`,
			`c.toml:11:24: context_window_limit is not a number fika can hold`,
		}},
		"out of range": {"auto_compact_threshold = 150\nmax_recursion_depth = 0\nlock_heartbeat_seconds = \"2h\"\n[nats]\nport = 70000\ntimeout_ms = -3\nreconnect_delay_ms = -2\n[chat]\nmax_chain_age = \"soon\"\nmax_cost_per_chain = nan\nmessage_ttl = 99999999999\n", []string{
			`c.toml:1:26: auto_compact_threshold is out of range: from 1 to 100`,
			`c.toml:2:23: max_recursion_depth is out of range: from 1 to 10000`,
			`c.toml:3:26: lock_heartbeat is out of range: from 1 to 3600 seconds`,
			`c.toml:5:8: port is out of range: from 0 to 65535`,
			`c.toml:6:14: timeout is not a duration: write seconds as a number, or a text like "90s", "10m", "2h30m", "7d"`,
			`c.toml:7:22: reconnect_delay is not a duration: write seconds as a number, or a text like "90s", "10m", "2h30m", "7d"`,
			`c.toml:9:17: max_chain_age is not a duration: write seconds as a number, or a text like "90s", "10m", "2h30m", "7d"`,
			`c.toml:10:22: max_cost_per_chain is not a number fika can hold`,
			`c.toml:11:15: message_ttl is longer than ten years`,
		}},
		"duplicates": {"[[agents]]\nid = \"a\"\n[[agents]]\nid = \"A\"\n[[models]]\nid = \"gpt-5\"\nnickname = \"m\"\n[[models]]\nid = \"m\"\nbase_url = \"http://x/v1\"\n[hub]\nautostart = true\nautostart = false\n[hub]\n", []string{
			`c.toml:4:1: the agent "a" is defined twice; the first is at c.toml:2:1`,
			`c.toml:9:1: the model "m" is defined twice; the first is at c.toml:7:1`,
			`c.toml:13:1: "autostart" is set twice; the first is in line 12`,
			`c.toml:14:2: "hub" is set twice; the first is in line 11`,
		}},
		"bad names": {"username = \"tool\"\n[[agents]]\nid = \"Bad Name\"\n[[agents]]\nid = \"user\"\n[[agents]]\nname = \"x\"\nreadable_by = [\"b c\"]\n", []string{
			`c.toml:1:12: username: "tool" cannot be a username: use 1 to 32 letters or digits of one script, _ or -; all, auto, system, tool and workflow are taken`,
			`c.toml:3:6: id: "Bad Name" is not a name: use 1 to 32 of a-z 0-9 _ - and begin with a letter or a digit`,
			`c.toml:5:6: id: "user" is reserved`,
			`c.toml:6:3: this agent has no id: give it the name by which it is called, as in id = "coder"`,
			`c.toml:8:1: readable_by: "b c" is not a name: use 1 to 32 of a-z 0-9 _ - and begin with a letter or a digit`,
		}},
		"references": {"model = \"sonnnet\"\nusername = \"Coder\"\n[master]\ndefault_agent = \"codr\"\n[[agents]]\nid = \"coder\"\nmodel = \"zzzzzz\"\n[[models]]\nid = \"claude-x\"\nnickname = \"sonnet\"\n", []string{
			`c.toml:1:1: model "sonnnet" not found; did you mean sonnet?`,
			`c.toml:2:1: "Coder" is the id of an agent: people and agents cannot share a name`,
			`c.toml:4:1: no [[agents]] entry has the id "codr"; did you mean coder?`,
			`c.toml:7:1: model "zzzzzz" not found; known are claude-x, sonnet`,
		}},
		"models": {"[[models]]\nid = \"m\"\n[[models]]\nnickname = \"n\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\n[[models]]\nid = \"gpt-5\"\nrules = \"r\"\nprovider = \"antropic\"\n[[models]]\nid = \"\"\nbase_url = \"api.openai.com\"\napi_key_env = \"sk-abcdefghijklmnop\"\n", []string{
			`c.toml:2:1: the model "m" has no base_url, and its name does not tell where it is reached`,
			`c.toml:3:3: this model has no id: give it the name the provider knows, as in id = "gpt-5.5"`,
			`c.toml:7:1: a scripted model needs rules = "FILE"`,
			`c.toml:10:1: rules belong to a model with provider = "scripted"`,
			`c.toml:11:12: provider must be one of openai, openai-responses, anthropic, gemini, scripted; this is "antropic"; did you mean anthropic?`,
			`c.toml:12:3: the id of a model cannot be empty`,
			`c.toml:14:12: base_url: "api.openai.com" is not an address: write it as in https://api.openai.com/v1`,
			`c.toml:15:15: api_key_env: this looks like a key itself: put it into an environment variable and write that variable's name here`,
		}},
		"reasoning": {"reasoning = {effort = \"medum\"}\n[[models]]\nid = \"gpt-5\"\n[models.reasoning]\neffort = \"low\"\nmax_tokens = 5\n", []string{
			`c.toml:1:23: effort must be one of none, minimal, low, medium, high, xhigh, max; this is "medum"; did you mean medium?`,
			`c.toml:4:9: reasoning takes effort or max_tokens, not both`,
		}},
		"syntax": {"modle = 1\nmodel = sonnet\n[nats\n[hub]\nautostrt = true\n", []string{
			`c.toml:1:1: unknown key "modle" at the top level; did you mean model?`,
			`c.toml:2:9: not valid TOML: unexpected character U+0073 's' at start of value; a text stands in double quotes`,
			`c.toml:3:6: not valid TOML: expected ']' to close table name`,
			`c.toml:5:1: unknown key "autostrt" in hub; did you mean autostart?`,
		}},
		"no value":  {"model =\n", []string{`c.toml:1:8: not valid TOML: unexpected character U+000A at start of value; a value must follow the = in the same line`}},
		"open text": {"model = \"abc\n", []string{`c.toml:1:13: not valid TOML: basic strings cannot have new lines`}},
		"column in runes": {"reasoning = {\"é\" = 1, efort = \"low\"}\n", []string{
			`c.toml:1:14: unknown key "é" in reasoning; known are enabled, effort, max_tokens`,
			`c.toml:1:23: unknown key "efort" in reasoning; did you mean effort?`,
		}},
		"byte order mark": {"\ufeffmodle = 1\n", []string{`c.toml:1:1: unknown key "modle" at the top level; did you mean model?`}},
		"auth": {"[nats]\nuser = \"a\"\ntoken = \"b\"\npassword = \"c\"\npassword_env = \"D\"\nserver = \"localhost:4222\"\nsubject_prefix = \"a.*\"\n[nats.tls]\ncert = \"c.pem\"\n[store]\nurl = \"mysql://x\"\n", []string{
			`c.toml:3:1: set only one of user, token, nkey and creds: user and token are set`,
			`c.toml:5:1: password and password_env are both set; keep one`,
			`c.toml:6:10: server: "localhost:4222" is not a NATS address: write it as in nats://localhost:4222`,
			`c.toml:7:18: subject_prefix: "a.*" cannot begin a subject: use words joined by dots, without spaces, * or >`,
			`c.toml:8:7: cert and key belong together; one of them is missing`,
			`c.toml:11:7: url: this is not the address of a PostgreSQL database: write it as in postgres://user@host/name, or remove the key and fika.db in the home is used`,
		}},
		"postgres": {"[store]\nurl = \"mysql://me:hush@db/fika\"\n", []string{
			`c.toml:2:7: url: this is not the address of a PostgreSQL database: write it as in postgres://user@host/name, or remove the key and fika.db in the home is used`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("c.toml", []byte(test.text))
			if d := cmp.Diff(test.want, problemsOf(t, err)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestModelsInTwoFiles(t *testing.T) {
	dir := t.TempDir()
	config, models := filepath.Join(dir, "config.toml"), filepath.Join(dir, "models.toml")
	write(t, config, "model = \"openai/gpt-5\"\n[[models]]\nid = \"a\"\nbase_url = \"http://127.0.0.1/v1\"\n")
	write(t, models, "[models.\"openai/gpt-5\"]\ncontext_window = 5000\n")
	c, err := LoadHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.FindModel("openai/gpt-5", nil)
	want := Model{ID: "openai/gpt-5", Provider: OpenAI, BaseURL: openRouterURL, APIKeyEnv: "OPENROUTER_API_KEY", WireModel: "openai/gpt-5", ContextWindow: 5000, MaxOutput: 128_000, Known: m.Known}
	if d := cmp.Diff(want, m); d != "" || err != nil {
		t.Error(d, err)
	}
	write(t, models, "[[models]]\nid = \"a\"\nbase_url = \"http://x/v1\"\n")
	_, err = LoadHome(dir)
	want2 := []string{
		config + `:1:1: model "openai/gpt-5" not found; known are a`,
		models + `:2:1: the model "a" is defined twice; the first is at ` + config + ":3:1"}
	if d := cmp.Diff(want2, problemsOf(t, err)); d != "" {
		t.Error(d)
	}
	write(t, models, "username = \"ann\"\n")
	_, err = LoadHome(dir)
	if got := problemsOf(t, err); !strings.HasSuffix(got[len(got)-1], `models.toml:1:1: username is not about models; set it in config.toml`) {
		t.Errorf("got %q", got)
	}
}

func TestLocal(t *testing.T) {
	_, err := ParseLocal("local.toml", []byte("modl = \"x\"\nlock_heartbeat_seconds = 5\npersistent = true\n[nats]\n"))
	want := []string{
		`local.toml:1:1: unknown key "modl" at the top level; did you mean model?`,
		`local.toml:2:1: lock_heartbeat cannot differ between contexts; set it in config.toml`,
		`local.toml:3:1: persistent belongs to the agent's [[agents]] entry in config.toml`,
		`local.toml:4:2: nats cannot differ between contexts; set it in config.toml`,
	}
	if d := cmp.Diff(want, problemsOf(t, err)); d != "" {
		t.Error(d)
	}
}

// A hostile file says little, and costs in proportion to its size: four times
// the text may take four times the memory and the allocations, and a little more.
func TestHostile(t *testing.T) {
	for name, text := range map[string]func(n int) string{
		"many keys":    func(n int) string { return strings.Repeat("a", 300*n) + "\n" },
		"deep":         func(n int) string { return "a = " + strings.Repeat("[", 200*n) },
		"deep path":    func(n int) string { return strings.Repeat("a.", 2000*n) + "a = 1\n" },
		"many unknown": func(n int) string { return strings.Repeat("[[agents]]\nx=1\n", 600*n) },
		"many headers": func(n int) string { return strings.Repeat("[a]\n", 1000*n) },
		"many errors":  func(n int) string { return strings.Repeat("[a\n", 1000*n) },
		"big":          func(n int) string { return strings.Repeat("#\n", 6000*n) },
		"NUL":          func(int) string { return "model = \"\x00\"" },
		"not UTF-8":    func(int) string { return "model = \"\xff\xfe\"" },
	} {
		t.Run(name, func(t *testing.T) {
			const slack = 10_000 // what does not depend on the size
			_, bytes, allocs := parseCost(t, text(25))
			problems, moreBytes, moreAllocs := parseCost(t, text(100))
			if problems == 0 || problems > toml.MaxProblems+1 {
				t.Errorf("%d problems", problems)
			}
			if moreAllocs > 5*allocs+slack || moreBytes > 5*bytes+100*slack {
				t.Errorf("a quarter takes %d bytes in %d allocations, the whole %d in %d", bytes, allocs, moreBytes, moreAllocs)
			}
		})
	}
}

// parseCost parses a text and returns how many problems it has and what they
// cost.
func parseCost(t *testing.T, text string) (problems int, bytes, allocs uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Parse("c.toml", []byte(text))
	runtime.ReadMemStats(&after)
	return len(problemsOf(t, err)), after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFormerNames: keys are read by the names that they had before, in their units; those
// that do nothing any more are named with the version.
func TestFormerNames(t *testing.T) {
	c, err := Parse("c.toml", []byte("lock_heartbeat_seconds = 20\nturn_timeout_seconds = 9\n[nats]\ntimeout_ms = 1_500\nreconnect_delay = \"2s\"\n[answer]\nmax_seconds = \"1h\"\n"+
		"[tools]\nmax_spool_bytes = 5\n[[mcp]]\nname = \"a\"\ncommand = \"a\"\ntimeout_seconds = 7\n[plugins.p]\ntimeout_seconds = 8\n[[agents]]\nid = \"arya\"\nmax_idle_seconds = 600\nenv = {timeout_seconds = \"x\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := []time.Duration{c.LockHeartbeat, c.TurnTimeout, c.NATS.Timeout, c.NATS.ReconnectDelay, c.Answer.MaxTime, c.MCP[0].Timeout, c.Plugins["p"].Timeout, c.Agents[0].MaxIdle}
	want := []time.Duration{20 * time.Second, 9 * time.Second, 1500 * time.Millisecond, 2 * time.Second, time.Hour, 7 * time.Second, 8 * time.Second, 10 * time.Minute}
	if !slices.Equal(got, want) || c.Agents[0].Env["timeout_seconds"] != "x" {
		t.Errorf("got %v, want %v; env %v", got, want, c.Agents[0].Env)
	}
	if notes := c.Notes(); len(notes) != 1 || notes[0] != "c.toml:9:1: max_spool_bytes does nothing since version 0.1: remove it" {
		t.Errorf("notes: %q", notes)
	}
	if _, err := Parse("c.toml", []byte("[nats]\ntimeout_ms = 5\ntimeout = \"5s\"\n")); err == nil || !strings.Contains(err.Error(), "timeout_ms is the former name of timeout") {
		t.Errorf("both names: %v", err)
	}
}
