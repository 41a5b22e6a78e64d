package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for what has to happen, on a machine that does much besides.
const patience = 5 * time.Minute

// bench is a home with a plugins folder to try things in.
type bench struct {
	t       testing.TB
	home    string
	opts    Options
	stderr  bytes.Buffer
	mu      sync.Mutex
	reports []string
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, home: t.TempDir()}
	b.opts = Options{
		Dir: filepath.Join(b.home, "plugins"), CacheFile: filepath.Join(b.home, "run", "plugins.json"), Home: b.home, Data: filepath.Join(b.home, "plugin-data"),
		SchemaTimeout: patience, HookTimeout: patience,
		Bin: "/bin/false", Context: "default", Agent: "default", Stderr: &b.stderr,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "SECRET_API_KEY=hush", "LC_ALL=C.UTF-8", "FIKA_MODEL=x"},
		Report: func(plugin string, err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.reports = append(b.reports, plugin+": "+err.Error())
		},
	}
	if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

// add writes a plugin: a sh script when the text has no #! line.
func (b *bench) add(name, script string) string {
	b.t.Helper()
	if !strings.HasPrefix(script, "#!") {
		script = "#!/bin/sh\n" + script
	}
	path := filepath.Join(b.opts.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// simple is a plugin with one tool whose call runs body.
func simple(name, more, body string) string {
	return `if [ "$1" = --schema ]; then echo '{"name":"` + name + `","description":"d","parameters":{"type":"object","properties":{}}` + more + `}'; exit 0; fi
` + body + "\n"
}

// onHook is a plugin that only has hooks.
func onHook(points, more, body string) string {
	return `if [ "$1" = --schema ]; then echo '{"name":"h","hooks":[` + points + `]` + more + `}'; exit 0; fi
` + body + "\n"
}

func (b *bench) open() *Plugins {
	b.t.Helper()
	p, err := Open(b.t.Context(), b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) call(name, args string) tool.Result {
	b.t.Helper()
	r, err := b.open().Call(b.t.Context(), tool.Call{Name: name, Args: json.RawMessage(args), Step: "r1/2", Context: "ctx", Agent: "coder", Workspace: b.home})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) fire(point hook.Point, p hook.Payload) (hook.Payload, error) {
	b.t.Helper()
	return b.open().Fire(b.t.Context(), point, p)
}

// reported reports whether some report has all of the words.
func (b *bench) reported(words ...string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.reports, func(r string) bool {
		for _, w := range words {
			if !strings.Contains(r, w) {
				return false
			}
		}
		return true
	})
}

func (b *bench) quiet() {
	b.t.Helper()
	if len(b.reports) > 0 {
		b.t.Errorf("reported: %q", b.reports)
	}
}

func toolNames(p *Plugins) []string {
	var names []string
	for _, t := range p.Tools() {
		names = append(names, t.Spec().Name)
	}
	return names
}

func TestCallGetsItsEnvironment(t *testing.T) {
	b := newBench(t)
	b.opts.Verbose = true
	b.add("show", simple("show_env", "", `env; pwd; cat; echo "$#"; echo oops >&2`))
	args := `{"text":"a \"b\"\nc","n":1.50,"yes":true,"no":null,"list":[1],"with-dash":"d","big":12345678901234567890}`
	r := b.call("show_env", args)
	if r.IsError {
		t.Fatal(r.Text)
	}
	for _, want := range []string{
		"FIKA_TOOL_NAME=show_env\n", "CHIBI_TOOL_NAME=show_env\n", "FIKA_TOOL_ARGS=" + args + "\n", "CHIBI_TOOL_ARGS=" + args + "\n",
		"FIKA_ARG_text=a \"b\"\nc\n", "FIKA_ARG_n=1.50\n", "FIKA_ARG_yes=true\n", "FIKA_ARG_with_dash=d\n", "FIKA_ARG_big=12345678901234567890\n",
		"FIKA_CONTEXT=ctx\n", "CHIBI_CONTEXT=ctx\n", "FIKA_VERBOSE=1\n", "CHIBI_VERBOSE=1\n", "FIKA_AGENT=coder\n", "FIKA_HOME=" + b.home + "\n", "CHIBI_HOME=" + b.home + "\n", "FIKA_BIN=/bin/false\n",
		"FIKA_STEP=r1/2\n", "FIKA_DEPTH=1\n", "LC_ALL=C.UTF-8\n", "HOME=" + b.home + "\n", "\n" + b.home + "\n" + args + "0",
	} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("no %q in:\n%s", want, r.Text)
		}
	}
	for _, never := range []string{"SECRET", "FIKA_MODEL", "FIKA_ARG_no=", "FIKA_ARG_list", "FIKA_HOOK", "CHIBI_HOOK", "INTERACTIVE", "oops"} {
		if strings.Contains(r.Text, never) {
			t.Errorf("%q in:\n%s", never, r.Text)
		}
	}
	if b.stderr.String() != "oops\n" {
		t.Errorf("stderr %q", b.stderr.String())
	}
	b.quiet()
}

