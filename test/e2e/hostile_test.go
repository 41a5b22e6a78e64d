package e2e

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/llm/llmtest"
	"fika/internal/store"
)

// TestHostileModel: whatever a model server sends, the run ends with one clear
// line and the right exit code, and what was asked is kept.
func TestHostileModel(t *testing.T) {
	t.Parallel()
	flood := strings.Repeat("x", 1<<16)
	for name, tt := range map[string]struct {
		script func(n int) llmtest.Script
		code   int
		words  string
		calls  int
	}{
		"endless text": {func(int) llmtest.Script {
			var s llmtest.Script
			for range 160 { // 10 MiB
				s = append(s, llmtest.Text(flood))
			}
			return append(s, llmtest.Stall())
		}, 8, "longer than 8388608 bytes", 1},
		"not allowed":   {func(int) llmtest.Script { return llmtest.Script{llmtest.Status(401, "no such key", 0)} }, 5, "no such key", 1},
		"no such model": {func(int) llmtest.Script { return llmtest.Script{llmtest.Status(404, "no such model", 0)} }, 5, "no such model", 1},
		"refusal":       {func(int) llmtest.Script { return llmtest.Script{llmtest.Refusal("I would rather not")} }, 5, "I would rather not", 1},
		"nothing":       {func(int) llmtest.Script { return llmtest.Script{} }, 5, "answered nothing", 3},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { n++; return tt.script(n) })
			h := newHome(t, config(srv, llmtest.OpenAI, ""))
			r := h.run("run", "go")
			lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
			if last := lines[len(lines)-1]; r.code != tt.code || r.stdout != "" || !strings.HasPrefix(last, "fika: ") || !strings.Contains(last, tt.words) || len(last) > 500 {
				t.Errorf("exit %d (want %d), stdout %.100q, stderr %.600q", r.code, tt.code, r.stdout, r.stderr)
			}
			if got := len(srv.Requests()); got != tt.calls {
				t.Errorf("%d requests to the model, want %d", got, tt.calls)
			}
			h.settled()
			log := h.must("context", "log")
			if !strings.Contains(log, "go") {
				t.Errorf("the prompt is not kept: %q", log)
			}
		})
	}
}

// TestPatience: a busy provider is asked again when it says so, and the person
// sees it.
func TestPatience(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		switch r.N {
		case 1:
			return llmtest.Script{llmtest.Status(429, "too many requests", time.Second)}
		case 2:
			return llmtest.Script{llmtest.Raw("data: {\"this is\": not json\n\n")}
		case 3:
			return llmtest.Script{llmtest.Text("hal"), llmtest.Cut()}
		}
		return llmtest.Script{llmtest.Text("half and whole")}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, ""))
	r := h.run("run", "go")
	if r.code != 0 || r.stdout != "half and whole\n" || !strings.Contains(r.stderr, "too many requests") {
		t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	if all := srv.Requests(); len(all) != 4 || all[1].Received.Sub(all[0].Received) < time.Second {
		t.Errorf("asked %d times", len(all))
	}
	h.settled()
}

// TestUnknownTool: the model is told, and goes on.
func TestUnknownTool(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if text, ok := answered(r); ok {
			return llmtest.Script{llmtest.Text(text)}
		}
		return llmtest.Script{llmtest.Call("1", "../../bin/sh", `{}`), llmtest.Call("1", "bsh", `{"command":`), llmtest.Call("", "edit", `{}`)}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, ""))
	if r := h.run("run", "go"); r.code != 0 || !strings.Contains(r.stdout, "not permitted") {
		t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	h.settled()
}

// TestBadNames: no name reaches a path or a subject that is not one.
func TestBadNames(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.must("chat", "create", "tale")
	for _, name := range []string{"../x", "a.b", "a b", ".", "..", "/", "a/b", "-", "é", "a\nb", "a\x00b"[:1] + "\x1b[31m", "", strings.Repeat("x", 300)} {
		for _, args := range [][]string{
			{"chat", "create", "--", name}, {"chat", "send", "--", name, "hello"}, {"chat", "view", "--", name}, {"chat", "pause", "--", name},
			{"ask", "--", name, "hello"}, {"task", "--", name, "hello"}, {"agent", "run", "--", name},
			{"context", "new", "--", name}, {"context", "switch", "--", name}, {"context", "delete", "--yes", "--", name}, {"context", "unlock", "--", name},
			{"context", "rename", "--", "default", name}, {"run", "-c=" + name, "hello"}, {"run", "-u=" + name, "hello"},
		} {
			if name == "" && args[0] == "run" || name == "-" && args[1] == "switch" || name == "é" && strings.HasPrefix(args[1], "-u") {
				continue // as if the flag were not given; back to the context of before; a username
			}
			r := h.run(args...)
			if line := strings.TrimSuffix(r.stderr, "\n"); r.code != 2 || r.stdout != "" || strings.Contains(line, "\n") || strings.Contains(line, "\x1b") || len(line) > 400 {
				t.Errorf("fika %.60q: exit %d, stdout %.80q, stderr %.300q", args, r.code, r.stdout, r.stderr)
			}
		}
	}
	list, err := os.ReadDir(filepath.Join(h.dir, "contexts"))
	if err != nil && !os.IsNotExist(err) || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(h.dir), "x")); err == nil {
		t.Error("something was made outside the home")
	}
}

