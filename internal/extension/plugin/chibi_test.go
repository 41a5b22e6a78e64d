package plugin

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fika/internal/extension/hook"
	"fika/internal/tool"
)

// What follows are plugins as people have them for chibi, of its first
// versions and of the newest.

// envPlugin takes its arguments from the environment and asks on stdin.
const envPlugin = `#!/bin/sh
if [ "$1" = --schema ]; then
	echo '[{"name":"note_add","description":"Adds a note.","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
	       {"name":"note_drop","description":"Drops all notes.","parameters":{"type":"object","properties":{}}}]'
	exit 0
fi
case $CHIBI_TOOL_NAME in
note_add) printf 'added %s' "$CHIBI_TOOL_ARGS" ;;
note_drop)
	printf 'Drop them? [y/N] ' >&2
	read -r answer
	[ "$answer" = y ] && echo dropped || { echo "kept"; exit 1; } ;;
esac
`

// stdinPlugin takes everything from stdin, as the newest ones do.
const stdinPlugin = `#!/usr/bin/env python3
import json, os, sys
if len(sys.argv) > 1 and sys.argv[1] == "--schema":
    print(json.dumps({"name": "greet", "description": "Greets.", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
                      "hooks": ["pre_tool"], "summary_params": ["name"], "flow_control": False, "ends_turn": False}))
    sys.exit(0)
said = json.load(sys.stdin)
if os.environ.get("CHIBI_HOOK") == "pre_tool":
    print(json.dumps({"arguments": dict(said["arguments"], name="Mr " + said["arguments"]["name"])} if said["tool_name"] == "greet" else {}))
else:
    print("hello " + said["name"])
`

func TestB10PluginsOfEveryChibi(t *testing.T) {
	b := newBench(t)
	b.add("notes/notes", envPlugin)
	b.add("greet.py", stdinPlugin)
	if got := toolNames(b.open()); !slices.Equal(got, []string{"greet", "note_add", "note_drop"}) {
		t.Fatalf("tools %q", got)
	}
	// Nobody at a terminal: JSON on stdin, and a question has no yes.
	if r := b.call("note_add", `{"text":"a","tags":["x"]}`); r.Text != `added {"text":"a","tags":["x"]}` {
		t.Errorf("got %+v", r)
	}
	if r := b.call("note_drop", `{}`); !r.IsError || !strings.Contains(r.Text, "kept") {
		t.Errorf("got %+v", r)
	}
	if r := b.call("greet", `{"name":"Ada"}`); r.Text != "hello Ada" {
		t.Errorf("got %+v", r)
	}
	long := strings.Repeat("x", 2*maxEnv) // more than a variable holds
	if r := b.call("greet", `{"name":"`+long+`"}`); !strings.HasPrefix(r.Text, "hello xxx") {
		t.Errorf("got %d bytes: %.80s", len(r.Text), r.Text)
	}
	out, err := b.fire(hook.PreTool, hook.Payload{"tool_name": "greet", "arguments": json.RawMessage(`{"name":"Ada"}`)})
	if raw, _ := out["arguments"].(json.RawMessage); err != nil || !strings.Contains(string(raw), "Mr Ada") {
		t.Errorf("got %v, %v", out, err)
	}
	b.quiet()
}

