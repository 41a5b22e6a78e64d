package cli_test

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fika/internal/cli"
	"fika/internal/system/term"
)

// managed are the arguments with which commands that manage are called, in a
// home where there is something to do for them, and why others are left out.
func managed() (args map[string]string, left map[string]string) {
	args = map[string]string{
		"fika chat new": "room", "fika chat create": "room", "fika chat pause": "design", "fika chat resume": "design", "fika chat stop": "design",
		"fika chat continue": "design", "fika chat retry": "design", "fika chat pin": "design 1", "fika chat unpin": "design 1", "fika chat clear": "design",
		"fika chat delete": "design --yes", "fika chat compact": "design", "fika model update": "--file HOME/table.toml", "fika chat rename": "design sketch", "fika chat cleanup": "", "fika request cancel": "REQUEST", "fika request retry": "REQUEST",
		"fika agent start": "coder", "fika agent stop": "coder", "fika agent restart": "coder", "fika agent move": "coder box", "fika agent reset": "coder", "fika agent summarise": "coder", "fika agent recall": "coder words", "fika agent learn": "coder",
		"fika context switch": "other", "fika context rename": "other third", "fika context delete": "other --yes", "fika context clear": "other",
		"fika context compact": "other", "fika context import": "third HOME/exported", "fika context export": "other HOME/new", "fika context unlock": "other",
		"fika plugin check": "HOME/greet", "fika plugin call": "greet", "fika plugin install": "HOME/greet", "fika plugin remove": "greet",
		"fika plugin enable": "greet", "fika plugin disable": "greet", "fika skill add": "HOME/greeting", "fika skill remove": "greeting", "fika mcp check": "files", "fika model check": "script", "fika mcp call": "files__x", "fika mcp install": "--yes other false", "fika mcp import": "HOME/servers.json --yes", "fika mcp remove": "files", "fika mcp login": "files", "fika mcp logout": "files", "fika key set": "SOME_KEY", "fika key remove": "SOME_KEY",
		"fika join": "", "fika config migrate": "HOME/old.json", "fika store move": "HOME/moved.db", "fika store shrink": "", "fika store import": "HOME/archive", "fika backup": "", "fika restore": "HOME/nothing.zip", "fika down": "", "fika web logout": "--all", "fika job end": "1",
		"fika bus add": "other-program", "fika bus remove": "builds", "fika bus show": "builds", "fika token create": "laptop", "fika token revoke": "nobody", "fika webhook retry": "--all", "fika host add": "box", "fika host label": "box gpu", "fika host drain": "box", "fika host resume": "box", "fika host start": "box", "fika host stop": "box", "fika host forget": "box --yes", "fika budget set": "home --per day --tokens 5", "fika budget remove": "home --per day", "fika agent merge": "coder", "fika agent discard": "coder", "fika agent create": "tester", "fika agent add": "--name guest true", "fika agent delete": "nobody --yes", "fika agent import": "HOME/foreign.md", "fika project forget": "nothing --yes", "fika project move": "nothing", "fika approve": "1", "fika schedule create": "daily --cron @daily --agent coder hi", "fika schedule delete": "report", "fika schedule run": "report", "fika schedule pause": "report", "fika schedule resume": "report", "fika undo": "", "fika board edit": "1 --priority 1 --json", "fika board assign": "1 coder --json", "fika board release": "1", "fika board close": "1 --json", "fika board reopen": "1", "fika board note": "1 hello", "fika land": "main", "fika land cancel": "1", "fika land retry": "1", "fika land apply": "", "fika land undo": "1", "fika workflow pause": "nothing", "fika workflow resume": "nothing", "fika workflow cancel": "nothing",
	}
	left = map[string]string{
		"fika demo": "a show on a terminal", "fika update": "asks a server", "fika uninstall": "removes the program that runs", "fika web": "starts a process", "fika up": "starts a process", "fika master": "a console", "fika chat join": "a console",
		"fika agent run": "continues until it is ended", "fika agent shell": "a shell", "fika executor": "continues until it is ended", "fika workflow run": "starts a process",
		"fika init": "makes its folder where it is called", "fika trust": "asks about the folder where it is called",
	}
	return args, spelledTwice(left)
}

