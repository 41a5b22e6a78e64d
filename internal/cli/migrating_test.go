package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheExamplesOfMigratingWork runs the shell examples of docs/guides/migrating.md,
// in their order, in a home with what they name.
func TestTheExamplesOfMigratingWork(t *testing.T) {
	needBubblewrap(t) // the home of the page is in the folder one works in
	page, err := os.ReadFile("../../docs/guides/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	user := t.TempDir()
	for name, text := range map[string]string{
		".chibi/config.toml":                 "model = \"a/b\"\nusername = \"ann\"\n",
		".chibi/contexts/work/context.json":  `{"name":"work","messages":[{"role":"user","content":"hello"}],"created_at":1768903200}`,
		".chibi/contexts/play/context.jsonl": `{"id":"p1","timestamp":1768903200,"from":"ann","to":"play","content":"hi","entry_type":"message"}` + "\n",
		".chibi/prompts/chibi.md":            "You are kind.",
		".chibi/prompts/reflection.md":       "Bread is good.",
		".chibi/plugins/hello":               "#!/bin/sh\n[ \"$1\" = --schema ] && exec echo '{\"name\":\"hello\",\"description\":\"d\",\"parameters\":{}}'\necho hi\n",
		".config/niffler/config.toml":        "[[agents]]\nid = \"arya\"\n[[models]]\nid = \"m\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
		".fika/prompts/.keep":                "",
	} {
		path := filepath.Join(user, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + user, "PATH=" + os.Getenv("PATH"), "OPENROUTER_API_KEY=none", "TERM=xterm"}
	t.Cleanup(func() { // before the folder is removed: what an example has started writes there
		down := exec.Command("fika", "down", "--now")
		down.Dir, down.Env = user, env
		_ = down.Run()
	})
	examples := strings.Split(string(page), "```sh\n")[1:]
	if len(examples) < 5 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, rest := range examples {
		script, _, _ := strings.Cut(rest, "```")
		if strings.Contains(script, "niffler") { // another person: each comes from one program
			if err := os.Remove(filepath.Join(user, ".fika", "config.toml")); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = user
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s\n%v\n%s", script, err, out)
		}
	}
	for _, name := range []string{"work", "play", "arya"} {
		if _, err := os.Stat(filepath.Join(user, ".fika", "contexts", name, "context.jsonl")); err != nil {
			t.Error(err)
		}
	}
}