// TestB13JSONOnStdinBesideATerminal: with somebody there the terminal is
// stdin, unless the plugin or the person says that it reads JSON.
func TestB13JSONOnStdinBesideATerminal(t *testing.T) {
	b := newBench(t)
	keyboard := terminal(t, b)
	b.add("notes/notes", envPlugin)
	b.add("greet.py", stdinPlugin)
	b.add("says", simple("says", `,"stdin":"json"`, `cat; echo " $FIKA_INTERACTIVE"`))
	b.opts.Settings = map[string]Settings{"greet": {JSON: true}}
	if _, err := io.WriteString(keyboard, "y\n"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"note_drop": "dropped", "greet": "hello Ada", "says": `{"name":"Ada"}`} {
		if r := b.call(name, `{"name":"Ada"}`); r.Text != want && strings.TrimSpace(r.Text) != want {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	b.quiet()
}

// TestB11PluginsThatAreLinks: a person links their plugins from where they
// keep them, files and folders; a change of what a link leads to counts.
func TestB11PluginsThatAreLinks(t *testing.T) {
	b := newBench(t)
	kept := t.TempDir()
	write := func(path, script string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(kept, "greet.py"), stdinPlugin)
	write(filepath.Join(kept, "notes", "notes"), envPlugin)
	write(filepath.Join(kept, "other.py"), strings.ReplaceAll(stdinPlugin, `"greet"`, `"great"`))
	for _, name := range []string{"greet.py", "notes"} {
		if err := os.Symlink(filepath.Join(kept, name), filepath.Join(b.opts.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := toolNames(b.open()); !slices.Equal(got, []string{"greet", "note_add", "note_drop"}) {
		t.Fatalf("tools %q", got)
	}
	if r := b.call("greet", `{"name":"Ada"}`); r.Text != "hello Ada" {
		t.Errorf("got %+v", r)
	}
	link := filepath.Join(b.opts.Dir, "greet.py")
	same := time.Unix(1, 0)
	for _, name := range []string{"greet.py", "other.py"} {
		if err := os.Chtimes(filepath.Join(kept, name), same, same); err != nil {
			t.Fatal(err)
		}
	}
	b.open()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(kept, "other.py"), link); err != nil {
		t.Fatal(err)
	}
	if got := toolNames(b.open()); !slices.Contains(got, "great") {
		t.Errorf("the link leads elsewhere, the tools are %q", got)
	}
	b.quiet()
}

// TestB10SchemasAreAskedForAgain: at a start where the plugin listens to
// on_start, when its declared time is over, and after a day otherwise. A
// plugin that cannot answer then keeps what it had.
func TestB10SchemasAreAskedForAgain(t *testing.T) {
	b := newBench(t)
	list := filepath.Join(b.home, "list")
	say := func(name string) {
		t.Helper()
		if err := os.WriteFile(list, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dynamic := func(more string) string {
		return `if [ "$1" = --schema ]; then name=$(cat ` + list + `); [ -n "$name" ] || exit 1
echo '[{"name":"'$name'","description":"d","parameters":{"type":"object","properties":{}}` + more + `}]'; exit 0; fi; echo called`
	}
	for _, tt := range []struct {
		name, more string
		starting   bool
		age        time.Duration
		fresh      bool
	}{
		{"nothing declared", "", true, time.Hour, false},
		{"nothing declared, a day old", "", false, 25 * time.Hour, true},
		{"on_start, a turn", `,"hooks":["on_start"]`, false, time.Hour, false},
		{"on_start, a start", `,"hooks":["on_start"]`, true, 0, true},
		{"ten minutes, at five", `,"lifetime":"10m"`, true, 5 * time.Minute, false},
		{"ten minutes, at eleven", `,"lifetime":600`, false, 11 * time.Minute, true},
		{"always", `,"lifetime":0`, false, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.add("d", dynamic(tt.more))
			say("before")
			b.open()
			age(t, b, tt.age)
			say("after")
			b.opts.Starting = tt.starting
			want := "before"
			if tt.fresh {
				want = "after"
			}
			if got := toolNames(b.open()); !slices.Equal(got, []string{want}) {
				t.Errorf("tools %q, want %q", got, want)
			}
			b.quiet()
			if !tt.fresh {
				return
			}
			say("")
			age(t, b, tt.age)
			if got := toolNames(b.open()); !slices.Equal(got, []string{"after"}) || !b.reported("d:", "those it had before") {
				t.Errorf("a plugin that cannot answer has %q; reports %q", got, b.reports)
			}
			b.reports = nil
		})
	}
}

// age makes everything the cache knows older.
func age(t *testing.T, b *bench, by time.Duration) {
	t.Helper()
	c := openCache(b.opts.CacheFile)
	for path, e := range c.entries {
		e.AskedAt -= by.Milliseconds()
		c.setEntry(path, e)
	}
	if err := c.writeIfChanged(); err != nil {
		t.Fatal(err)
	}
}

// TestB7ModelKeysAreThoseOfTheModels: a plugin that starts fika asks for them
// by one name.
func TestB7ModelKeysAreThoseOfTheModels(t *testing.T) {
	b := newBench(t)
	b.opts.Environ = append(b.opts.Environ, "MOCK_KEY=k", "OTHER_KEY=o")
	b.opts.ModelVars = []string{"MOCK_KEY", "UNSET_KEY"}
	b.add("p", simple("p", `,"env":["MODEL_KEYS"]`, "env"))
	b.add("q", simple("q", "", "env"))
	b.opts.Settings = map[string]Settings{"p": {Env: []string{ModelKeys}}}
	got := b.call("p", "{}").Text
	if !strings.Contains(got, "MOCK_KEY=k") || strings.Contains(got, "OTHER_KEY") || strings.Contains(got, "MODEL_KEYS") || strings.Contains(got, "UNSET") {
		t.Errorf("got %s", got)
	}
	if got := b.call("q", "{}").Text; strings.Contains(got, "MOCK_KEY") {
		t.Errorf("a plugin that did not ask got %s", got)
	}
}

// TestB7CallsSideBySide: a plugin may say that its calls do not disturb each
// other; such calls get no terminal, which they could not share.
func TestB7CallsSideBySide(t *testing.T) {
	b := newBench(t)
	b.add("p", simple("p", `,"parallel":true`, `echo "$FIKA_INTERACTIVE"; cat`))
	terminal(t, b)
	specs := b.open().Tools()
	if s := specs[0].Spec(); !s.Parallel || s.Effect != "unsafe" || !s.Extra {
		t.Errorf("got %+v", s)
	}
	r, err := b.open().Call(t.Context(), tool.Call{Name: "p", Args: json.RawMessage(`{"a":1}`)})
	if err != nil || strings.TrimSpace(r.Text) != `{"a":1}` {
		t.Errorf("got %+v, %v", r, err)
	}
}