// TestWalkManage calls every command that manages twice, in homes that are
// alike: with a stdout that takes everything, and with one that is full. What
// had something to say ends with status 1 then, and says so.
func TestWalkManage(t *testing.T) {
	base := walkHome(t)
	args, left := managed()
	n := 0
	for _, path := range slices.Sorted(maps.Keys(cli.Declared())) {
		if cli.Declared()[path] != "manages" || left[path] != "" {
			continue
		}
		n++
		given, known := args[path]
		if !known {
			t.Errorf("%s is not walked: say with which arguments, or why not", path)
			continue
		}
		var out term.Buffer
		want, said := base.copy(t).call("sk-0123456789abcdef", &out, path, given)
		if strings.Contains(said, "panic") || want == 2 && strings.Contains(said, "argument") {
			t.Errorf("%s %s: status %d: %s", path, given, want, said)
		}
		status, errs := base.copy(t).call("sk-0123456789abcdef", brokenDevice{}, path, given)
		switch lost := strings.Contains(errs, "the answer could not be written to stdout: no space left on device"); {
		case out.String() == "":
			if status != want || lost {
				t.Errorf("%s prints nothing, and with stdout full: status %d, not %d: %s", path, status, want, errs)
			}
		case status != 1 || !lost:
			t.Errorf("%s with stdout full: status %d, %q; it prints %q", path, status, errs, out.String())
		}
	}
	if n < 30 {
		t.Errorf("only %d commands were called", n)
	}
}

// walked home: with a chat, contexts, a request and what commands can be given.
type walkedHome struct{ dir, request string }

func walkHome(t *testing.T) walkedHome {
	t.Helper()
	h := walkedHome{dir: t.TempDir()}
	h.write(t, "config.toml", "model = \"script\"\n[hub]\nautostart = false\n[[models]]\nid = \"script\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"coder\"\n[[mcp]]\nname = \"files\"\ncommand = \"false\"\n[[bus_members]]\nname = \"builds\"\n")
	h.write(t, "rules.toml", "fallback = \"<{{.Last}}>\"\n")
	h.write(t, "greet", "#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{\"name\":\"greet\",\"description\":\"greets\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}'; else echo hello; fi\n")
	h.write(t, "old.json", `{"model": "gpt-4o", "username": "ann"}`)
	h.write(t, "servers.json", `{"mcpServers": {"third": {"command": "cat"}}}`)
	h.write(t, "table.toml", "[[model]]\nid = \"m\"\nhost = \"models.example\"\ncontext_window = 1000\nmax_tokens = 100\nsource = \"https://models.example\"\nread = \"2026-01-01\"\n")
	if err := os.Mkdir(filepath.Join(h.dir, "greeting"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.write(t, "greeting/SKILL.md", "---\nname: greeting\ndescription: Greets people.\n---\nSay hello.\n")
	h.write(t, "foreign.md", "---\nname: foreign\n---\nYou help.\n")
	if err := os.Chmod(filepath.Join(h.dir, "greet"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"run hello", "run -c other hello", "run -c coder hello", "chat create design", "chat send design hello", "chat send design @coder", "context export other HOME/exported",
		"plugin install HOME/greet", "task --no-wait coder wait", "board add hello",
	} {
		if status, errs := h.call("sk-0123456789abcdef", io.Discard, "fika", words); status != 0 {
			t.Fatalf("fika %s: status %d, %s", words, status, errs)
		}
	}
	var list term.Buffer
	h.call("", &list, "fika", "request list --json")
	_, after, _ := strings.Cut(list.String(), `"id":"`)
	h.request, _, _ = strings.Cut(after, `"`)
	return h
}

func (h walkedHome) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// copy is a home that is like h, but for what is being used.
func (h walkedHome) copy(t *testing.T) walkedHome {
	t.Helper()
	c := walkedHome{dir: t.TempDir(), request: h.request}
	if err := os.CopyFS(c.dir, os.DirFS(h.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(c.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

func (h walkedHome) call(in string, out io.Writer, path, args string) (int, string) {
	words := strings.Fields(strings.NewReplacer("REQUEST", h.request, "HOME", h.dir).Replace(strings.TrimPrefix(path+" "+args, "fika ")))
	var errs term.Buffer
	s := &term.Streams{In: strings.NewReader(in), Out: out, Err: &errs}
	status := cli.Main(words, s, func(name string) string {
		return map[string]string{"FIKA_HOME": h.dir, "HOME": h.dir}[name]
	})
	return status, errs.String()
}
