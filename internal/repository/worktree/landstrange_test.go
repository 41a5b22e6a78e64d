package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
)

// What was offered is a commit: a branch that is deleted or forced elsewhere afterwards changes
// nothing about it.
func TestAnOfferOutlivesItsBranch(t *testing.T) {
	w := newWorld(t)
	ctx, target := t.Context(), w.target()
	gone := w.branch("gone", "main", "a", "a\n")
	moved := w.branch("moved", "main", "b", "b\n")
	must(t, target.Keep(ctx, 1, "tip", gone))
	must(t, target.Keep(ctx, 2, "tip", moved))
	plain(t, w.repo, "branch", "-q", "-D", "gone")
	plain(t, w.repo, "branch", "-q", "-f", "moved", "main")
	plain(t, w.repo, "reflog", "expire", "--expire=now", "--all")
	plain(t, w.repo, "gc", "-q", "--prune=now")
	w.land(Work{Offer: 1, Source: "gone", Tip: gone, How: LandRebase})
	w.land(Work{Offer: 2, Source: "moved", Tip: moved, How: LandRebase})
	if files := plain(t, w.repo, "diff", "--name-only", "main", target.Ref()); files != "a\nb" {
		t.Errorf("landed: %q", files)
	}
}

// An offer may be large, and what needs a person's yes is found among all of it.
func TestAnOfferOfTenThousandFiles(t *testing.T) {
	w := newWorld(t)
	plain(t, w.repo, "switch", "-qc", "large", "main")
	for i := range 10_000 {
		write(t, filepath.Join(w.repo, fmt.Sprintf("d%d/f%d", i/100, i)), fmt.Sprint(i))
	}
	must(t, os.Symlink("/etc/passwd", filepath.Join(w.repo, "d50", "out")))
	write(t, filepath.Join(w.repo, ".gitattributes"), "*.bin filter=lfs\n")
	plain(t, w.repo, "add", "-A")
	plain(t, w.repo, "update-index", "--add", "--cacheinfo", "160000,"+plain(t, w.repo, "rev-parse", "main")+",sub")
	plain(t, w.repo, "commit", "-qm", "large")
	tip := plain(t, w.repo, "rev-parse", "HEAD")
	plain(t, w.repo, "switch", "-qf", "--detach", "main")
	p, err := w.target().Put(t.Context(), plain(t, w.repo, "rev-parse", "main"), Work{Offer: 1, Source: "large", Tip: tip, How: LandSquash})
	must(t, err)
	var asks []string
	for _, a := range p.Asks {
		asks = append(asks, a.Path)
	}
	if got := strings.Join(asks, " "); got != ".gitattributes d50/out sub" {
		t.Errorf("asks for %q", got)
	}
}

// Repositories that are not as usual are landed in, or named.
func TestStrangeRepositories(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	tip := w.branch("work", "main", "a", "a\n")
	write(t, filepath.Join(w.repo, "b"), "b\n")
	plain(t, w.repo, "switch", "-q", "main")
	plain(t, w.repo, "add", "-A")
	plain(t, w.repo, "commit", "-qm", "second")
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o700))
	plain(t, filepath.Join(dir, "empty"), "init", "-q", "-b", "main")
	if _, err := (Target{Project: filepath.Join(dir, "empty"), Into: "main"}).Ground(ctx); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("without commits: %v", err)
	}
	for name, args := range map[string][]string{
		"bare":    {"clone", "-q", "--bare", "file://" + w.repo},
		"shallow": {"clone", "-q", "--depth", "1", "--no-single-branch", "file://" + w.repo},
	} {
		at := filepath.Join(dir, name)
		plain(t, dir, append(args, at)...)
		if name == "shallow" {
			plain(t, at, "branch", "-q", "work", "origin/work")
		}
		target := Target{Project: at, Into: "main"}
		g, err := target.Ground(ctx)
		must(t, err)
		p, err := target.Put(ctx, g.Commit, Work{Offer: 1, Source: "work", Tip: tip, How: LandRebase})
		if name == "shallow" { // the commit that both come from is not there
			if !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "no commit in common") {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
			continue
		}
		must(t, err)
		must(t, target.Move(ctx, g.Old, p.Commit))
		if files := plain(t, at, "ls-tree", "--name-only", target.Ref()); !strings.Contains(files, "a\nb") {
			t.Errorf("%s: landed %q", name, files)
		}
	}
}
