package worktree

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
)

// checkout returns all that a person has in their working tree: each file with its bytes and
// its mode, what is staged and what is not, and where they stand.
func (w world) checkout() string {
	w.t.Helper()
	var b strings.Builder
	must(w.t, filepath.WalkDir(w.repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(w.repo, ".git") {
			return orSkip(err)
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %s %q\n", strings.TrimPrefix(path, w.repo), info.Mode(), text)
		return err
	}))
	for _, args := range [][]string{{"rev-parse", "HEAD"}, {"symbolic-ref", "HEAD"}, {"ls-files", "-s", "-v"}, {"diff"}, {"diff", "--cached", "-M"}, {"status", "--porcelain", "-uall", "--ignored"}, {"stash", "list"}} {
		b.WriteString(plain(w.t, w.repo, args...) + "\n")
	}
	return b.String()
}

func orSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// Landing leaves a person's dirty checkout byte for byte as it was. What has landed comes
// into it by Apply, which names what it would overwrite and changes nothing then.
func TestADirtyCheckoutIsAsItWas(t *testing.T) {
	type person func(t *testing.T, repo string)
	git := func(args ...string) person { return func(t *testing.T, repo string) { plain(t, repo, args...) } }
	put := func(path, text string) person {
		return func(t *testing.T, repo string) { write(t, filepath.Join(repo, path), text) }
	}
	remove := func(path string) person {
		return func(t *testing.T, repo string) { must(t, os.RemoveAll(filepath.Join(repo, path))) }
	}
	// What lands changes cart.go, renames old.go to new.go, removes gone.go, and adds
	// more/file.go and built, which is ignored.
	for _, one := range []struct {
		name, names string // "": nothing overlaps
		does        []person
	}{
		{"edited", "cart.go", []person{put("cart.go", "mine\n")}},
		{"staged", "cart.go", []person{put("cart.go", "mine\n"), git("add", "cart.go")}},
		{"staged and edited back", "cart.go", []person{put("cart.go", "mine\n"), git("add", "cart.go"), put("cart.go", "one\ntwo\nthree\n")}},
		{"deleted", "cart.go", []person{remove("cart.go")}},
		{"removed from the index", "cart.go", []person{git("rm", "-q", "cart.go")}},
		{"renamed", "cart.go", []person{git("mv", "cart.go", "basket.go")}},
		{"a folder in its place", "cart.go", []person{remove("cart.go"), put("cart.go/x", "x")}},
		{"another mode", "cart.go", []person{func(t *testing.T, repo string) { must(t, os.Chmod(filepath.Join(repo, "cart.go"), 0o755)) }}},
		{"edited, and told git to look away", "cart.go", []person{git("update-index", "--assume-unchanged", "cart.go"), put("cart.go", "mine\n")}},
		{"edited, and left out of the tree", "cart.go", []person{git("update-index", "--skip-worktree", "cart.go"), put("cart.go", "mine\n")}},
		{"edited what is renamed", "old.go", []person{put("old.go", "mine\n")}},
		{"edited what is removed", "gone.go", []person{put("gone.go", "mine\n")}},
		{"untracked where a rename goes", "new.go", []person{put("new.go", "mine\n")}},
		{"untracked where a file comes", "more/file.go", []person{put("more/file.go", "mine\n")}},
		{"a file where a folder comes", "more/file.go", []person{put("more", "mine\n")}},
		{"to be added where a file comes", "more/file.go", []person{put("more/file.go", "mine\n"), git("add", "-N", "more/file.go")}},
		{"the same file as comes, untracked", "more/file.go", []person{put("more/file.go", "landed\n")}},
		{"ignored where a file comes", "built", []person{put("built", "mine\n")}},
		{"all beside it", "", []person{
			put("other.go", "mine\n"), put("staged.go", "mine\n"), git("add", "staged.go"), remove("deleted.go"), git("mv", "moved.go", "there.go"),
			put("notes", "mine\n"), put("more/notes", "mine\n"), put("ignored.log", "mine\n"), put("later.go", "mine\n"), git("add", "-N", "later.go"),
		}},
		{"nothing", "", nil},
	} {
		t.Run(one.name, func(t *testing.T) {
			w := newWorld(t)
			for _, name := range []string{"old.go", "gone.go", "other.go", "staged.go", "deleted.go", "moved.go"} {
				write(t, filepath.Join(w.repo, name), strings.Repeat(name+"\n", 5))
			}
			write(t, filepath.Join(w.repo, ".gitignore"), "built\n*.log\n")
			plain(t, w.repo, "add", "-A")
			plain(t, w.repo, "commit", "-qm", "more files")
			plain(t, w.repo, "switch", "-qc", "work")
			write(t, filepath.Join(w.repo, "cart.go"), "landed\n")
			plain(t, w.repo, "mv", "old.go", "new.go")
			plain(t, w.repo, "rm", "-q", "gone.go")
			write(t, filepath.Join(w.repo, "more/file.go"), "landed\n")
			write(t, filepath.Join(w.repo, "built"), "landed\n")
			plain(t, w.repo, "add", "-A")
			plain(t, w.repo, "add", "-f", "built")
			plain(t, w.repo, "commit", "-qm", "work")
			tip := plain(t, w.repo, "rev-parse", "HEAD")
			plain(t, w.repo, "switch", "-q", "main")
			for _, does := range one.does {
				does(t, w.repo)
			}
			before := w.checkout()
			landed := w.land(Work{Offer: 1, Source: "work", Tip: tip, How: LandRebase}).Commit
			if _, err := w.target().Follow(t.Context()); err != nil {
				t.Fatal(err)
			}
			if now := w.checkout(); now != before {
				t.Fatalf("landing has changed the checkout:\n%s\nbefore:\n%s", now, before)
			}
			dirty := plain(t, w.repo, "status", "--porcelain", "-uall", "--ignored")
			a, err := w.target().Apply(t.Context())
			if one.names != "" {
				if !fika.IsKind(err, fika.Conflict) || !strings.Contains(err.Error(), one.names) {
					t.Errorf("%+v, %v", a, err)
				}
				if now := w.checkout(); now != before {
					t.Errorf("a refused apply has changed the checkout:\n%s\nbefore:\n%s", now, before)
				}
				return
			}
			must(t, err)
			if a.Commit != landed || plain(t, w.repo, "rev-parse", "HEAD") != landed || plain(t, w.repo, "symbolic-ref", "HEAD") != "refs/heads/main" {
				t.Errorf("%+v", a)
			}
			if now := plain(t, w.repo, "status", "--porcelain", "-uall", "--ignored"); now != dirty {
				t.Errorf("what is dirty now:\n%s\nbefore:\n%s", now, dirty)
			}
			for _, path := range []string{"other.go", "staged.go", "notes", "more/notes", "ignored.log", "later.go"} {
				if len(one.does) > 0 && read(t, filepath.Join(w.repo, path)) != "mine\n" {
					t.Errorf("%s has %q", path, read(t, filepath.Join(w.repo, path)))
				}
			}
			for path, want := range map[string]string{"cart.go": "landed\n", "new.go": strings.Repeat("old.go\n", 5), "more/file.go": "landed\n", "built": "landed\n"} {
				if read(t, filepath.Join(w.repo, path)) != want {
					t.Errorf("%s has %q", path, read(t, filepath.Join(w.repo, path)))
				}
			}
		})
	}
}

