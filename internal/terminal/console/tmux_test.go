package console

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fika/internal/system/term"
)

// childEnv makes the test binary be the program under test: a console that
// says what it read, and obeys the lines written into the pipe it names.
const childEnv = "FIKA_CONSOLE_CHILD"

func TestMain(m *testing.M) {
	if pipe := os.Getenv(childEnv); pipe != "" {
		switch {
		case os.Getenv(displayEnv) != "":
			os.Exit(displayChild(pipe))
		case os.Getenv(feedEnv) != "":
			os.Exit(feedChild(pipe))
		}
		os.Exit(child(pipe))
	}
	os.Exit(m.Run())
}

func child(pipe string) int {
	c, err := New(Options{
		Streams: term.SystemStreams(), Prompt: "you> ", HistoryFile: os.Getenv("FIKA_CONSOLE_HISTORY"),
		Complete: completeNames,
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer c.Close()
	go obey(c, pipe)
	c.Print("ready")
	for {
		line, err := c.ReadLine(context.Background())
		if err != nil {
			_ = c.Close()
			fmt.Println("bye:", err)
			return 0
		}
		c.Print(fmt.Sprintf("got %d lines: %.60q", strings.Count(line, "\n")+1, line))
	}
}

func completeNames(line string, pos int) []Completion {
	start := strings.LastIndexByte(line[:pos], '@')
	if start < 0 {
		return nil
	}
	var found []Completion
	for _, name := range []string{"@arya", "@arthur", "@bran", "@catelyn"} {
		if strings.HasPrefix(name, line[start:pos]) {
			found = append(found, Completion{Start: start, Text: name + " "})
		}
	}
	return found
}

// obey prints from other goroutines while the person types.
func obey(c *Console, pipe string) {
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		return
	}
	hush := func() {}
	for s := bufio.NewScanner(f); s.Scan(); {
		verb, rest, _ := strings.Cut(s.Text(), " ")
		switch verb {
		case "flood":
			n, _ := strconv.Atoi(rest)
			flood(c, n)
		case "talk":
			hush = talk(c)
		case "hush":
			hush()
		case "print":
			c.Print(rest)
		case "status":
			c.Status(rest)
		case "panic":
			func() {
				defer func() { _ = recover(); os.Exit(3) }()
				defer c.Close()
				panic(rest)
			}()
		}
	}
}

func flood(c *Console, n int) {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := g; i < n; i += 4 {
				c.Print(fmt.Sprintf("message %04d %s", i, strings.Repeat("wide 日本語 👩‍👩‍👧 ", i%9)))
				c.Status(fmt.Sprintf("arya is thinking… %d", i))
			}
		})
	}
	wg.Wait()
	c.Status("")
	c.Print("flood is over")
}

// terminal is a real one: a tmux pane of its own server.
type terminal struct {
	t      *testing.T
	socket string
	pipe   string
}

// inTmux starts the child in a terminal; wrap is a shell command in which %s
// is the child.
func inTmux(t *testing.T, history, wrap string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: the console is not shown in a real terminal here")
	}
	if testing.Short() {
		t.Skip("-short: not in a real terminal")
	}
	dir := t.TempDir()
	term := &terminal{t: t, socket: filepath.Join(dir, "s"), pipe: filepath.Join(dir, "pipe")}
	if err := syscall.Mkfifo(term.pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf("%s=%s FIKA_CONSOLE_HISTORY=%s %s", childEnv, term.pipe, history, os.Args[0])
	if wrap == "" {
		wrap = "%s; echo exit $?; cat"
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", term.socket, "kill-server").Run() })
	cmd := exec.Command("tmux", "-S", term.socket, "-f", "/dev/null", "-u",
		"start-server", ";", "set-option", "-g", "history-limit", "500000", ";", "new-session", "-d", "-x", "60", "-y", "20",
		fmt.Sprintf(wrap, program))
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "PS1=$ ", "HISTFILE=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	return term
}

func (term *terminal) run(args ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", term.socket}, args...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (term *terminal) keys(keys ...string) {
	term.t.Helper()
	term.run(append([]string{"send-keys"}, keys...)...)
}

func (term *terminal) text(s string) {
	term.t.Helper()
	term.run("send-keys", "-l", s)
}

func (term *terminal) order(s string) {
	term.t.Helper()
	f, err := os.OpenFile(term.pipe, os.O_WRONLY, 0)
	if err != nil {
		term.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(s + "\n"); err != nil {
		term.t.Fatal(err)
	}
}

// screen is what is seen, without trailing empty rows.
func (term *terminal) screen() string {
	return strings.TrimRight(term.run("capture-pane", "-p"), "\n ")
}

// all is the screen with everything that scrolled away, wrapped rows joined.
func (term *terminal) all() string {
	return strings.TrimRight(term.run("capture-pane", "-p", "-J", "-S", "-"), "\n ")
}

// sees waits until the last rows of the screen are want.
func (term *terminal) sees(want string) {
	term.t.Helper()
	term.until(fmt.Sprintf("the screen ends in %q", want), func() bool { return strings.HasSuffix(term.screen(), want) })
}

func (term *terminal) until(what string, ok func() bool) {
	term.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			term.t.Fatalf("it never came to be that %s; the screen:\n%s", what, term.screen())
		}
	}
}

