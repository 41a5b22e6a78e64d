package mcpadmin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/admin/mcpadmin"
	"fika/internal/app"
	"fika/internal/settings/config"
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
	for _, want := range []string{"GITHUB_TOKEN was not taken over", "mem: left out: server mem already exists", "bad: left out", "none: left out"} {
		if !strings.Contains(left, want) {
			t.Errorf("%q is not in %s", want, left)
		}
	}
	if err := s.Add(found.Entries...); err != nil {
		t.Fatal(err)
	}
	read := func() string { raw, _ := os.ReadFile(filepath.Join(root, "config.toml")); return string(raw) }
	if now := read(); !strings.Contains(now, "name = \"github-thing\"\ncommand = \"npx\"\nargs = [\"-y\", \"@x/gh\"]\nenv = [\"GITHUB_TOKEN\", \"LEVEL=debug\"]\n") || !strings.Contains(now, "bearer_env = \"FAR\"\nheaders = [\"X-A: b\"]") || strings.Contains(now, "ghp_secret") {
		t.Errorf("%s", now)
	}
	if err := s.Remove(t.Context(), "mem"); err != nil {
		t.Fatal(err)
	}
	if now := read(); !strings.HasPrefix(now, "# mine\n[chat]\nmax_depth = 7\n") || strings.Contains(now, "mem") {
		t.Errorf("%s", now)
	}
	if err := s.Remove(t.Context(), "nobody"); !fika.IsKind(err, fika.NotFound) {
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

// TestImportOthers holds that files of other programs are read as those programs write
// them, that nothing is left out in silence, and that no secret is taken over (row P10).
func TestImportOthers(t *testing.T) {
	s, root := open(t, "")
	for _, c := range []struct {
		name, text string
		want, left []string
	}{
		{"config.toml", `model = "o5"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-server"]
cwd = "/tmp"
tool_timeout_sec = 90
startup_timeout_sec = 5
enabled_tools = ["search"]
[mcp_servers.docs.env]
LEVEL = "debug"
[mcp_servers.far]
url = "https://mcp.example/mcp"
bearer_token_env_var = "FAR_TOKEN"
http_headers = { X-Region = "eu", X-Api-Key = "k-1234567890" }
env_http_headers = { X-Who = "WHO" }
`, []string{
			"[[mcp]]\nname = \"docs\"\ncommand = \"npx\"\nargs = [\"-y\", \"docs-server\"]\nenv = [\"LEVEL=debug\"]\ntools = [\"search\"]\ntimeout = \"1m30s\"",
			"[[mcp]]\nname = \"far\"\nurl = \"https://mcp.example/mcp\"\nbearer_env = \"FAR_TOKEN\"\nheaders = [\"X-Api-Key: $FAR_X_API_KEY\", \"X-Region: eu\", \"X-Who: $WHO\"]",
		}, []string{"docs: cwd was left out", "docs: startup_timeout_sec was left out", "far: the value of the header X-Api-Key was not taken over"}},
		{"opencode.json", `{"mcp": {"files": {"type": "local", "command": ["npx", "-y", "files-server", "."], "environment": {"TOKEN": "{env:TOKEN}"}, "enabled": false, "timeout": 5000},
			"far": {"type": "remote", "url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer {env:FAR}"}}}}`, []string{
			"[[mcp]]\nname = \"far\"\nurl = \"https://mcp.example/mcp\"\nbearer_env = \"FAR\"",
			"[[mcp]]\nname = \"files\"\ncommand = \"npx\"\nargs = [\"-y\", \"files-server\", \".\"]\nenv = [\"TOKEN\"]\ndisabled = true",
		}, []string{"files: timeout was left out, as programs differ in its unit: set timeout"}},
		{"vscode.json", `{"mcp": {"servers": {"a": {"command": "x", "alwaysAllow": ["read"]}}}}`, []string{"[[mcp]]\nname = \"a\"\ncommand = \"x\""}, []string{"a: alwaysAllow was left out: what runs without a question is for [[rules]] to say"}},
		{"secrets.json", `{"mcpServers": {"a": {"command": "x", "args": ["--db", "postgres://me:hunter2@db/x"]}, "b": {"command": "x", "args": ["--api-key", "hunter2"]},
			"c": {"command": "x", "args": ["--token=hunter2"]}, "d": {"command": ["x", "--password", "hunter2"]}, "e": {"command": "x", "args": ["--token-file", "--verbose"]}}}`,
			[]string{"[[mcp]]\nname = \"e\"\ncommand = \"x\"\nargs = [\"--token-file\", \"--verbose\"]"},
			[]string{"a: left out: its argument 2 looks like a secret", "b: left out: its argument 2", "c: left out: its argument 1", "d: left out: its argument 2"}},
	} {
		file := filepath.Join(root, c.name)
		if c.name == "config.toml" {
			file = filepath.Join(root, "codex.toml")
		}
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := s.Import(file)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []string
		for _, e := range found.Entries {
			got = append(got, e.TOML())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		left := strings.Join(found.Left, "\n")
		for _, want := range c.left {
			if !strings.Contains(left, want) {
				t.Errorf("%s: %q is not in %s", c.name, want, left)
			}
		}
		if strings.Contains(left+strings.Join(got, ""), "hunter2") || strings.Contains(left+strings.Join(got, ""), "k-1234567890") {
			t.Errorf("%s: a secret was taken over: %s %q", c.name, left, got)
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
