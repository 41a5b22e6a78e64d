package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fika/internal/cli"
	"fika/internal/extension/guest"
	"fika/internal/extension/guest/guesttest"
	"fika/internal/extension/mcp/mcptest"
	"fika/internal/extension/oauth/oauthtest"
	"fika/internal/sandbox"
	"fika/internal/system/term"
)

// TestMain makes the test binary the program itself when it is called fika, so
// that scripts and tests run the real command line in processes of their own, and a guest
// when it is called guestprog, an MCP server when it is called mcpprog, and an MCP server with a login, or its browser, when it is
// called oauthprog.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fika": func() {
			if guest.Bridges(os.Args[1:]) {
				os.Exit(guest.Bridge(os.Args[3], os.Stdin, os.Stdout, os.Stderr))
			}
			os.Exit(cli.MainAt(scriptNow, os.Args[1:], term.SystemStreams(), os.Getenv))
		},
		"lonely":    func() { os.Exit(lonely(os.Args[1:])) },
		"oauthprog": func() { os.Exit(oauthtest.Main(os.Args[1:], mcptest.Handler("ordinary"))) },
		"mcpprog":   func() { os.Exit(mcptest.Serve(os.Args[1])) },
		"guestprog": func() { os.Exit(guesttest.Serve(strings.Join(os.Args[1:], " "))) },
	})
}

// TestScript runs testdata/script/*.txtar. Each script has a home of its own
// ($FIKA_HOME is $WORK/home, $HOME is $WORK) and, beside the usual commands:
//
//	status N CMD ARGS…     the command ends with exit status N
//	full N CMD ARGS…       … with its stdout on a full device
//	remember NAME PATTERN  $NAME is what the pattern's group matched of the last stdout
//	until PATTERN CMD ARGS…  run it again until its stdout matches
//	clock D                all processes of the home are D (2h, -1m) later from here on
//	clock next-hour        … or as much as there is to the next full hour
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("FIKA_HOME", home)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TERM", "xterm")
			e.Setenv(clockEnv, filepath.Join(e.WorkDir, "clock"))
			if err := os.MkdirAll(home, 0o700); err != nil {
				return err
			}
			e.Defer(func() { stopHub(e) })
			return os.Chmod(home, 0o700)
		},
		Condition: func(name string) (bool, error) {
			if name != "bubblewrap" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return bubblewrapWorks(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": scriptStatus, "until": scriptUntil, "clock": scriptClock, "full": scriptFull, "remember": scriptRemember},
	})
}

// bubblewrapWorks reports whether what runs in a folder that holds the home can be
// confined, as with $HOME/.fika: the built-in sandbox cannot hide a part of a folder.
var bubblewrapWorks = sync.OnceValue(func() bool {
	s, err := sandbox.Open(context.Background(), sandbox.Best)
	return err == nil && s.Tier() == sandbox.Full
})

// needBubblewrap skips a test where nothing can be confined in a folder that holds
// the home. In CI it has to be possible.
func needBubblewrap(t *testing.T) {
	t.Helper()
	if bubblewrapWorks() {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("bubblewrap has to work in CI")
	}
	t.Skip("bubblewrap does not work here")
}

// stopHub ends a hub that a script left running.
func stopHub(e *testscript.Env) {
	if _, err := os.Stat(filepath.Join(e.WorkDir, "home", "run", "hub.lock")); err != nil {
		return
	}
	cmd := exec.Command("fika", "down")
	cmd.Env = e.Vars
	_ = cmd.Run()
}

// clockEnv names a file that says how much later it is. Scripts are the only
// ones to set it: the clock of the program itself cannot be moved.
const clockEnv = "FIKA_SCRIPT_CLOCK"

func scriptNow() time.Time { return time.Now().Add(later(os.Getenv(clockEnv))) }

func later(file string) time.Duration {
	data, _ := os.ReadFile(file)
	d, _ := time.ParseDuration(string(data))
	return d
}

func scriptClock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clock duration|next-hour")
	}
	file := ts.Getenv(clockEnv)
	now := time.Now().Add(later(file))
	by := now.UTC().Truncate(time.Hour).Add(time.Hour).Sub(now)
	if args[0] != "next-hour" {
		var err error
		by, err = time.ParseDuration(args[0])
		ts.Check(err)
	}
	// In one step: others read it all the time.
	ts.Check(os.WriteFile(file+".new", []byte((later(file) + by).String()), 0o600))
	ts.Check(os.Rename(file+".new", file))
}

func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, not %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func scriptFull(ts *testscript.TestScript, neg bool, args []string) {
	scriptStatus(ts, neg, append([]string{args[0], "sh", "-c", `exec "$@" >/dev/full`, "sh"}, args[1:]...))
}

func scriptRemember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remember name pattern")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("stdout has no %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until pattern command [args...]")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	last := error(nil)
	seen := eventually(func() bool {
		last = ts.Exec(args[1], args[2:]...)
		return pattern.MatchString(ts.ReadFile("stdout"))
	})
	if !seen {
		ts.Fatalf("%v never printed %s (%v)", args[1:], args[0], last)
	}
}

// patience is for anything that has to happen, on a machine that does much besides. A
// package of tests is ended after a quarter of an hour, and then nobody says what hung.
const patience = 3 * time.Minute

// eventually looks again and again at what other processes do, which nothing
// here can hear, until they have done it; not for ever. It looks less often the
// longer it takes: a look may be a process of its own.
func eventually(done func() bool) bool {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(min(max(time.Since(began)/4, 20*time.Millisecond), 200*time.Millisecond)) {
		if done() {
			return true
		}
	}
	return false
}
