package git_test

import (
	"path/filepath"
	"slices"
	"testing"

	"fika/internal/repository/git"
)

// TestFindObeyed finds what settings make git read and run: trial rows S3 and S4.
func TestFindObeyed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Dir(dir))
	plain(t, dir, "config", "core.hooksPath", ".githooks")
	plain(t, dir, "config", "include.path", "../.gitconfig.shared")
	plain(t, dir, "config", "includeIf.gitdir:/nowhere/.path", "../never.conf")
	plain(t, dir, "config", "alias.b", "!tools/build.sh a.txt now")
	plain(t, dir, "config", "alias.st", "status a.txt")
	plain(t, dir, "config", "core.editor", "code --wait")
	plain(t, dir, "config", "filter.x.clean", "bash -c 'exec ./clean.sh'")
	write(t, filepath.Join(dir, "never.conf"), "[core]\n\tfsmonitor = hooks/watch\n[include]\n\tpath = sub/deep.conf\n")
	got := git.FindObeyed(t.Context(), filepath.Join(dir, "sub"))
	var want []string
	for _, name := range []string{".githooks", ".gitconfig.shared", "never.conf", "sub/deep.conf", "hooks/watch", "tools/build.sh", "a.txt", "clean.sh"} {
		want = append(want, filepath.Join(dir, name))
	}
	slices.Sort(want)
	if !slices.Equal(got.Paths, want) {
		t.Errorf("got  %q\nwant %q", got.Paths, want)
	}
	if !slices.Contains(got.Read, filepath.Join(dir, "sub/deep.conf")) {
		t.Errorf("read: %q", got.Read)
	}
	if got := git.FindObeyed(t.Context(), t.TempDir()); len(got.Paths) > 0 {
		t.Errorf("outside of a repository: %q", got.Paths)
	}
}
