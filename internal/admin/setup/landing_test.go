package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test command is the one that the project names, and nothing of the project is run.
func TestTheCheckIsTheProjectsOwn(t *testing.T) {
	for _, c := range []struct{ files, check, found string }{
		{"", "", ""},
		{"Makefile=build:\n\ttrue\n", "", ""},
		{"Makefile=.PHONY: test\ntest: build\n\ttrue\n;go.mod=module x\n", "make test", "Makefile"},
		{"Makefile=test := 1\ntests:\n;go.mod=module x\n", "go test ./...", "go.mod"},
		{`package.json={"scripts":{"test":"node t.js"}}`, "npm test", "package.json"},
		{`package.json={"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`, "", ""},
		{"package.json={broken;Cargo.toml=[package]", "cargo test", "Cargo.toml"},
	} {
		dir := t.TempDir()
		for one := range strings.SplitSeq(c.files, ";") {
			if name, text, ok := strings.Cut(one, "="); ok {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		l := FindLanding(t.Context(), dir)
		if l.Check != c.check || l.Found != c.found || l.Into != "main" || l.Missing == "" {
			t.Errorf("%q: %+v", c.files, l)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "Makefile")); err != nil {
		t.Fatal(err)
	}
	if l := FindLanding(t.Context(), dir); l.Check != "" {
		t.Errorf("a link: %+v", l)
	}
}
