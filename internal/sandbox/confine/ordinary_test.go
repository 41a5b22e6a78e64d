package confine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/rights/guard"
	"fika/internal/sandbox"
)

// chore is ordinary work that no sandbox may be in the way of.
type chore struct {
	name, script string
	tree         bool // in a linked worktree
	needs        string
	only         sandbox.Tier
	slow         bool // with FULL=1 alone
}

func chores() []chore {
	return []chore{
		{name: "commit", needs: "git", script: `echo x > file && git add file && git commit -q -m one && git log -1 --format=%s | grep one`},
		{name: "commit in a worktree", needs: "git", tree: true, script: `echo x > other && git add other && git commit -q -m two && git log -1 --format=%s | grep two`},
		{name: "make -j", needs: "make", script: `printf 'all: a b c\na b c:\n\techo $@ > $@.out\n' > Makefile && make -s -j 4 && cat a.out b.out c.out`},
		{name: "mktemp", needs: "mktemp", script: `f=$(mktemp) && d=$(mktemp -d) && echo x > "$d/y" && mv "$d/y" "$f"`},
		{name: "mv across folders", needs: "mv", script: `mkdir -p from to && echo x > from/x && mv from/x to/x && mv to moved && cat moved/x && mv moved/x "$TMPDIR/x" && mv "$TMPDIR/x" back && cat back`},
		{name: "ls ~", needs: "ls", only: sandbox.Full, script: `ls ~ && touch ~/x`},
		{name: "Python multiprocessing", needs: "python3", only: sandbox.Full, script: `python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'`},
		{name: "Python processes", needs: "python3", script: `python3 -c '
import multiprocessing as m
a, b = m.Pipe()
p = m.get_context("fork").Process(target=b.send, args=(7,)); p.start(); p.join()
assert a.recv() == 7'`},
		{name: "go test with a server", needs: "go", only: sandbox.Full, slow: true, script: `cd server && go test ./... && go build ./...`},
		{name: "go test", needs: "go", only: sandbox.Landlock, slow: true, script: `cd plain && go test ./... && go build ./...`},
		{name: "npm ci", needs: "npm", slow: true, script: `cd app && npm ci --no-audit --no-fund && node -e 'if (require("small") !== 7) process.exit(1)'`},
	}
}

// TestOrdinaryWork: what people have agents do every day works in each tier. The
// second tier builds with the cache that the first has filled.
func TestOrdinaryWork(t *testing.T) {
	person := newPerson(t)
	for _, tier := range []sandbox.Tier{sandbox.Full, sandbox.Landlock} {
		t.Run(string(tier), func(t *testing.T) {
			path := os.Getenv("PATH")
			if tier == sandbox.Landlock {
				withoutBubblewrap(t)
			}
			o := Options{
				Probe: &Probe{}, Mode: sandbox.Best, Paths: guard.Paths{Persons: []string{person}}, Caches: filepath.Join(person, "cache"),
				Temp: filepath.Join(person, "tmp"), Aside: filepath.Join(person, "aside"), Calls: filepath.Join(person, "calls"), Getenv: os.Getenv,
			}
			if found, err := o.Probe.Open(sandbox.Best); err != nil || found.Tier() != tier {
				t.Skipf("tier %s does not work here", tier)
			}
			t.Setenv("PATH", path)
			for _, c := range chores() {
				t.Run(c.name, func(t *testing.T) { c.do(t, o, tier, person) })
			}
		})
	}
}

