package plugin

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/tool"
)

// install puts a shipped plugin into the bench, with a fika that writes down
// how it is called.
func (b *bench) install(names ...string) {
	b.t.Helper()
	for _, name := range names {
		if _, err := InstallShipped(name, b.opts.Dir); err != nil {
			b.t.Fatal(err)
		}
	}
	b.opts.Bin = filepath.Join(b.home, "fika")
	script := "#!/bin/sh\nprintf '[%s]' \"$@\" >>" + b.home + "/called\n" + `case $1 in
context) mkdir -p "$FIKA_HOME/contexts/$4" ;;
run) printf 'answer to: '; cat; [ "$3" != broken ] ;;
esac`
	if err := os.WriteFile(b.opts.Bin, []byte(script), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) called() string {
	raw, _ := os.ReadFile(filepath.Join(b.home, "called"))
	_ = os.Remove(filepath.Join(b.home, "called"))
	return string(raw)
}

func (b *bench) mkdir(parts ...string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Join(append([]string{b.home}, parts...)...), 0o700); err != nil {
		b.t.Fatal(err)
	}
}

func TestInstall(t *testing.T) {
	b := newBench(t)
	want := []string{"approve", "coffee-table", "hook-inspector", "recurse", "sub-agent", "workflow"}
	if got := ShippedNames(); !slices.Equal(got, want) {
		t.Errorf("shipped: %q", got)
	}
	for range 2 { // twice is fine
		for _, name := range ShippedNames() {
			path, err := InstallShipped(name, b.opts.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
			r, err := CheckSchema(t.Context(), b.opts, name, nil)
			asks := len(r.Env) // what it asks for is a note
			if r.Home {
				asks++
			}
			if err != nil || len(r.Notes) != asks {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
	}
	if _, err := InstallShipped("nothing", b.opts.Dir); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := InstallShipped("../workflows/fika.md", b.opts.Dir); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("got %v", err)
	}
	b.add("recurse", "echo mine")
	if _, err := InstallShipped("recurse", b.opts.Dir); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("got %v", err)
	}
	if got := toolNames(b.open()); len(got) != 3 {
		t.Errorf("tools: %q", got)
	}
}

func TestInstallWorkflowsKeepsWhatIsThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prompts", "workflows")
	paths, err := InstallWorkflows(dir)
	if err != nil || len(paths) != 4 || len(WorkflowPrompts()) != 4 {
		t.Fatalf("got %q, %v", paths, err)
	}
	if err := os.WriteFile(paths[0], []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(paths[1]); err != nil {
		t.Fatal(err)
	}
	again, err := InstallWorkflows(dir)
	if err != nil || !slices.Equal(again, paths[1:2]) {
		t.Errorf("got %q, %v", again, err)
	}
	if raw, _ := os.ReadFile(paths[0]); string(raw) != "mine" {
		t.Errorf("a person's text was overwritten: %s", raw)
	}
}

// The examples run with any POSIX shell.
func TestShippedPluginsArePlainShell(t *testing.T) {
	shells := []string{"sh", "dash", "bash", "busybox"}
	for _, name := range ShippedNames() {
		raw, err := shippedFiles.ReadFile(shippedPlugins + "/" + name)
		if err != nil || !strings.HasPrefix(string(raw), "#!/bin/sh\n# "+name+": ") {
			t.Errorf("%s does not begin as an example should: %v", name, err)
		}
		for _, shell := range shells {
			path, err := exec.LookPath(shell)
			if err != nil {
				continue
			}
			args := []string{"-n"}
			if shell == "busybox" {
				args = []string{"sh", "-n"}
			}
			cmd := exec.Command(path, args...)
			cmd.Stdin = strings.NewReader(string(raw))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s with %s: %v\n%s", name, shell, err, out)
			}
		}
	}
}