func TestTypingSurvivesMessages(t *testing.T) {
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	typed := "I am typing 日本語 while they talk, and this line is longer than the terminal"
	half := len("I am typing 日本語 while")
	term.text(typed[:half])
	term.order("flood 200")
	for _, r := range typed[half:] {
		term.text(string(r))
	}
	term.until("the flood is over", func() bool { return strings.Contains(term.all(), "flood is over") })
	term.sees("flood is over\nyou> I am typing 日本語 while they talk, and this line is l\n     onger than the terminal")
	term.keys("Enter")
	term.until("the line arrived", func() bool { return strings.Contains(term.all(), fmt.Sprintf("got 1 lines: %.60q", typed)) })

	lines := strings.Split(term.all(), "\n")
	seen := map[string]int{}
	for _, line := range lines {
		if id, rest, ok := strings.Cut(line, " wide"); ok || strings.HasPrefix(line, "message ") {
			seen[strings.TrimSpace(id)]++
			i, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(id, "message ")))
			if got := strings.Count(rest, "日本語"); got != i%9 {
				t.Errorf("message %d is broken: %q", i, line)
			}
		} else if !strings.HasPrefix(line, "you> ") && !strings.HasPrefix(line, "got 1") && !strings.HasPrefix(line, "     onger") &&
			line != "ready" && line != "flood is over" && line != "you>" {
			t.Errorf("a row that nobody printed: %q", line)
		}
	}
	for i := range 200 {
		if n := seen[fmt.Sprintf("message %04d", i)]; n != 1 {
			t.Errorf("message %d is seen %d times", i, n)
		}
	}
}

func TestLongAndWideText(t *testing.T) {
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	term.text("draft")
	for _, text := range []string{strings.Repeat("x", 59), strings.Repeat("y", 60), strings.Repeat("z", 61),
		strings.Repeat("日", 30), "a" + strings.Repeat("本", 60), strings.Repeat("👍🏽", 31), strings.Repeat("w", 1500)} {
		term.order("print " + text)
		term.order("print after")
		term.until("the text is there, whole", func() bool { return strings.Contains(strings.ReplaceAll(term.all(), "a ", "a"), text) })
		term.sees("after\nyou> draft")
	}
	term.order("status bran is thinking…")
	term.sees("after\nyou> draft\nbran is thinking…")
	term.order("print hostile \x1b[2J\x1b[H\x1b]0;x\x07done")
	term.sees("hostile done\nyou> draft\nbran is thinking…")
	term.order("status")
	term.sees("hostile done\nyou> draft")
}

func TestEditingKeys(t *testing.T) {
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	term.text("one two 日本 👩‍👩‍👧 four")
	term.keys("C-a")
	term.text("A")
	term.keys("M-f", "M-f")
	term.text("B")
	term.keys("End", "M-b", "Left", "BSpace")
	term.text("C")
	term.keys("C-e", "C-w")
	term.text("D")
	term.keys("Home", "Right", "DC", "C-Right", "C-Left")
	term.text("E")
	term.keys("Enter")
	term.until("the line arrived", func() bool { return strings.Contains(term.screen(), "got 1 lines") })
	if got := term.screen(); !strings.Contains(got, `got 1 lines: "EAne twoB 日本 C D"`) {
		t.Errorf("the screen:\n%s", got)
	}
	term.text("keep cut")
	term.keys("M-b", "C-k", "C-u", "C-y", "C-y", "Enter")
	term.sees("got 1 lines: \"keep keep \"\nyou>")
}

func TestHistoryAcrossRestarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	term := inTmux(t, file, "")
	term.sees("ready\nyou>")
	for _, s := range []string{"first", "second", "first"} {
		term.text(s)
		term.keys("Enter")
		term.sees(fmt.Sprintf("got 1 lines: %q\nyou>", s))
	}
	term.keys("C-d")
	term.sees("bye: EOF\nexit 0")

	term = inTmux(t, file, "")
	term.sees("ready\nyou>")
	term.text("draft")
	term.keys("Up")
	term.sees("you> first")
	term.keys("Up")
	term.sees("you> second")
	term.keys("Up")
	term.keys("Down")
	term.sees("you> first")
	term.keys("Down")
	term.sees("you> draft")
}

func TestCompletion(t *testing.T) {
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	term.text("ask @b")
	term.keys("Tab")
	term.text("x")
	term.sees("you> ask @bran x")
	term.keys("C-u")
	term.text("@a")
	term.keys("Tab")
	term.sees("you> @ar\n@arya    @arthur")
	term.keys("Tab", "Tab")
	term.sees("you> @arthur\n@arya    @arthur")
	term.order("print a message")
	term.sees("a message\nyou> @arthur\n@arya    @arthur")
	term.keys("Enter")
	term.sees("got 1 lines: \"@arthur \"\nyou>")
}