func TestSettingsGrantVariables(t *testing.T) {
	b := newBench(t)
	b.add("show.sh", simple("show", "", `echo "$SECRET_API_KEY/$FIKA_HOME/$FIKA_MODEL"`))
	b.opts.Settings = map[string]Settings{"show": {Env: []string{"SECRET_API_KEY", "FIKA_HOME", "FIKA_MODEL", "A=B", "MISSING"}}}
	if r := b.call("show", "{}"); r.Text != "hush/"+b.home+"/" {
		t.Errorf("got %q", r.Text)
	}
	b.opts.Settings = map[string]Settings{"show.sh": {Disabled: true}}
	if got := toolNames(b.open()); got != nil {
		t.Errorf("a disabled plugin gives %q", got)
	}
}

func TestLargeArgumentsAreInAFile(t *testing.T) {
	b := newBench(t)
	b.add("big", simple("big", "", `echo "[$FIKA_TOOL_ARGS$CHIBI_TOOL_ARGS$FIKA_ARG_text]"; wc -c <"$FIKA_TOOL_ARGS_FILE"; ls -l "$FIKA_TOOL_ARGS_FILE" | cut -c1-10; echo "$FIKA_TOOL_ARGS_FILE"`))
	args := `{"text":"` + strings.Repeat("x", 3<<20) + `"}`
	lines := strings.Fields(b.call("big", args).Text)
	if len(lines) != 4 || lines[0] != "[]" || lines[1] != "3145739" || lines[2] != "-rw-------" {
		t.Fatalf("got %q", lines)
	}
	if _, err := os.Stat(lines[3]); !os.IsNotExist(err) {
		t.Errorf("the file is left behind: %v", err)
	}
	edge := `{"text":"` + strings.Repeat("x", maxEnv-11) + `"}`
	if r := b.call("big", edge); !strings.HasPrefix(r.Text, `[{"text"`) {
		t.Errorf("%d bytes of arguments are not in the variable: %.100q", len(edge), r.Text)
	}
}

func TestCallResults(t *testing.T) {
	tests := []struct {
		name, body, want string
		isError          bool
	}{
		{"output", "echo hello", "hello", false},
		{"nothing", ":", "(no output)", false},
		{"failure keeps both outputs", "echo partial; echo why >&2; exit 3", "p failed: exit status 3: why\npartial\n(Nobody was at a terminal, so it could not ask a person anything.)", true},
		{"signal", "kill -9 $$", "p failed: ended by a signal (killed)\n(Nobody was at a terminal, so it could not ask a person anything.)", true},
		{"escapes", `printf 'a\033[31mb\000c\377'`, "", false},
		{"stdin is the arguments", `if read -r x; then echo line; else echo "$x eof"; fi`, "{} eof", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.add("p", simple("p", "", tt.body))
			r := b.call("p", "{}")
			if r.IsError != tt.isError || tt.want != "" && r.Text != tt.want {
				t.Errorf("got %v %q, want %q", r.IsError, r.Text, tt.want)
			}
			if strings.ContainsAny(r.Text, "\x1b\x00") {
				t.Errorf("got control characters: %q", r.Text)
			}
		})
	}
}

func TestTimeoutEndsTheGroup(t *testing.T) {
	b := newBench(t)
	b.opts.Timeout = 200 * time.Millisecond
	b.add("slow", simple("slow", "", `sleep 600 & echo $!; trap "" TERM; sleep 600; sleep 600`))
	b.add("pure", simple("slow_pure", `,"effect":"pure","timeout":0.1`, `sleep 300`))
	start := time.Now()
	r := b.call("slow", "{}")
	if !r.IsError || !r.Unknown || !strings.HasPrefix(r.Text, "slow was stopped after 200ms") {
		t.Errorf("got %+v", r)
	}
	if d := time.Since(start); d > patience/2 {
		t.Errorf("took %v", d)
	}
	// It was killed, which takes as long as it takes.
	pid := strings.Fields(r.Text)[len(strings.Fields(r.Text))-1]
	gone := func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ")
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience / 2); !gone(); <-look.C {
		if time.Now().After(end) {
			t.Fatalf("process %s still runs", pid)
		}
	}
	if r := b.call("slow_pure", "{}"); !r.IsError || r.Unknown {
		t.Errorf("got %+v", r)
	}
}

