package doctor_test

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika/internal/admin/doctor"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/store/storetest"
	"fika/internal/turn"
	"fika/internal/worker"
)

const settings = "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n"

// home is one with a model that needs no provider, and a context that has been
// used.
func home(t *testing.T) (*app.App, folder.Home) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "config.toml"), settings)
	write(t, filepath.Join(root, "r.toml"), "fallback = \"hej\"\n")
	storetest.FreshAt(t, filepath.Join(root, "fika.db"))
	a := open(t, root)
	if _, err := worker.Run(t.Context(), a, worker.RunOptions{Who: api.Principal{Kind: api.Person, Name: "user"}, Context: "default", Prompt: "hello", Warn: func(s string) { t.Log(s) }, Observer: turn.Observers{}}); err != nil {
		t.Fatal(err)
	}
	h, err := a.Home()
	if err != nil {
		t.Fatal(err)
	}
	return a, h
}

func open(t *testing.T, root string) *app.App {
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// problems are what an examination finds, but for what is fine.
func problems(t *testing.T, a *app.App, fix bool) string {
	t.Helper()
	found, err := doctor.Examine(t.Context(), a, api.Principal{Kind: api.Person, Name: "user"}, fix)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range found {
		if f.Level != doctor.Fine && f.Check != "disk" {
			fmt.Fprintf(&b, "%s %s: %s\n", f.Level, f.Check, f.Text)
		}
	}
	return b.String()
}

func TestNothingIsWrongWithAHomeThatWasUsed(t *testing.T) {
	a, _ := home(t)
	if got := problems(t, a, false); got != "" {
		t.Error(got)
	}
}

// A home that does not exist yet is no problem, and looking makes none.
func TestNothingIsWrongWithAHomeThatDoesNotExistYet(t *testing.T) {
	root := filepath.Join(t.TempDir(), "home")
	a := app.New(app.Options{Root: root, Getenv: func(name string) string { return map[string]string{"OPENAI_API_KEY": "k"}[name] }, Dir: t.TempDir(), Looks: true})
	t.Cleanup(func() { _ = a.Close() })
	if got := problems(t, a, false); got != "" {
		t.Error(got)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("a home was made: %v", err)
	}
}

// What can be repaired without a loss is, once it is asked for.
func TestFixRepairsWithoutALoss(t *testing.T) {
	a, h := home(t)
	f := h.Folder("default")
	file := filepath.Join(f.Path(), "context.jsonl")
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.ReplaceAll(string(was), "hello", "never said"))
	if err := os.Chmod(h.Root, 0o755); err != nil {
		t.Fatal(err)
	}
	before := problems(t, a, false)
	for _, want := range []string{"problem permissions: ", "problem context default: "} {
		if !strings.Contains(before, want) {
			t.Errorf("no %q in\n%s", want, before)
		}
	}
	fixed := problems(t, a, true)
	for _, want := range []string{"fixed permissions: ", "fixed context default: "} {
		if !strings.Contains(fixed, want) {
			t.Errorf("no %q in\n%s", want, fixed)
		}
	}
	if after := problems(t, a, false); after != "" {
		t.Error("still wrong:\n", after)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(was) {
		t.Errorf("the mirror says %s, %v", now, err)
	}
	kept, _ := filepath.Glob(file + ".replaced-*")
	if len(kept) != 1 {
		t.Errorf("kept: %q", kept)
	}
}

// A folder that is gone is made again from the database.
func TestFixMakesAFolderAgain(t *testing.T) {
	a, h := home(t)
	f := h.Folder("default")
	if err := os.RemoveAll(f.Path()); err != nil {
		t.Fatal(err)
	}
	if got := problems(t, a, false); !strings.Contains(got, "problem agent default: its folder") {
		t.Errorf("got\n%s", got)
	}
	if got := problems(t, a, true); !strings.Contains(got, "fixed agent default: ") {
		t.Errorf("got\n%s", got)
	}
	if text, err := os.ReadFile(filepath.Join(f.Path(), "context.jsonl")); err != nil || !strings.Contains(string(text), "hello") {
		t.Errorf("got %s, %v", text, err)
	}
}

// Each problem of the files is a finding; a name of a tool that is nearly right
// is misspelt, another unknown one does nothing yet.
func TestSettingsAreChecked(t *testing.T) {
	_, h := home(t)
	write(t, h.ConfigFile(), "tool_permissions = [\"bsh\", \"sometool\"]\n"+settings)
	_, err := doctor.CheckConfig(t.Context(), open(t, h.Root))
	if err == nil || !strings.Contains(err.Error(), "did you mean bash?") || strings.Contains(err.Error(), "sometool") {
		t.Errorf("got %v", err)
	}
	write(t, h.ConfigFile(), "tool_permissions = [\"sometool\"]\n"+settings)
	report, err := doctor.CheckConfig(t.Context(), open(t, h.Root))
	if err != nil || len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "sometool") {
		t.Errorf("got %q, %v", report.Warnings, err)
	}
	write(t, h.ConfigFile(), settings+"[[agents]]\nid = \"reader\"\nmodel = \"nope\"\nworkspace = \"/nowhere\"\ntool_permissions = [\"reed\"]\n")
	_, err = doctor.CheckConfig(t.Context(), open(t, h.Root))
	for _, want := range []string{`"nope"`, "/nowhere is not a folder", "did you mean read?"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("one mistake hides another: %q is not in %v", want, err)
		}
	}
	write(t, h.ConfigFile(), "model = 5\nfallback = [\n")
	if got := problems(t, open(t, h.Root), false); !strings.Contains(got, "config.toml:") {
		t.Errorf("got\n%s", got)
	}
}