// TestPatterns: a pattern is none for those who speak, and finds nothing where
// there is nothing.
func TestPatterns(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.must("chat", "create", "tale")
	h.one(h.run("chat", "pause", "x*"), 3, "no chat matches")
	h.one(h.run("chat", "pause", "[x"), 2, "pattern")
	h.one(h.run("chat", "send", "*", "hello"), 2, "not a name")
	h.one(h.run("chat", "create", "*"), 2, "not a name")
	h.one(h.run("ask", "*", "hello"), 2, "not a name")
	h.must("up")
	h.one(h.run("chat", "send", "tale", "@nobody hello"), 3, `agent "nobody" not found`, "as plain text")
	if n := h.must("chat", "view", "tale"); n != "" {
		t.Errorf("the chat holds %q", n)
	}
}

// TestBadHomes: each is one line that names the thing.
func TestBadHomes(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.must("chat", "create", "tale")
	t.Run("not a folder", func(t *testing.T) {
		h.one(h.run("--home", "/dev/null/x", "chat", "list"), 1, "/dev/null")
	})
	t.Run("nobody may write there", func(t *testing.T) {
		h.one(h.run("--home", "/proc/fika", "chat", "create", "tale"), 1, "/proc/fika")
	})
	t.Run("not writable", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may write everywhere")
		}
		dir := t.TempDir()
		h.ok(os.Chmod(dir, 0o500))
		h.one(h.run("--home", filepath.Join(dir, "home"), "chat", "list"), 1, dir)
	})
	for name, tt := range map[string]struct {
		config string
		words  []string
	}{
		"unknown key": {"modell = \"x\"\n", []string{"config.toml:1:1", "did you mean model?"}},
		"no toml":     {"model = \n", []string{"config.toml:1"}},
		"wrong type":  {"[chat]\nmax_depth = \"many\"\n", []string{"config.toml:2"}},
		"bad name":    {"[[agents]]\nid = \"../x\"\n", []string{"config.toml:2"}},
		"twice":       {"[[agents]]\nid = \"a\"\n[[agents]]\nid = \"A\"\n", []string{"config.toml"}},
		"garbage":     {"\x00\x01\xff", []string{"config.toml:1"}},
	} {
		t.Run("config "+name, func(t *testing.T) {
			h := newHome(t, tt.config)
			for _, args := range [][]string{{"up"}, {"run", "hello"}, {"chat", "create", "tale"}, {"ask", "arya", "hello"}} {
				r := h.run(args...)
				if r.code != 2 || r.stdout != "" {
					t.Errorf("%v: exit %d, %s%s", args, r.code, r.stdout, r.stderr)
				}
				for _, w := range tt.words {
					if !strings.Contains(r.stderr, w) {
						t.Errorf("%v: %q does not say %q", args, r.stderr, w)
					}
				}
			}
		})
	}
}

// TestBadDatabases: nothing is changed that cannot be understood.
func TestBadDatabases(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.must("chat", "create", "tale")
	path := filepath.Join(h.dir, "fika.db")
	t.Run("newer", func(t *testing.T) {
		db, err := sql.Open("sqlite", "file:"+path)
		h.ok(err)
		_, err = db.Exec("PRAGMA user_version = 999")
		h.ok(err)
		h.ok(db.Close())
		h.one(h.run("chat", "list"), 1, path, "schema 999", "newer fika")
		h.one(h.run("chat", "send", "tale", "hello"), 1)
	})
	t.Run("damaged", func(t *testing.T) {
		h.ok(os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
		_ = os.Remove(path + "-wal")
		h.one(h.run("chat", "list"), 1, path)
		if data, _ := os.ReadFile(path); !strings.HasPrefix(string(data), "no database") {
			t.Error("the damaged file was overwritten")
		}
	})
	t.Run("a folder", func(t *testing.T) {
		h.ok(os.Remove(path))
		h.ok(os.Mkdir(path, 0o700))
		h.one(h.run("chat", "list"), 1, path)
	})
}

// TestTwoOfOne: a home has one hub, an agent one process.
func TestTwoOfOne(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("yes")} })
	h := newHome(t, config(srv, llmtest.OpenAI, "", agent{name: "arya"}))
	h.must("up")
	hub, arya := h.pid(hubWords), h.pid(agentWords("arya"))
	h.one(h.run("up", "--foreground"), 4, fmt.Sprint(hub))
	h.one(h.run("agent", "run", "arya"), 4, fmt.Sprint(arya))
	if r := h.run("up"); r.code != 0 || !strings.Contains(r.stderr, "already") {
		t.Errorf("up again: exit %d, %s", r.code, r.stderr)
	}
	if h.pid(hubWords) != hub || h.pid(agentWords("arya")) != arya {
		t.Error("somebody was replaced")
	}
	h.must("ask", "arya", "there?")
}

// TestPortInUse: the hub does not start, says so, and leaves nothing behind.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	h := newHome(t, fmt.Sprintf("[nats]\nport = %d\n", port))
	h.one(h.run("up"), 1, fmt.Sprint(port))
	h.gone("")
}

// TestAgentThatCannotStart is reported and does not keep others from working.
func TestAgentThatCannotStart(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("yes")} })
	cfg := config(srv, llmtest.OpenAI, "", agent{name: "arya"}) +
		"[[agents]]\nid = \"mute\"\nmodel = \"locked\"\nauto_start = true\n[[models]]\nid = \"locked\"\nprovider = \"openai\"\nbase_url = \"" + srv.URL() + "\"\napi_key_env = \"NOBODY_HAS_SET_THIS\"\n"
	h := newHome(t, cfg)
	r := h.run("up")
	if r.code != 1 || !strings.Contains(r.stderr, "NOBODY_HAS_SET_THIS") || !strings.Contains(r.stderr, "@arya started") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	h.must("ask", "arya", "there?")
	list, err := h.store().ListRequests(t.Context(), store.RequestFilter{States: []fika.RequestState{fika.Done}})
	h.ok(err)
	if len(list) != 1 {
		t.Errorf("%d requests done", len(list))
	}
}
