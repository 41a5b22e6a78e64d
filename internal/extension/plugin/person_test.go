package plugin

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"fika/internal/extension/hook"
	"fika/internal/tool"
)

// terminal stands for a person: the test types into it.
func terminal(t *testing.T, b *bench) io.Writer {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	b.opts.Stdin = struct{ io.Reader }{r}
	return w
}

const asking = `[ "$FIKA_INTERACTIVE" = 1 ] || echo alone
printf 'Sure? ' >&2; read -r answer; echo "got $answer"`

func TestPluginAsksThePerson(t *testing.T) {
	b := newBench(t)
	keyboard := terminal(t, b)
	b.add("ask", simple("ask", "", asking))
	p := b.open()
	// One after the other: what is typed for the second question is not
	// swallowed by what read for the first.
	for _, answer := range []string{"yes", "no", "maybe"} {
		if _, err := io.WriteString(keyboard, answer+"\n"); err != nil {
			t.Fatal(err)
		}
		r, err := p.Call(t.Context(), tool.Call{Name: "ask"})
		if err != nil || r.Text != "got "+answer {
			t.Errorf("%s: got %+v, %v", answer, r, err)
		}
	}
	if b.stderr.String() != "Sure? Sure? Sure? " {
		t.Errorf("shown: %q", b.stderr.String())
	}
}

func TestPluginThatDoesNotAskLeavesTheTerminal(t *testing.T) {
	b := newBench(t)
	keyboard := terminal(t, b)
	b.add("ask", simple("ask", "", asking))
	b.add("quiet", simple("quiet", "", "echo hi"))
	p := b.open()
	for range 3 {
		if r, err := p.Call(t.Context(), tool.Call{Name: "quiet"}); err != nil || r.Text != "hi" {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	if _, err := io.WriteString(keyboard, "here\n"); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Call(t.Context(), tool.Call{Name: "ask"}); err != nil || r.Text != "got here" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestNobodyAtTheTerminal(t *testing.T) {
	b := newBench(t)
	b.add("ask", simple("ask", "", `read -r answer || { echo "no answer"; exit 1; }`))
	if r := b.call("ask", "{}"); !r.IsError || !strings.Contains(r.Text, "Nobody was at a terminal") {
		t.Errorf("got %+v", r)
	}
}

func TestTwoCannotAskAtOnce(t *testing.T) {
	b := newBench(t)
	keyboard := terminal(t, b)
	b.add("ask", simple("ask", "", `printf '<' >&2; read -r answer; printf '>' >&2; echo "$answer"`))
	p := b.open()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if r, err := p.Call(t.Context(), tool.Call{Name: "ask"}); err != nil || r.Text != "y" {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	// A person answers when a question is shown.
	for i := range 4 {
		for {
			p.stderr.Lock()
			shown := strings.Count(b.stderr.String(), "<")
			p.stderr.Unlock()
			if shown > i {
				break
			}
			runtime.Gosched()
		}
		if _, err := io.WriteString(keyboard, "y\n"); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if b.stderr.String() != "<><><><>" {
		t.Errorf("shown: %q", b.stderr.String())
	}
}

// The plugin of the seed, as bash people write it and as it stands there in
// Python, with plain python3 instead of a package runner.
func TestSeedPattern(t *testing.T) {
	bash := `#!/bin/bash
if [[ "$1" == "--schema" ]]; then
  cat <<'EOF'
{"name": "greet", "description": "Greets", "parameters": {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}, "hooks": ["on_start", "post_system_prompt"]}
EOF
  exit 0
fi
case "$CHIBI_HOOK" in
  on_start) echo '{}'; exit 0 ;;
  post_system_prompt) echo '{"inject": "Be kind."}'; exit 0 ;;
esac
who=$(sed 's/.*"who" *: *"\([^"]*\)".*/\1/' <<<"$CHIBI_TOOL_ARGS")
echo "hello $who"
`
	python := `#!/usr/bin/env python3
import json, os, sys

if len(sys.argv) > 1 and sys.argv[1] == "--schema":
    print(json.dumps({
        "name": "greet",
        "description": "Greets",
        "parameters": {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]},
        "hooks": ["on_start", "post_system_prompt"]
    }))
    sys.exit(0)

hook = os.environ.get("CHIBI_HOOK", "")
if hook == "on_start":
    print("{}")
    sys.exit(0)
if hook == "post_system_prompt":
    json.loads(os.environ["CHIBI_HOOK_DATA"])
    print(json.dumps({"inject": "Be kind."}))
    sys.exit(0)

params = json.loads(os.environ["CHIBI_TOOL_ARGS"])
print("hello " + params["who"])
`
	for name, script := range map[string]string{"bash": bash, "python3": python} {
		t.Run(name, func(t *testing.T) {
			if path, err := exec.LookPath(name); err != nil || exec.Command(path, "--version").Run() != nil {
				t.Skip("no " + name)
			}
			if name == "bash" {
				if _, err := os.Stat("/bin/bash"); err != nil {
					t.Skip("no /bin/bash")
				}
			}
			b := newBench(t)
			b.opts.Environ = append(b.opts.Environ, "HOME="+os.Getenv("HOME"))
			b.add("greet", script)
			if r := b.call("greet", `{"who":"Åsa"}`); r.Text != "hello Åsa" || r.IsError {
				t.Errorf("got %+v", r)
			}
			if r := b.call("greet", `{}`); !r.IsError {
				t.Errorf("without a required argument: %+v", r)
			}
			for _, point := range []hook.Point{hook.OnStart, hook.PostSystemPrompt} {
				got, err := b.fire(point, hook.Payload{"context_name": "x", "todos": "", "goals": "", "summary": ""})
				if err != nil || point == hook.PostSystemPrompt && got["inject"] != "Be kind." {
					t.Errorf("%s: got %v, %v", point, got, err)
				}
			}
			b.quiet()
		})
	}
}

// A multi-tool plugin tells its tools apart by CHIBI_TOOL_NAME, a folder plugin
// finds its files beside itself.
func TestFolderPluginWithTwoTools(t *testing.T) {
	b := newBench(t)
	b.add("pair/pair", `if [ "$1" = --schema ]; then cat "$(dirname "$0")/schema.json"; exit; fi
case $CHIBI_TOOL_NAME in
first) echo one ;;
second) echo two; exit 1 ;;
esac`)
	schema := `[{"name":"first","description":"d","parameters":{"type":"object"}},{"name":"second","description":"d","parameters":{"type":"object"}}]`
	if err := os.WriteFile(filepath.Join(b.opts.Dir, "pair", "schema.json"), []byte(schema), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := b.call("first", "{}"); r.Text != "one" || r.IsError {
		t.Errorf("got %+v", r)
	}
	if r := b.call("second", "{}"); !r.IsError || !strings.Contains(r.Text, "two") {
		t.Errorf("got %+v", r)
	}
}