// TestExecutors: an executor's user is looked for before a call fails for want of it,
// and so is the way to the workspace.
func TestExecutors(t *testing.T) {
	a, h := home(t)
	_ = a.Close()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	another := "nobody"
	if me.Username == another {
		another = "daemon"
	}
	closed := filepath.Join(h.Root, "closed") // below a folder that nobody else may enter
	for _, c := range []struct{ user, says string }{
		{"nobody-of-that-name", `has no user "nobody-of-that-name"`},
		{me.Username, ""},
		{another, another}, // cannot be used, or cannot enter
	} {
		text := settings + fmt.Sprintf("[[executors]]\nname = \"box\"\nuser = %q\n[[agents]]\nid = \"coder\"\nexecutor = \"box\"\nworkspace = %q\n", c.user, closed)
		write(t, filepath.Join(h.Root, "config.toml"), text)
		_ = os.MkdirAll(closed, 0o700)
		got := ""
		for line := range strings.Lines(problems(t, open(t, h.Root), false)) {
			if strings.Contains(line, "executor box") {
				got += line
			}
		}
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.user, got, c.says)
		}
	}
}

// TestReceivers: a collector that fails, or has refused something, is named with what to do.
func TestReceivers(t *testing.T) {
	_, h := home(t)
	write(t, filepath.Join(h.Root, "config.toml"), settings+"[otlp]\nendpoint = \"http://127.0.0.1:4318\"\n")
	a := open(t, h.Root)
	s, err := a.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const receiver = "otlp:http://127.0.0.1:4318/v1/traces"
	state, err := s.Webhook(t.Context(), receiver)
	if err != nil {
		t.Fatal(err)
	}
	if text := problems(t, a, false); strings.Contains(text, "receivers") {
		t.Error(text)
	}
	state.Tries, state.Error, state.Failing = 3, "HTTP 503 Service Unavailable", time.Now()
	if err := s.RefuseDelivery(t.Context(), state, store.Delivery{URL: receiver, N: 1, ID: "otlp_1", Body: "{}", Error: "5 of 5 spans refused: HTTP 400 Bad Request"}); err != nil {
		t.Fatal(err)
	}
	text := problems(t, a, false)
	for _, want := range []string{"HTTP 503", "has refused 1, the last: 5 of 5 spans refused"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