func TestCancelIsAnError(t *testing.T) {
	b := newBench(t)
	b.add("slow", simple("slow", "", "echo started; sleep 300"))
	p := b.open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := p.Call(ctx, tool.Call{Name: "slow", Progress: func([]byte) { cancel() }})
	if !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("got %v", err)
	}
}

func TestDaemonisedGrandchildDoesNotHoldTheCall(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid")
	}
	b := newBench(t)
	b.add("d", simple("d", "", `setsid sleep 600 & echo done`))
	start := time.Now()
	if r := b.call("d", "{}"); r.Text != "done" || r.IsError {
		t.Errorf("got %+v", r)
	}
	if d := time.Since(start); d > patience {
		t.Errorf("took %v", d)
	}
}

func TestManyForksAreEnded(t *testing.T) {
	b := newBench(t)
	b.opts.Timeout = 300 * time.Millisecond
	b.add("forks", simple("forks", "", `i=0; while [ $i -lt 40 ]; do (trap "" TERM; sleep 300; :) & i=$((i+1)); done; wait`))
	r := b.call("forks", "{}")
	if !r.IsError || !r.Unknown {
		t.Errorf("got %+v", r)
	}
}

func TestOneHugeOutput(t *testing.T) {
	b := newBench(t)
	b.opts.Limits = tool.Limits{SpoolDir: filepath.Join(b.home, "spool")}
	b.add("huge", simple("huge", "", `head -c 5000000 /dev/zero | tr '\0' x`))
	r := b.call("huge", "{}")
	if r.IsError || len(r.Text) > 40<<10 || r.Spool == "" {
		t.Errorf("error %v, %d bytes, spool %q", r.IsError, len(r.Text), r.Spool)
	}
}

func TestProgressAndStarted(t *testing.T) {
	b := newBench(t)
	b.add("p", simple("p", "", "echo hi"))
	var pid int
	var out []byte
	_, err := b.open().Call(t.Context(), tool.Call{Name: "p", Started: func(p fika.Process) { pid = p.PID }, Progress: func(b []byte) { out = append(out, b...) }})
	if err != nil || pid == 0 || string(out) != "hi\n" {
		t.Errorf("pid %d, progress %q, %v", pid, out, err)
	}
}

func TestUnknownToolAndWrongArguments(t *testing.T) {
	b := newBench(t)
	b.add("p", `if [ "$1" = --schema ]; then echo '{"name":"p","description":"d","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}'; exit; fi; echo ran`)
	if _, err := b.open().Call(t.Context(), tool.Call{Name: "q"}); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("got %v", err)
	}
	if r := b.call("p", `{"n":"x"}`); !r.IsError || r.Text == "ran" {
		t.Errorf("got %+v", r)
	}
	if r := b.call("p", `{"n":1}`); r.Text != "ran" {
		t.Errorf("got %+v", r)
	}
}

func TestNestingIsBounded(t *testing.T) {
	b := newBench(t)
	b.opts.Environ = append(b.opts.Environ, "FIKA_DEPTH=3")
	b.add("p", simple("p", "", "echo $FIKA_DEPTH"))
	if r := b.call("p", "{}"); r.Text != "4" {
		t.Errorf("got %q", r.Text)
	}
	b.opts.Environ = append(b.opts.Environ, "FIKA_DEPTH=8")
	if _, err := Open(t.Context(), b.opts); !fika.IsKind(err, fika.Limit) {
		t.Errorf("got %v", err)
	}
}

func TestOpenWithoutAFolder(t *testing.T) {
	b := newBench(t)
	b.opts.Dir = filepath.Join(b.home, "nowhere")
	p := b.open()
	if len(p.Tools()) != 0 || len(p.List()) != 0 {
		t.Error("plugins from nowhere")
	}
	out, err := p.Fire(t.Context(), hook.OnStart, nil)
	if err != nil || out != nil {
		t.Errorf("got %v, %v", out, err)
	}
	b.quiet()
}

func TestRelativeFolder(t *testing.T) {
	b := newBench(t)
	b.add("p", simple("p", "", "echo here"))
	t.Chdir(b.home)
	b.opts.Dir = "plugins"
	p := b.open()
	if r, err := p.Call(t.Context(), tool.Call{Name: "p", Workspace: t.TempDir()}); err != nil || r.Text != "here" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestListTells(t *testing.T) {
	b := newBench(t)
	path := b.add("x.sh", simple("x", `,"hooks":["on_end"],"on_failure":"block","env":["TOKEN","TOKEN"]`, ""))
	want := []Info{{Name: "x", Path: path, Tools: []string{"x"}, Hooks: []hook.Point{"on_end"}, Block: true, Env: []string{"TOKEN"}}}
	if diff := cmp.Diff(want, b.open().List()); diff != "" {
		t.Error(diff)
	}
}