// What a pull request has brought to the branch in another shape is not put on it again: its
// commit has the trailer of the offer and its first line. Another home's offer of the same
// number is another one.
func TestWhatHasLandedUpstreamIsKnown(t *testing.T) {
	for _, one := range []struct {
		name    string
		message string // of the commit upstream
		known   bool
	}{
		{"squashed", "Cart (#12)\n\n* work writes cart.go\n\nFika-Offer: 1\n", true},
		{"another offer of this number", "their work\n\nFika-Offer: 1\n", false},
		{"no trailer", "work writes cart.go\n", false},
	} {
		t.Run(one.name, func(t *testing.T) {
			w := newWorld(t)
			ctx, target := t.Context(), w.target()
			tip := w.branch("work", "main", "cart.go", "landed\ntwo\nthree\n")
			w.branch("aside", "main", "aside.go", "x\n")
			plain(t, w.repo, "switch", "-q", "aside")
			landed := w.land(Work{Offer: 1, Agent: "coder", Source: "@coder", Tip: tip, How: LandRebase}).Commit
			plain(t, w.repo, "update-ref", "refs/remotes/origin/fika/landing/main", "main")
			plain(t, w.repo, "switch", "-q", "main")
			write(t, filepath.Join(w.repo, "cart.go"), "landed\ntwo\nand theirs\n")
			plain(t, w.repo, "commit", "-qam", one.message)
			plain(t, w.repo, "update-ref", "refs/remotes/origin/main", "main")
			upstream, err := target.Upstream(ctx, "origin", landed)
			must(t, err)
			g, err := target.Ground(ctx)
			must(t, err)
			main := plain(t, w.repo, "rev-parse", "main")
			_, _, commits, err := target.Unapplied(ctx)
			must(t, err)
			if known := g.Commit == main && g.Again == "" && commits == 0 && upstream == "origin/main"; known != one.known {
				t.Errorf("%+v, %d commits, upstream %q", g, commits, upstream)
			}
			a, err := target.Apply(ctx)
			if known := err == nil && a.Nothing; known != one.known {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}
