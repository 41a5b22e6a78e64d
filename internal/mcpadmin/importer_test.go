package mcpadmin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/mcpadmin"
)

func open(t *testing.T, settings string) (*mcpadmin.Servers, string) {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "config.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	a := app.New(app.Options{Root: root, Dir: root, Getenv: func(name string) string { return map[string]string{"HOME": root, "PATH": os.Getenv("PATH")}[name] }})
	s, err := mcpadmin.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = a.Close() })
	return s, root
}

func TestImportAddRemove(t *testing.T) {
	s, root := open(t, "# mine\n[[mcp]]\nname = \"mem\"\ncommand = \"x\"\n\n[chat]\nmax_depth = 7\n")
	file := filepath.Join(root, "mcp.json")
	text := `{"mcpServers": {"GitHub Thing": {"command": "npx", "args": ["-y", "@x/gh"], "env": {"GITHUB_TOKEN": "ghp_secret", "LEVEL": "debug"}},
		"far": {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${FAR}", "X-A": "b"}}, "mem": {"command": "x"}, "bad": {"command": 3}, "none": {}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := s.Import(file)
	if err != nil || len(found.Entries) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	left := strings.Join(found.Left, "\n")
	for _, want := range []string{"GITHUB_TOKEN was not taken over", "header X-A was left out", "mem: left out: there is a server mem already", "bad: left out", "none: left out"} {
		if !strings.Contains(left, want) {
			t.Errorf("%q is not in %s", want, left)
		}
	}
	if err := s.Add(found.Entries...); err != nil {
		t.Fatal(err)
	}
	read := func() string { raw, _ := os.ReadFile(filepath.Join(root, "config.toml")); return string(raw) }
	if now := read(); !strings.Contains(now, "name = \"github-thing\"\ncommand = \"npx\"\nargs = [\"-y\", \"@x/gh\"]\nenv = [\"GITHUB_TOKEN\", \"LEVEL=debug\"]\n") || !strings.Contains(now, "bearer_env = \"FAR\"") || strings.Contains(now, "ghp_secret") {
		t.Errorf("%s", now)
	}
	if err := s.Remove("mem"); err != nil {
		t.Fatal(err)
	}
	if now := read(); !strings.HasPrefix(now, "# mine\n[chat]\nmax_depth = 7\n") || strings.Contains(now, "mem") {
		t.Errorf("%s", now)
	}
	if err := s.Remove("nobody"); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"[]", "{}", `{"mcpServers": 3}`, "no json"} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Import(file); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// FuzzImport: a file of another program is refused, or each of its servers becomes
// an entry that the config takes, under a name of its own, or is named as left out.
func FuzzImport(f *testing.F) {
	for _, s := range []string{
		`{"mcpServers":{"A b":{"command":"x","args":["${Y}"],"env":{"K":"v"}},"a-b":{"url":"https://e.org","headers":{"A":"b"}}}}`,
		`{"servers":{"":{"command":"\u0000\""},"x":1,"é":{"serverUrl":"::"}}}`, `{"mcpServers":null}`, `[]`, "{",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, root := open(t, "")
		path := filepath.Join(root, "other.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := s.Import(path)
		if err != nil {
			if !fika.IsKind(err, fika.Invalid) {
				t.Fatal(err)
			}
			return
		}
		names := map[string]bool{}
		for _, e := range got.Entries {
			if names[e.Name] || e.Name == "" {
				t.Fatalf("%q: the name %q", data, e.Name)
			}
			names[e.Name] = true
			if c, err := config.Parse("f", []byte(e.TOML()+"\n")); err != nil || c.MCPServer(e.Name) == nil || c.MCPServer(e.Name).Command != e.Command {
				t.Fatalf("%s: %v", e.TOML(), err)
			}
		}
	})
}
