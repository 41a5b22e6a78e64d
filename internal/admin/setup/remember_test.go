package setup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/admin/setup"
	"fika/internal/app"
)

// TestRemember: a line goes to the instructions of the project, and is in force at once where all
// else is; where something else has changed, it waits for the person as that does.
func TestRemember(t *testing.T) {
	root, a := trustedProject(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	remember := func(line string) bool {
		t.Helper()
		_, inForce, err := setup.Remember(a(), line)
		if err != nil {
			t.Fatal(err)
		}
		return inForce
	}
	if !remember("run  make test\tfirst") || read("AGENTS.md") != "- run make test first\n" {
		t.Errorf("%q", read("AGENTS.md"))
	}
	if err := os.WriteFile(filepath.Join(root, "AGENTS.md"), []byte("no line end"), 0o644); err != nil {
		t.Fatal(err)
	}
	if remember("two") || read("AGENTS.md") != "no line end\n- two\n" {
		t.Errorf("with a change that nobody agreed to: %q", read("AGENTS.md"))
	}
	p, err := setup.ReviewProject(a())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Accept(); err != nil {
		t.Fatal(err)
	}
	if !remember("three") {
		t.Error("not in force after the person agreed")
	}
	m, err := setup.Remembered(a())
	if err != nil || !m.InForce() || len(m.Files) != 1 || !strings.HasSuffix(string(m.Files[0].Data), "- three\n") {
		t.Errorf("%+v, %v", m, err)
	}
	if err := os.Remove(filepath.Join(root, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(root, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if path, _, err := setup.Remember(a(), "four"); err == nil {
		t.Errorf("written through a link: %s", path)
	}
}

// trustedProject returns a project that the person agreed to, and what opens it.
func trustedProject(t *testing.T) (root string, open func() *app.App) {
	t.Helper()
	home, root := t.TempDir(), t.TempDir()
	open = func() *app.App {
		a := app.New(app.Options{Dir: root, Getenv: func(name string) string {
			if name == "HOME" {
				return home
			}
			return ""
		}})
		t.Cleanup(func() { a.Close() })
		return a
	}
	if _, err := setup.InitProject(setup.Plan{Root: root, AgentsMD: true}); err != nil {
		t.Fatal(err)
	}
	p, err := setup.ReviewProject(open())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Accept(); err != nil {
		t.Fatal(err)
	}
	return root, open
}
