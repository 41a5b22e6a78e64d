package folder

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fika"
)

func TestHomeIsMadeOnceAndPrivate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "home")
	h, err := OpenHome(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{h.Root, h.ContextsDir()} {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, st, err)
		}
	}
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i], _ = h.ID() })
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatal(ids)
		}
	}
	write(t, h.path("home_id"), "rubbish")
	if _, err := h.ID(); !fika.IsKind(err, fika.Invalid) {
		t.Fatalf("got %v", err)
	}
}

func TestHomeRefusesWhatItCannotUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if _, err := OpenHome(file); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a file: %v", err)
	}
	if _, err := OpenHome(filepath.Join(file, "below")); !fika.IsKind(err, fika.Storage) {
		t.Errorf("below a file: %v", err)
	}
	if _, err := OpenHome(""); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("empty: %v", err)
	}
	env := map[string]string{"HOME": "/h"}
	if r, _ := DefaultRoot(func(k string) string { return env[k] }); r != "/h/.fika" {
		t.Error(r)
	}
	env["FIKA_HOME"] = "/x"
	if r, _ := DefaultRoot(func(k string) string { return env[k] }); r != "/x" {
		t.Error(r)
	}
	if _, err := DefaultRoot(func(string) string { return "" }); err == nil {
		t.Error("no home is no error")
	}
}

func TestPromptsAreFilesOrBuiltIn(t *testing.T) {
	f := testFolder(t)
	h := f.Home
	for _, p := range []Prompt{DefaultPrompt, CompactionPrompt, ContinuationPrompt} {
		if s, err := h.Prompt(p); err != nil || len(s) < 40 {
			t.Errorf("%s: %q %v", p, s, err)
		}
	}
	if err := h.EnsureDir(h.PromptsDir()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(h.PromptsDir(), "chibi.md"), "from chibi")
	if s, _ := h.Prompt(DefaultPrompt); s != "from chibi" {
		t.Error(s)
	}
	write(t, filepath.Join(h.PromptsDir(), "default.md"), "\ufeffmine\xff")
	if s, _ := h.Prompt(DefaultPrompt); s != "mine\ufffd" {
		t.Errorf("%q", s)
	}
	r, err := h.Reflection()
	if err != nil || r != (Text{}) {
		t.Fatal(r, err)
	}
	write(t, filepath.Join(h.PromptsDir(), "reflection.md"), "be kind")
	if r, err = h.Reflection(); err != nil || r.Body != "be kind" || r.Changed.IsZero() {
		t.Fatal(r, err)
	}
}

func TestStateFollowsSwitches(t *testing.T) {
	h := testFolder(t).Home
	if s, err := h.State(); err != nil || s.Current != DefaultContext {
		t.Fatal(s, err)
	}
	write(t, h.StateFile(), `{"contexts":["Default","MyCtx"],"current_context":"MyCtx"}`)
	if s, err := h.State(); err != nil || s.Current != "myctx" {
		t.Fatal(s, err)
	}
	if s, err := h.Switch("other"); err != nil || s.Previous != "myctx" {
		t.Fatal(s, err)
	}
	if s, err := h.State(); err != nil || s.Current != "other" || s.Previous != "myctx" {
		t.Fatal(s, err)
	}
	if !strings.Contains(read(t, h.StateFile()), `"contexts"`) {
		t.Error("foreign keys were dropped")
	}
	write(t, h.StateFile(), `{"implied_context":"a","previous_context":"b"}`)
	if s, err := h.State(); err != nil || s.Current != "a" || s.Previous != "b" {
		t.Fatal(s, err)
	}
	for _, bad := range []string{"{", "[]", `{"current_context":7}`, `{"current_context":"../x"}`} {
		write(t, h.StateFile(), bad)
		if _, err := h.State(); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "state.json") {
			t.Errorf("%s: %v", bad, err)
		}
		if _, err := h.Switch("x"); err == nil || read(t, h.StateFile()) != bad {
			t.Errorf("%s was overwritten", bad)
		}
	}
}

func TestTextsAreNeverOverwrittenUnseen(t *testing.T) {
	f := testFolder(t)
	seen, err := f.Read(Todos)
	if err != nil || seen != (Text{}) {
		t.Fatal(seen, err)
	}
	now, err := f.WriteIf(Todos, seen.Hash, "- tea\n")
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.TextPath(Todos), "- coffee\n") // a person
	got, err := f.WriteIf(Todos, now.Hash, "- milk\n")
	if !fika.IsKind(err, fika.Conflict) || got.Body != "- coffee\n" {
		t.Fatal(got, err)
	}
	if now, err = f.WriteIf(Todos, got.Hash, "- coffee\n- milk\n"); err != nil {
		t.Fatal(err)
	}
	if again, err := f.Read(Todos); err != nil || again.Body != now.Body || again.Hash != now.Hash {
		t.Fatal(again, err)
	}
	if err := f.Write("../../x", "no"); !fika.IsKind(err, fika.Invalid) {
		t.Fatalf("got %v", err)
	}
	target := filepath.Join(t.TempDir(), "dotfile.md")
	write(t, target, "linked")
	if err := os.Symlink(target, f.TextPath(Goals)); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(Goals, "new"); err != nil || read(t, target) != "new" {
		t.Fatal("the link was replaced", err)
	}
	if err := os.Truncate(target, maxText+1); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(Goals); !fika.IsKind(err, fika.Invalid) {
		t.Fatalf("huge: %v", err)
	}
}

func TestFoldersAreListedAndGuarded(t *testing.T) {
	h := testFolder(t).Home
	for _, bad := range []fika.AgentName{"", "..", "../x", "a/b", "Upper", "user"} {
		if _, err := h.Create(bad); err == nil {
			t.Errorf("%q was made", bad)
		}
		if _, err := OpenFolder(h, bad); err == nil {
			t.Errorf("%q was opened", bad)
		}
	}
	if _, err := h.Create("coder"); !fika.IsKind(err, fika.Conflict) {
		t.Error(err)
	}
	if _, created, err := h.Ensure("second"); err != nil || !created {
		t.Error(created, err)
	}
	_ = os.Mkdir(filepath.Join(h.ContextsDir(), "My Ctx"), 0o700)
	_ = os.Mkdir(filepath.Join(h.ContextsDir(), ".hidden"), 0o700)
	names, strange, err := h.List()
	if err != nil || len(names) != 2 || names[0] != "coder" || len(strange) != 1 {
		t.Fatal(names, strange, err)
	}
}

func TestConcurrentEditsOfOneText(t *testing.T) {
	f := testFolder(t)
	var wg sync.WaitGroup
	const writers = 6
	for i := range writers {
		wg.Go(func() {
			for {
				seen, err := f.Read(Goals)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = f.WriteIf(Goals, seen.Hash, seen.Body+strings.Repeat("x", i+1)+"\n")
				if err == nil {
					return
				}
				if !fika.IsKind(err, fika.Conflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := lineCount(t, f.TextPath(Goals)); n != writers {
		t.Fatalf("%d of %d edits are there", n, writers)
	}
}