func TestRecurse(t *testing.T) {
	b := newBench(t)
	b.install("recurse")
	if r := b.call("recurse", `{"note":"count \"to\" three; $(echo ha) %s"}`); r.IsError || r.Text != `Go on. Note to self: count "to" three; $(echo ha) %s` {
		t.Errorf("got %+v", r)
	}
	if r := b.call("recurse", `{}`); !r.IsError {
		t.Errorf("got %+v", r)
	}
	// A hook can catch it.
	b.add("catch", onHook(`"pre_tool"`, "", `[ "$FIKA_HOOK_tool_name" = recurse ] && echo '{"block":true,"message":"enough"}'; exit 0`))
	got, err := b.fire(hook.PreTool, hook.Payload{"tool_name": "recurse", "arguments": json.RawMessage(`{"note":"x"}`)})
	if err != nil || got["block"] != true || got["message"] != "enough" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestSubAgent(t *testing.T) {
	b := newBench(t)
	b.install("sub-agent")
	if r := b.call("sub-agent", `{"task":"-count $HOME 'x'\n\"y\"","context":"helper"}`); r.IsError || r.Text != "answer to: -count $HOME 'x'\n\"y\"" {
		t.Errorf("got %+v", r)
	}
	if got := b.called(); got != "[run][-c][helper]" {
		t.Errorf("called %s", got)
	}
	b.call("sub-agent", `{"task":"t","context":"helper","system_prompt":"you are; rm -rf"}`)
	if got := b.called(); got != "[context][new][--if-missing][helper][--prompt][you are; rm -rf][run][-c][helper]" {
		t.Errorf("called %s", got)
	}
	for args, want := range map[string]string{
		`{"task":"t","context":"broken"}`:                                   "exit status 1",
		`{"task":"t","context":"../x"}`:                                     "needs a name",
		`{"task":"t","context":"-c"}`:                                       "needs a name",
		`{"task":"t","context":""}`:                                         "needs a name",
		`{"task":"t","context":"ctx"}`:                                      "your own context",
		`{"task":"","context":"helper"}`:                                    "no task",
		`{"task":"` + strings.Repeat("x", 70<<10) + `","context":"helper"}`: "too long",
	} {
		if r := b.call("sub-agent", args); !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%.60s: got %+v", args, r)
		}
	}
	b.opts.Environ = append(b.opts.Environ, "FIKA_DEPTH=3")
	b.called()
	if r := b.call("sub-agent", `{"task":"t","context":"helper"}`); !r.IsError || !strings.Contains(r.Text, "yourself") || b.called() != "" {
		t.Errorf("got %+v", r)
	}
}

