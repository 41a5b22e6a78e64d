package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/sandbox"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestT25Required: where bubblewrap is missing, required runs nothing and says so.
func TestT25Required(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	a := New(Options{Probe: &Probe{}, Mode: sandbox.Required})
	_, err := a.Tools(t.TempDir()).Confine("/bin/true", nil)
	if !fika.IsKind(err, fika.Denied) {
		t.Errorf("got %v", err)
	}
	if tier := a.Tools(t.TempDir()).Tier(); tier != string(sandbox.None) {
		t.Errorf("tier %s", tier)
	}
}

// TestRepository: what a commit writes is found from a folder in the repository
// and from a linked worktree, and a .git that was made to open another folder
// opens nothing.
func TestRepository(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	repo, tree, sub := filepath.Join(dir, "repo"), filepath.Join(dir, "tree"), filepath.Join(dir, "repo/a/b")
	must(t, os.MkdirAll(sub, 0o700))
	runGit(t, repo, "init", "-q")
	runGit(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
	runGit(t, repo, "worktree", "add", "-q", tree)
	common := filepath.Join(repo, ".git")
	if r := findRepository(repo); len(r.outside(repo)) != 0 || r.common != common {
		t.Errorf("in the repository: %+v", r)
	}
	if r := findRepository(sub); !slices.Equal(r.outside(sub), []string{common}) {
		t.Errorf("in a folder of it: %+v", r)
	}
	r := findRepository(tree)
	if !slices.Equal(r.outside(tree), []string{common}) {
		t.Errorf("in a worktree: %+v", r)
	}
	for _, path := range []string{filepath.Join(tree, ".git"), filepath.Join(common, "hooks"), filepath.Join(r.dir, "commondir"), filepath.Join(r.dir, "config")} {
		if !slices.Contains(r.protected(), path) {
			t.Errorf("%s is not protected", path)
		}
	}
	forged, keys := filepath.Join(dir, "forged"), filepath.Join(dir, ".ssh")
	must(t, os.Mkdir(forged, 0o700))
	must(t, os.Mkdir(keys, 0o700))
	for _, target := range []string{keys, common, r.dir} {
		must(t, os.WriteFile(filepath.Join(forged, ".git"), []byte("gitdir: "+target+"\n"), 0o600))
		if out := findRepository(forged).outside(forged); len(out) != 0 {
			t.Errorf("a forged .git opens %v", out)
		}
	}
}

// TestWorkspaces: folders that cannot be set apart are refused, and in the
// built-in tier those that hold what is to be hidden.
func TestWorkspaces(t *testing.T) {
	person := t.TempDir()
	must(t, os.Mkdir(filepath.Join(person, ".ssh"), 0o700))
	o := Options{Probe: &Probe{}, Mode: sandbox.Best, Paths: guard.Paths{Persons: []string{person}}, Temp: filepath.Join(person, "tmp"), Getenv: os.Getenv}
	for _, dir := range []string{"/", "/proc", filepath.Join(person, "missing")} {
		if _, err := New(o).Tools(dir).Confine("/bin/true", nil); !fika.IsKind(err, fika.Denied) {
			t.Errorf("%s: got %v", dir, err)
		}
	}
	t.Setenv("PATH", t.TempDir()) // no bubblewrap, and no true(1) to try with: tier none
	c := &call{agent: New(o), workspace: person}
	p, _, _, err := c.profile()
	must(t, err)
	if err := c.reachesHidden(p); !fika.IsKind(err, fika.Denied) {
		t.Errorf("a workspace with keys in it: %v", err)
	}
}

// TestCachesAreOfOneProject: worktrees of a repository share their caches, other
// projects have others.
func TestCachesAreOfOneProject(t *testing.T) {
	dir := t.TempDir()
	repo, tree, other := filepath.Join(dir, "repo"), filepath.Join(dir, "tree"), filepath.Join(dir, "other")
	must(t, os.MkdirAll(repo, 0o700))
	must(t, os.MkdirAll(other, 0o700))
	runGit(t, repo, "init", "-q")
	runGit(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
	runGit(t, repo, "worktree", "add", "-q", tree)
	caches := func(workspace string) string {
		c := &call{agent: New(Options{Caches: filepath.Join(dir, "cache"), Getenv: os.Getenv}), workspace: workspace}
		var p sandbox.Profile
		return c.caches(&p)[0]
	}
	if caches(repo) != caches(tree) || caches(repo) == caches(other) {
		t.Errorf("%s, %s, %s", caches(repo), caches(tree), caches(other))
	}
}