func (c chore) do(t *testing.T, o Options, tier sandbox.Tier, person string) {
	if c.only != "" && c.only != tier {
		t.Skipf("tier %s lacks what it needs, and says so", tier)
	}
	if c.slow && os.Getenv("FULL") == "" {
		t.Skip("with FULL=1")
	}
	if strings.Contains(c.script, "~") && tier == sandbox.Full && (strings.HasPrefix(person, os.TempDir()+"/") || strings.HasPrefix(person, "/tmp/")) {
		t.Skip("this home is in a folder for temporary files, of which a call has its own")
	}
	if _, err := exec.LookPath(c.needs); err != nil {
		t.Skipf("%s is not installed", c.needs)
	}
	workspace := filepath.Join(person, "repo")
	if c.tree {
		workspace = filepath.Join(person, "tree")
	}
	o.Network = c.needs == "npm" // the registry is outside
	got, err := New(o).Tools(workspace).Confine("/bin/sh", []string{"-c", "set -e; " + c.where() + c.script})
	must(t, err)
	cmd := exec.Command(got.Path, got.Args...)
	cmd.Dir, cmd.ExtraFiles = workspace, got.Files
	cmd.Env = append([]string{
		"PATH=/usr/bin:/bin:/usr/local/go/bin:" + os.Getenv("PATH"), "HOME=" + person, "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "CGO_ENABLED=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}, got.Env...)
	out, err := cmd.CombinedOutput()
	if said := got.Ended(); err != nil || len(said) > 0 {
		t.Errorf("%v, undone: %q\n%s", err, said, out)
	}
}

// where begins the script of a chore: in a folder of its own, unless there is a
// project to work in.
func (c chore) where() string {
	if c.slow {
		return ""
	}
	return "cd \"$(mktemp -d ./work.XXXXXX)\"; "
}

// newPerson is a home folder with a repository, a worktree of it, and projects.
func newPerson(t *testing.T) string {
	t.Helper()
	person, err := os.MkdirTemp(os.Getenv("HOME"), "fika-ordinary-") // a sandbox replaces /tmp
	must(t, err)
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", person).Run(); os.RemoveAll(person) })
	repo := filepath.Join(person, "repo")
	put(t, filepath.Join(person, "mine"), "")
	put(t, filepath.Join(repo, "server", "go.mod"), "module server\n\ngo 1.21\n")
	put(t, filepath.Join(repo, "server", "server_test.go"), `package server

import (
	"io"
	"net"
	"testing"
)

func TestServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, _ := l.Accept()
		c.Write([]byte("hello"))
		c.Close()
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(c); string(got) != "hello" {
		t.Fatal(string(got))
	}
}
`)
	put(t, filepath.Join(repo, "plain", "go.mod"), "module plain\n\ngo 1.21\n")
	put(t, filepath.Join(repo, "plain", "plain_test.go"), "package plain\n\nimport \"testing\"\n\nfunc TestPlain(t *testing.T) {}\n")
	registry, sum := npmRegistry(t)
	put(t, filepath.Join(repo, "app", "package.json"), `{"name": "app", "version": "1.0.0", "dependencies": {"small": "1.0.0"}}`)
	put(t, filepath.Join(repo, "app", ".npmrc"), "registry="+registry+"\n")
	put(t, filepath.Join(repo, "app", "package-lock.json"), fmt.Sprintf(`{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
"": {"name": "app", "version": "1.0.0", "dependencies": {"small": "1.0.0"}},
"node_modules/small": {"version": "1.0.0", "resolved": "%s/small/-/small-1.0.0.tgz", "integrity": "%s"}}}`, registry, sum))
	runGit(t, repo, "init", "-q")
	runGit(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	runGit(t, repo, "worktree", "add", "-q", filepath.Join(person, "tree"))
	return person
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// npmRegistry serves one package; sum is what a lock file says of it.
func npmRegistry(t *testing.T) (url, sum string) {
	t.Helper()
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	files := tar.NewWriter(zip)
	for name, text := range map[string]string{"package/package.json": `{"name": "small", "version": "1.0.0", "main": "index.js"}`, "package/index.js": "module.exports = 7\n"} {
		must(t, files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := files.Write([]byte(text))
		must(t, err)
	}
	must(t, files.Close())
	must(t, zip.Close())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) }))
	t.Cleanup(s.Close)
	digest := sha512.Sum512(archive.Bytes())
	return s.URL, "sha512-" + base64.StdEncoding.EncodeToString(digest[:])
}
