package contexts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/admin/doctor"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/store/storetest"
	"fika/internal/turn"
	"fika/internal/worker"
)

// elsewhere is a home with a model that needs no provider.
func elsewhere(t *testing.T) *app.App {
	t.Helper()
	root := t.TempDir()
	storetest.FreshAt(t, filepath.Join(root, "fika.db"))
	write(t, filepath.Join(root, "config.toml"), "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n")
	write(t, filepath.Join(root, "r.toml"), "fallback = \"hej\"\n")
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lines makes entries as another program writes them.
func lines(ids ...string) string {
	var b strings.Builder
	for i, id := range ids {
		from, to := "alice", "old"
		if i%2 == 1 {
			from, to = "old", "user"
		}
		fmt.Fprintf(&b, `{"id":%q,"timestamp":%d,"from":%q,"to":%q,"content":"said %s","entry_type":"message"}`+"\n", id, 1700000000+i, from, to, id)
	}
	return b.String()
}

func person(t *testing.T) app.Person {
	return app.Person{Warn: func(s string) { t.Log("warning:", s) }}
}

func folderOf(t *testing.T, a *app.App, name fika.AgentName) folder.Folder {
	t.Helper()
	h, err := a.Home()
	if err != nil {
		t.Fatal(err)
	}
	return h.Folder(name)
}

// contents are what is said in the window, and all there is.
func contents(t *testing.T, a *app.App, name fika.AgentName) (window, all []string) {
	t.Helper()
	r, err := contexts.OpenReader(t.Context(), a, asker, folderOf(t, a, name))
	if err != nil {
		t.Fatal(err)
	}
	pick := func(p contexts.Part) (out []string) {
		p.Types = []fika.EntryType{fika.Message}
		if err := r.Read(t.Context(), p, func(e fika.Entry) error { out = append(out, e.Content); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	return pick(contexts.Part{}), pick(contexts.Part{Archived: true})
}

func prompt(t *testing.T, a *app.App, name fika.AgentName, text string) {
	t.Helper()
	p := person(t)
	if _, err := worker.Run(t.Context(), a, worker.RunOptions{Who: asker, Context: name, Prompt: text, Warn: p.Warn, Observer: turn.Observers{}}); err != nil {
		t.Fatal(err)
	}
}

func differ(t *testing.T, what string, got, want []string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestImportIntoUsedContext(t *testing.T) {
	a := elsewhere(t)
	prompt(t, a, "mine", "hello")
	src := t.TempDir()
	write(t, src+"/context.jsonl", lines("c1", "c2"))
	write(t, src+"/transcript_archive.jsonl", lines("a1", "a2"))
	for i, fresh := range []int{4, 0, 0} {
		got, err := contexts.Import(t.Context(), a, "mine", src, 0, person(t))
		if err != nil || got.New != fresh || got.Entries != 4 {
			t.Fatalf("import %d: %+v %v", i, got, err)
		}
	}
	window, all := contents(t, a, "mine")
	differ(t, "window", window, []string{"hello", "hej", "said c1", "said c2"})
	differ(t, "all", all, []string{"hello", "hej", "said a1", "said a2", "said c1", "said c2"})
	sound(t, a)
}

// A crash between any two steps of an adoption is made good by the next use.
func TestAdoptAfterCrash(t *testing.T) {
	for _, done := range []int{0, 1, 2, 3, 4} {
		t.Run(fmt.Sprint(done), func(t *testing.T) {
			a := elsewhere(t)
			f := folderOf(t, a, "old")
			write(t, f.Path()+"/context.jsonl", lines("c1", "c2"))
			write(t, f.Path()+"/transcript_archive.jsonl", lines("a1", "a2"))
			half(t, a, f, done)
			window, _ := contents(t, a, "old")
			if done == 0 {
				differ(t, "window before", window, []string{"said c1", "said c2"})
			}
			prompt(t, a, "old", "hello")
			window, all := contents(t, a, "old")
			differ(t, "window", window, []string{"said c1", "said c2", "hello", "hej"})
			differ(t, "all", all, []string{"said a1", "said a2", "said c1", "said c2", "hello", "hej"})
			sound(t, a)
		})
	}
}

// half does what an interrupted adoption leaves: the first n entries imported.
func half(t *testing.T, a *app.App, f folder.Folder, n int) {
	t.Helper()
	if n == 0 {
		return
	}
	ctx := t.Context()
	s, err := a.Store(ctx)
	if err != nil {
		t.Fatal(err)
	}
	home, err := f.Home.ID()
	if err != nil {
		t.Fatal(err)
	}
	agent, err := s.EnsureAgent(ctx, store.NewAgent{Name: f.Name, HomeID: home, DisplayName: string(f.Name)})
	if err != nil {
		t.Fatal(err)
	}
	conv, err := s.ActiveAsk(ctx, agent.ID)
	if err != nil {
		t.Fatal(err)
	}
	c, err := folder.ReadFolder(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	var all []fika.Entry
	for _, archived := range []bool{true, false} {
		if err := c.EachOf(archived, func(e fika.Entry) error { all = append(all, e); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Import(ctx, conv.ID, all[:n]); err != nil {
		t.Fatal(err)
	}
}

// sound asks the doctor.
func sound(t *testing.T, a *app.App) {
	t.Helper()
	found, err := doctor.Examine(t.Context(), a, asker, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Level == doctor.Problem && f.Check != "permissions" {
			t.Errorf("doctor: %+v", f)
		}
	}
}

func TestClearKeepsUnread(t *testing.T) {
	a := elsewhere(t)
	prompt(t, a, "mine", "hello")
	ctx := t.Context()
	s, err := a.Store(ctx)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := s.Agent(ctx, "mine")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Post(ctx, store.Post{
		Conversation: agent.ActiveAsk, From: "freja", Writer: fika.ByAgent, WriterName: "freja", Content: "psst", Notify: []fika.AgentName{"mine"},
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 0} {
		n, err := contexts.Clear(ctx, a, "mine", 0, person(t))
		if err != nil || n != want {
			t.Errorf("cleared %d messages, not %d: %v", n, want, err)
		}
	}
	window, _ := contents(t, a, "mine")
	differ(t, "window", window, []string{"psst"})
	prompt(t, a, "mine", "any news?")
	window, _ = contents(t, a, "mine")
	differ(t, "window", window, []string{"psst", "any news?", "hej"})
	sound(t, a)
}

// asker is who asks in these tests.
var asker = api.Principal{Kind: api.Person, Name: "user", Door: api.DoorCLI}