func TestPasteIsOneEntry(t *testing.T) {
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	file := filepath.Join(t.TempDir(), "paste")
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "line %d of the paste\n", i)
	}
	if err := os.WriteFile(file, []byte(strings.TrimSuffix(b.String(), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	term.run("load-buffer", file)
	term.run("paste-buffer", "-p")
	term.until("the end of the paste is seen", func() bool { return strings.HasSuffix(term.screen(), "line 49 of the paste") })
	term.order("flood 40")
	term.until("the flood is over", func() bool { return strings.Contains(term.screen(), "flood is over") })
	term.keys("Enter")
	term.until("it arrived", func() bool { return strings.Contains(term.all(), `got 50 lines: "line 0 of the paste\n`) })
	if got := strings.Count(term.all(), "of the paste"); got < 50 {
		t.Errorf("only %d of its lines stayed on the screen", got)
	}
}

func TestInterruptAndEnd(t *testing.T) {
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	term.text("some text")
	term.keys("C-c")
	term.sees("ready\nyou>")
	term.keys("C-c")
	term.sees("you>\npress ctrl-c again to leave")
	term.text("x")
	term.sees("ready\nyou> x")
	term.keys("C-c", "C-c", "C-c")
	term.sees("ready\nbye: read a line: left with ctrl-c: EOF\nexit 0")
	term.text("typed")
	term.sees("exit 0\ntyped")
}

func TestResize(t *testing.T) {
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	// A terminal that becomes narrower moves rows from the top of a screen that
	// is not full into its scrollback, where nobody can erase them.
	term.order("flood 40")
	term.sees("flood is over\nyou>")
	term.text(strings.Repeat("0123456789", 12))
	for _, width := range []string{"40", "25", "73", "31", "60", "20", "100"} {
		n, _ := strconv.Atoi(width)
		var rows []string
		for rest := strings.Repeat("0123456789", 12); rest != ""; {
			cut := min(n-6, len(rest))
			rows, rest = append(rows, rest[:cut]), rest[cut:]
		}
		fits := func() bool {
			screen := strings.TrimRight(term.run("capture-pane", "-p", "-S", "-"), "\n ")
			return strings.HasSuffix(screen, "\nyou> "+strings.Join(rows, "\n     "))
		}
		term.run("resize-window", "-x", width, "-y", "20")
		term.until("the block fits "+width, fits)
		term.order("print now " + width)
		term.until("the message is there", func() bool { return strings.Contains(term.all(), "now "+width+"\n") && fits() })
	}
	for _, width := range []string{"flood is over", "now 40", "now 25", "now 73", "now 31", "now 60", "now 20", "now 100"} {
		if n := strings.Count(term.all(), width+"\n"); n != 1 {
			t.Errorf("%q is there %d times:\n%s", width, n, term.all())
		}
	}
	if n := strings.Count(term.all(), "you>"); n != 1 {
		t.Errorf("the prompt is there %d times:\n%s", n, term.all())
	}
}

func TestKilledAndPanicked(t *testing.T) {
	term := inTmux(t, "", "stty -a > /dev/null; %s; stty sane; echo status $?; exec sh -i")
	term.sees("ready\nyou>")
	pid := strings.TrimSpace(term.run("list-panes", "-F", "#{pane_pid}"))
	out, err := exec.Command("pgrep", "-P", pid).Output()
	if err != nil {
		t.Skip("pgrep is not here: the child cannot be found")
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	term.until("a shell", func() bool { return strings.Contains(term.screen(), "status 0") })
	term.text("echo it $((6*7)) works")
	term.keys("Enter")
	term.until("the shell works", func() bool { return strings.Contains(term.screen(), "it 42 works") })

	term = inTmux(t, "", "%s; echo status $?; stty -a | grep -c -e '-icanon'; cat")
	term.sees("ready\nyou>")
	term.text("half a line")
	term.sees("you> half a line") // or it is echoed by the terminal that was given back
	term.order("panic now")
	term.until("the terminal is as before", func() bool { // who waited for a line may hear of the end first
		return strings.HasSuffix(strings.Replace(term.screen(), "bye: EOF\n", "", 1), "ready\nstatus 3\n0")
	})
}

func TestSuspendAndContinue(t *testing.T) {
	term := inTmux(t, "", ": %s; exec sh -i")
	term.until("a shell", func() bool { return strings.Contains(term.screen(), "$") })
	term.text(fmt.Sprintf("%s=%s %s", childEnv, term.pipe, os.Args[0]))
	term.keys("Enter")
	term.sees("ready\nyou>")
	term.text("half")
	term.keys("C-z")
	term.until("the shell is back", func() bool { return strings.HasSuffix(term.screen(), "$") })
	term.text("fg")
	term.keys("Enter")
	term.sees("you> half")
	term.text("way")
	term.keys("Enter")
	term.sees("got 1 lines: \"halfway\"\nyou>")
}