func TestCoffeeTable(t *testing.T) {
	b := newBench(t)
	b.install("coffee-table")
	out, err := b.fire(hook.OnStart, hook.Payload{"current_context": "default"})
	wanted, _ := out["contexts"].([]hook.Context)
	if err != nil || len(wanted) != 1 || wanted[0].Name != "coffee-table" || !strings.HasPrefix(wanted[0].SystemPrompt, "You keep the coffee table") {
		t.Errorf("got %v, %v", out, err)
	}
	got, err := b.fire(hook.PostSystemPrompt, hook.Payload{"context_name": "coder"})
	if text, _ := got["inject"].(string); err != nil || !strings.Contains(text, `"coffee-table"`) || !strings.Contains(text, "Listen") {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := b.fire(hook.PostSystemPrompt, hook.Payload{"context_name": "coffee-table"}); err != nil || got["inject"] != nil {
		t.Errorf("it tells the table of the table: %v, %v", got, err)
	}

	if r := b.call("coffee-table", `{}`); r.IsError || b.called() != "[context][log][coffee-table][--last][20]" {
		t.Errorf("got %+v", r)
	}
	if r := b.call("coffee-table", `{"message":"$HOME \"hi\"\n--all","last":2}`); r.IsError || b.called() != "[context][send][coffee-table][context][log][coffee-table][--last][2]" {
		t.Errorf("got %+v", r)
	}
	long, _ := json.Marshal(map[string]string{"message": strings.Repeat("x", 9000)})
	if r := b.call("coffee-table", string(long)); !r.IsError || b.called() != "" {
		t.Errorf("got %+v", r)
	}
	b.quiet()

	// Without the file the feature is gone.
	if err := os.Remove(filepath.Join(b.opts.Dir, "coffee-table")); err != nil {
		t.Fatal(err)
	}
	p := b.open()
	if got, err := p.Fire(t.Context(), hook.PostSystemPrompt, hook.Payload{"context_name": "coder"}); err != nil || got["inject"] != nil || len(p.Tools()) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestHookInspector(t *testing.T) {
	b := newBench(t)
	b.install("hook-inspector")
	p := b.open()
	if len(p.Tools()) != 0 {
		t.Error("it is offered as a tool")
	}
	for _, d := range hook.Points() {
		if _, err := p.Fire(t.Context(), d.Point, hook.Payload{"context_name": "x"}); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Fire(t.Context(), hook.PostTool, hook.Payload{"result": strings.Repeat("x", 100<<10)}); err != nil {
		t.Error(err)
	}
	path := filepath.Join(b.opts.Data, "hook-inspector", "hook-inspector.log")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(lines) != len(hook.Points())+1 || !strings.HasSuffix(lines[0], ` on_start x {"context_name":"x"}`) || len(lines[len(lines)-1]) < 100<<10 {
		t.Errorf("%d lines, the first: %s", len(lines), lines[0])
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	b.quiet()
}

func TestApprove(t *testing.T) {
	ask := func(command string) hook.Payload {
		args, _ := json.Marshal(map[string]string{"command": command})
		return hook.Payload{"tool_name": "bash", "arguments": json.RawMessage(args)}
	}
	t.Run("nobody there", func(t *testing.T) {
		b := newBench(t)
		b.install("approve")
		got, err := b.fire(hook.PreTool, ask("ls"))
		if err != nil || got["block"] != true || !strings.Contains(got["message"].(string), "only at the terminal") {
			t.Errorf("got %v, %v", got, err)
		}
		got, err = b.fire(hook.PreTool, hook.Payload{"tool_name": "read", "arguments": json.RawMessage(`{}`)})
		if err != nil || got["block"] != nil {
			t.Errorf("another tool: got %v, %v", got, err)
		}
	})
	for typed, allowed := range map[string]bool{"y": true, "yes": true, " Y ": true, "": false, "n": false, "yy": false, "sure": false} {
		t.Run("typed "+typed, func(t *testing.T) {
			b := newBench(t)
			b.install("approve")
			keyboard := terminal(t, b)
			if _, err := io.WriteString(keyboard, typed+"\n"); err != nil {
				t.Fatal(err)
			}
			got, err := b.fire(hook.PreTool, ask("rm -rf /\x1b[2J\u009b1m %s $(id)"))
			if err != nil || (got["block"] == nil) != allowed {
				t.Errorf("got %v, %v", got, err)
			}
			if shown := b.stderr.String(); !strings.Contains(shown, "    rm -rf /?[2J?1m %s $(id)\n") || strings.ContainsAny(shown, "\x1b\u009b") {
				t.Errorf("shown: %q", shown)
			}
			b.quiet()
		})
	}
	t.Run("too long to read", func(t *testing.T) {
		b := newBench(t)
		b.install("approve")
		terminal(t, b)
		got, err := b.fire(hook.PreTool, ask(strings.Repeat("x", 100<<10)))
		if err != nil || got["block"] != true || !strings.Contains(got["message"].(string), "too long") {
			t.Errorf("got %v, %v", got["message"], err)
		}
	})
	t.Run("broken", func(t *testing.T) {
		b := newBench(t)
		b.install("approve")
		p := b.open()
		b.add("approve", "exit 7")
		if _, err := p.Fire(t.Context(), hook.PreTool, ask("ls")); !fika.IsKind(err, fika.Denied) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWorkflow(t *testing.T) {
	b := newBench(t)
	b.install("workflow")
	if _, err := InstallWorkflows(filepath.Join(b.home, "prompts", "workflows")); err != nil {
		t.Fatal(err)
	}
	b.mkdir("contexts", "ctx")
	inject := func() string {
		t.Helper()
		got, err := b.fire(hook.PostSystemPrompt, hook.Payload{"context_name": "ctx"})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := got["inject"].(string)
		return text
	}
	if got := inject(); !strings.Contains(got, "fika, research-implement-test, review, tandem") {
		t.Errorf("got %q", got)
	}
	r := b.call("workflow", `{"name":"tandem"}`)
	if r.IsError || !strings.HasPrefix(r.Text, "# Workflow: tandem\n") {
		t.Errorf("got %+v", r)
	}
	if got := inject(); got != strings.TrimSpace(r.Text) {
		t.Errorf("got %q", got)
	}
	for _, bad := range []string{"../../config", "nothing", "", "-n", "a b"} {
		args, _ := json.Marshal(map[string]string{"name": bad})
		if r := b.call("workflow", string(args)); !r.IsError || !strings.Contains(r.Text, "There are: fika") {
			t.Errorf("%q: got %+v", bad, r)
		}
	}
	if r := b.call("workflow", `{"name":"none"}`); r.IsError || strings.Contains(inject(), "# Workflow") {
		t.Errorf("got %+v", r)
	}
	b.quiet()
}

func TestCheck(t *testing.T) {
	b := newBench(t)
	b.opts.Reserved = []string{"bash"}
	path := b.add("p.sh", simple("p", `,"env":["TOKEN"],"hooks":["on_fire"]`, `echo "hello $FIKA_ARG_who"`))
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p", "p.sh", path} {
		r, err := CheckSchema(t.Context(), b.opts, name, &Trial{Args: json.RawMessage(`{"who":"you"}`)})
		if err != nil || r.Result == nil || r.Result.Text != "hello you" || r.CallTook <= 0 || r.SchemaTook <= 0 || !slices.Equal(r.Tools, []string{"p"}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		for _, want := range []string{"on_fire", "TOKEN", "chmod go-w"} {
			if !strings.Contains(strings.Join(r.Notes, "\n"), want) {
				t.Errorf("%s: no note of %s in %q", name, want, r.Notes)
			}
		}
	}
	b.add("bad", "echo {")
	b.add("taken", simple("bash", "", ""))
	if _, err := CheckSchema(t.Context(), b.opts, "bad", nil); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("got %v", err)
	}
	if _, err := CheckSchema(t.Context(), b.opts, "none", nil); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("got %v", err)
	}
	if r, err := CheckSchema(t.Context(), b.opts, "taken", nil); err != nil || len(r.Notes) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	notes := filepath.Join(b.opts.Dir, "notes.md")
	if err := os.WriteFile(notes, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := CheckSchema(t.Context(), b.opts, "notes.md", nil); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("got %v", err)
	}
	// A file that is not installed yet.
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"+simple("other", "", "echo 1")), 0o755); err != nil {
		t.Fatal(err)
	}
	if r, err := CheckSchema(t.Context(), b.opts, other, &Trial{}); err != nil || r.Result.Text != "1" {
		t.Errorf("got %+v, %v", r, err)
	}
	// One that is switched off is called by its file name.
	b.add("off.disabled", simple("off", "", ""))
	if r, err := CheckSchema(t.Context(), b.opts, "off.disabled", nil); err != nil || len(r.Notes) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func BenchmarkCall(b *testing.B) {
	w := newBench(b)
	path := w.add("echo", simple("echo", "", "echo hello"))
	p := w.open()
	b.Run("plugin", func(b *testing.B) {
		for b.Loop() {
			if r, err := p.Call(b.Context(), tool.Call{Name: "echo", Step: "r/1"}); err != nil || r.Text != "hello" {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.Command(path).Output(); err != nil || string(out) != "hello\n" {
				b.Fatal(err)
			}
		}
	})
}
