package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"fika/test/interop"
)

// tableRows are those of the terminal in which one sees a whole table at work.
const tableRows = 46

// table draws a session in which Claude Code, Codex and an agent of fika's own work with each
// other. The programs are those of npm, in a folder of its own; behind all three stands a
// model that answers as tableRules says.
func table(fika, npm, out string, g ground) error {
	home, err := os.MkdirTemp("", "picture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer at.Close()
	model := interop.NewModel()
	model.Rules = tableRules(filepath.Join(home, "shop", "cart.sh"))
	go func() { _ = http.Serve(at, model) }() // until at is closed
	if err := prepareTable(home, npm, at.Addr().String()); err != nil {
		return err
	}
	bin, err := filepath.Abs(fika)
	if err != nil {
		return err
	}
	t := terminal{socket: "fika-picture-" + filepath.Base(home)}
	defer t.end()
	path := filepath.Dir(bin) + ":" + filepath.Join(npm, "node_modules", ".bin") + ":" + os.Getenv("PATH")
	if err := t.start(tableRows, filepath.Join(home, "shop"), "HOME="+home, "PATH="+path, "OPENAI_API_KEY=none"); err != nil {
		return err
	}
	for _, name := range []string{"claude", "codex"} {
		if err := t.do("clear; fika agent add "+name, `try it: fika ask `+name); err != nil {
			return err
		}
		if err := point(home, name, at.Addr().String()); err != nil {
			return err
		}
	}
	for _, step := range []step{
		{"clear; fika", "/help"},
		{"@claude a discount makes the total wrong: mend it, and have it reviewed", "a key above answers"},
	} {
		if err := t.do(step.typed, step.seen); err != nil {
			return err
		}
	}
	if _, err := t.tmux("send-keys", "-l", "y"); err != nil {
		return err
	}
	if err := t.do("", `As it should be[\s\S]*local idle`); err != nil {
		return err
	}
	screen, err := t.screen("-e")
	if err != nil {
		return err
	}
	if text := strings.Join(screen, "\n"); strings.Contains(text, "✗") {
		return fmt.Errorf("something went wrong:\n%s", style.ReplaceAllString(text, ""))
	}
	err = errors.Join(t.do("/quit", `\$ *$`), t.do("fika down", `\$ *$`))
	if err != nil {
		return err
	}
	return os.WriteFile(out, g.draw(screen), 0o644)
}

// prepareTable makes a home with an agent of fika's own, and a folder with a mistake in it.
func prepareTable(home, npm, at string) error {
	codex := "model = \"gpt-5.1-codex\"\nmodel_provider = \"standin\"\n[model_providers.standin]\nname = \"standin\"\nbase_url = \"http://llm.test/v1\"\nwire_api = \"responses\"\nenv_key = \"STANDIN_KEY\"\n"
	for name, text := range map[string]string{
		".fika/config.toml":                     fmt.Sprintf("model = \"qwen3\"\nusername = \"maria\"\nworkspace = %q\ntool_permissions = [\"read\", \"list\", \"edit\", \"bash\"]\n[[models]]\nid = \"qwen3\"\nprovider = \"openai\"\nbase_url = \"http://%s/v1\"\n[[agents]]\nid = \"local\"\n[sandbox]\nlend = [%q]\n", filepath.Join(home, "shop"), at, npm),
		".fika/guests/codex/.codex/config.toml": codex,
		"shop/cart.sh":                          cart,
		"shop/test.sh":                          cartTest,
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// point has the program of an agent use the model.
func point(home, name, at string) error {
	env := map[string]string{
		"claude": `{ANTHROPIC_BASE_URL: "http://llm.test", ANTHROPIC_API_KEY: "none", ANTHROPIC_MODEL: "claude-sonnet-4-5"}`,
		"codex":  `{STANDIN_KEY: "none"}`,
	}[name]
	path := filepath.Join(home, ".fika", "agents", name+".md")
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "hosts: ") {
			line = fmt.Sprintf("hosts: [\"llm.test:80=%s\"]\nenv: %s\n", at, env)
		}
		lines = append(lines, line)
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600)
}

// tableRules are what the models say. The words that come last in a conversation come first.
func tableRules(file string) []interop.Rule {
	quoted := func(v map[string]string) string {
		raw, _ := json.Marshal(v) // of texts it cannot fail
		return string(raw)
	}
	edit := quoted(map[string]string{"file_path": file, "old_string": "$1 * $2 / 100 * (100 - $3)", "new_string": "$1 * $2 * (100 - $3) / 100"})
	return []interop.Rule{
		{Words: "discount of 100", Tool: "bash", Args: `{"command":". ./cart.sh; total 3 999 100; total 3 999 0"}`},
		{Words: "discount of 100", Answers: 1, Say: "A discount of 100 gives 0, none gives 2997. As it should be."},
		{Words: "please review", Tool: "exec_command", Args: `{"cmd":"cat cart.sh; sh test.sh"}`},
		{Words: "please review", Answers: 1, Say: "Right: one division, at the end, and the test passes. @local does a discount of 100 give 0?"},
		{Words: "makes the total wrong", Tool: "Read", Args: quoted(map[string]string{"file_path": file})},
		{Words: "makes the total wrong", Answers: 1, Tool: "Edit", Args: edit},
		{Words: "makes the total wrong", Answers: 2, Say: "It divided before it multiplied, which drops the cents. It multiplies first now. @codex please review."},
	}
}
