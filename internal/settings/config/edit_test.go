package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
)

func TestSetKey(t *testing.T) {
	for name, test := range map[string]struct {
		before string
		key    string
		value  any
		after  string
	}{
		"new file":          {"", "username", "ann", "username = \"ann\"\n"},
		"new table":         {"", "master.default_agent", "coder", "[master]\ndefault_agent = \"coder\"\n"},
		"replace":           {"# me\nusername = \"bob\" # who\nfuture_key = 1\n", "username", "ann", "# me\nusername = \"ann\" # who\nfuture_key = 1\n"},
		"replace odd":       {"  'username'=  'bob'", "username", "a\"b", ""},
		"after others":      {"model = \"x\"\n\n[nats]\nport = 1\n", "username", "ann", "model = \"x\"\nusername = \"ann\"\n\n[nats]\nport = 1\n"},
		"no newline":        {"model = \"x\"", "username", "ann", "model = \"x\"\nusername = \"ann\"\n"},
		"above a header":    {"# top\n\n# bus\n[nats]\nport = 1\n", "username", "ann", "# top\n\nusername = \"ann\"\n\n# bus\n[nats]\nport = 1\n"},
		"above all":         {"# bus\n[nats]\n", "auto_compact", true, "auto_compact = true\n\n# bus\n[nats]\n"},
		"in a table":        {"[nats]\nport = 1 # p\n\n[hub]\n", "nats.timeout", 5, "[nats]\nport = 1 # p\ntimeout = 5\n\n[hub]\n"},
		"empty table":       {"[nats]\n[hub]\n", "nats.port", 5, "[nats]\nport = 5\n[hub]\n"},
		"table missing":     {"model = \"x\"\n", "plugins.git.disabled", true, "model = \"x\"\n\n[plugins.git]\ndisabled = true\n"},
		"dotted":            {"nats.port = 1\n", "nats.timeout", 2 * time.Second, "nats.port = 1\nnats.timeout = \"2s\"\n"},
		"dotted replace":    {"nats.port = 1\n", "nats.port", 2, "nats.port = 2\n"},
		"inline replace":    {"nats = {port = 1, timeout = 3}\n", "nats.port", 2, "nats = {port = 2, timeout = 3}\n"},
		"not in a list":     {"[[agents]]\nid = \"a\"\nusername = \"x\"\n", "username", "ann", "username = \"ann\"\n\n[[agents]]\nid = \"a\"\nusername = \"x\"\n"},
		"windows":           {"model = \"x\"\r\n", "username", "ann", "model = \"x\"\r\nusername = \"ann\"\r\n"},
		"byte order mark":   {"\ufeffmodel = \"x\"\n", "model", "y", "\ufeffmodel = \"y\"\n"},
		"list over lines":   {"tools_off = [\n  \"a\", # why\n]\nmodel = \"x\"\n", "tools_off", []string{"b"}, "tools_off = [\"b\"]\nmodel = \"x\"\n"},
		"after such a list": {"tools_off = [\n  \"a\",\n]\n[hub]\n", "model", "x", "tools_off = [\n  \"a\",\n]\nmodel = \"x\"\n[hub]\n"},
		"control":           {"", "system_prompt", "a\n\"b\"\t\\ é\x01", "system_prompt = \"a\\n\\\"b\\\"\\t\\\\ é\\u0001\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.toml")
			if test.before != "" {
				write(t, path, test.before)
			}
			err := SetKey(path, test.key, test.value)
			if test.after == "" {
				if fika.KindOf(err) != fika.Invalid {
					t.Errorf("got %v", err)
				}
				test.after = test.before
			} else if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.after, string(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSetKeyRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		before, key string
		value       any
		want        string
	}{
		"unknown":      {"", "usernam", "x", "did you mean username?"},
		"wrong type":   {"", "username", 3, "must be a text"},
		"bad value":    {"", "username", "no good", "cannot be a username"},
		"odd key":      {"", "a b", "x", "unknown key"},
		"strange type": {"", "username", struct{}{}, "cannot be set to a struct"},
		"broken file":  {"model = \n", "username", "x", "fix the file by hand first"},
		"inline table": {"nats = {port = 1}\n", "nats.timeout", 2, "add timeout = 2 there by hand"},
		"list":         {"", "agents.id", "x", "list of tables"},
		"not UTF-8":    {"", "username", "\xff", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.toml")
			write(t, path, test.before)
			err := SetKey(path, test.key, test.value)
			if fika.KindOf(err) != fika.Invalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if got, _ := os.ReadFile(path); string(got) != test.before {
				t.Errorf("the file changed to %q", got)
			}
		})
	}
}

func TestSetKeyFollowsLinksAndKeepsPermissions(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfile"), filepath.Join(dir, "config.toml")
	write(t, real, "")
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := SetKey(link, "model", "x"); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if info, _ := os.Stat(real); info.Mode().Perm() != 0o640 || info.Size() == 0 {
		t.Errorf("got %v, %d bytes", info.Mode(), info.Size())
	}
}
