package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// olderFika returns the program of a commit of this repository, built from its history. It
// skips the test where that is not there.
func olderFika(t *testing.T, commit string) string {
	t.Helper()
	if testing.Short() || os.Getenv("FULL") == "" {
		t.Skipf("skipped: make full builds the fika of %s", commit)
	}
	if path := os.Getenv("FIKA_E2E_OLDER_" + commit); path != "" {
		return path
	}
	if err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		t.Skipf("skipped: the fika of %s is not in the history here", commit)
	}
	dir := t.TempDir()
	build := exec.Command("sh", "-c", `git -C "$(git rev-parse --show-toplevel)" archive "$1" | tar x -C "$2" && cd "$2" && go build -o fika ./cmd/fika`, "sh", commit, dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("skipped: the fika of %s cannot be built here: %v\n%s", commit, err, out)
	}
	return filepath.Join(dir, "fika")
}

// with returns the home as another program uses it.
func (h *home) with(program string) *home {
	other := *h
	other.program = program
	return &other
}

// TestUpgradeAndTheWayBack: a home of an older fika is upgraded while its hub is up, which
// is refused until that is down, and goes back as docs/guides/migrating.md says (rows P2, F2, F3).
func TestUpgradeAndTheWayBack(t *testing.T) {
	for commit, engines := range map[string][]string{"91b0add": {"file"}, "1183353": {"file", "server"}} {
		older := olderFika(t, commit)
		for _, engine := range engines {
			t.Run(commit+" "+engine, func(t *testing.T) { walkUpgrade(t, older, engine == "server") })
		}
	}
}

func walkUpgrade(t *testing.T, older string, server bool) {
	more, url := "", ""
	if server {
		url = servers.Server(t).URL()
		more = onServer(url)
	}
	h := scriptedHome(t, more, autoCoder)
	old := h.with(older)
	old.must("up")
	old.must("chat", "create", "room")
	old.must("chat", "send", "room", "accepted by the older")
	for _, args := range [][]string{{"chat", "view", "room"}, {"chat", "send", "room", "refused"}} {
		if r := h.run(args...); r.code != 4 || !strings.Contains(r.stderr, "run fika down") {
			t.Errorf("%q beside the older: exit %d: %s", args, r.code, r.stderr)
		}
	}
	old.must("ask", "coder", "hello")
	old.must("down")
	if r := h.run("chat", "view", "room"); r.code != 4 || !strings.Contains(r.stderr, "fika up") {
		t.Errorf("looking at an older database: exit %d: %s", r.code, r.stderr)
	}
	h.must("up")
	if said := h.must("chat", "view", "room"); !strings.Contains(said, "accepted by the older") || strings.Contains(said, "refused") {
		t.Errorf("after the upgrade: %q", said)
	}
	if r := h.run("doctor"); strings.Contains(r.stdout, "damaged") {
		t.Errorf("doctor says %s", r.stdout)
	}
	h.must("chat", "send", "room", "said since")
	h.must("ask", "coder", "hello")
	if server {
		h.must("down")
		h.ok(os.Rename(filepath.Join(h.dir, "run", "jetstream"), filepath.Join(h.dir, "run", "newer")))
		schema := url[strings.LastIndex(url, "=")+1:]
		h.write("config.toml", strings.ReplaceAll(h.read("config.toml"), "search_path="+schema, "search_path="+copyOf(t, url)))
	} else {
		h.wayBack()
	}
	old.must("up")
	if said := old.must("chat", "view", "room"); !strings.Contains(said, "accepted by the older") || strings.Contains(said, "said since") {
		t.Errorf("back at the older: %q", said)
	}
	old.must("ask", "coder", "hello")
	old.must("down")
}

// wayBack runs what docs/guides/migrating.md says about a database in a file.
func (h *home) wayBack() {
	h.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "migrating.md"))
	h.ok(err)
	_, text, _ := strings.Cut(string(page), "### Back to the older fika")
	steps := regexp.MustCompile("(?s)```text\n(.*?)```").FindStringSubmatch(text)
	if steps == nil {
		h.Fatal("the page names no way back")
	}
	bin := h.TempDir()
	h.ok(os.Symlink(binary, filepath.Join(bin, "fika")))
	walk := exec.Command("sh", "-ec", strings.ReplaceAll(steps[1], "~/.fika", h.dir))
	walk.Env = append(h.env, "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := walk.CombinedOutput(); err != nil {
		h.Fatalf("%s: %v\n%s", steps[1], err, out)
	}
}

// copyOf returns the schema that was copied before the migration of the one at url.
func copyOf(t *testing.T, url string) (name string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if err := c.QueryRow(t.Context(), `SELECT nspname FROM pg_namespace WHERE nspname LIKE current_schema() || '\_schema%'`).Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}
