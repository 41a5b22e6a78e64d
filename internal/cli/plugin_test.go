package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"fika/internal/llm/llmtest"
)

// terminal is a fika at a pseudo-terminal, with what it has shown so far.
type terminal struct {
	io.Writer
	tty   *os.File // fika's side of it
	mu    sync.Mutex
	shown strings.Builder
}

// read waits until fika has read the lines that were typed: what it has not read yet
// the terminal forgets at a ctrl-C.
func (x *terminal) read() bool {
	return eventually(func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(x.tty.Fd()), Events: unix.POLLIN}}, 0)
		return n == 0 && err == nil
	})
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.String()
}

// find gives where a text ends that was written behind a place, -1 if none was. One
// with a plain line end is looked for in what stays on the terminal: an answer that is
// still drawn again and again is not finished.
func (x *terminal) find(from int, text string) int {
	all := x.text()
	if strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n") {
		before := len(seen(whole(all[:from])))
		if stays := seen(whole(all)); len(stays) >= before && strings.Contains(stays[before:], text) {
			return len(all)
		}
		return -1
	}
	if at := strings.Index(all[from:], text); at >= 0 {
		return from + at + len(text)
	}
	return -1
}

// whole is what was written, without a drawing of which the end is missing.
func whole(written string) string {
	if at := strings.LastIndex(written, "\x1b[?2026h"); at >= 0 && !strings.Contains(written[at:], "\x1b[?2026l") {
		return written[:at]
	}
	return written
}

// atTerminal runs a command at a terminal, answers the first question it asks
// and gives all it showed.
func (h *home) atTerminal(question, answer string, args ...string) string {
	h.t.Helper()
	return h.dialogue([][2]string{{question, answer}}, args...)
}

// dialogue runs a command at a terminal: of each step it waits until the first
// text was shown, then types the second. It gives all that was shown. A text
// counts that was shown after the one before which something was typed.
func (h *home) dialogue(steps [][2]string, args ...string) string {
	h.t.Helper()
	var acts []act
	for _, s := range steps {
		acts = append(acts, act{s[0], func(*terminal) string { return s[1] }})
	}
	return h.scene(acts, args...)
}

// act is what happens when a text was shown: something, and then what is typed.
type act struct {
	shown string
	do    func(*terminal) string
}

// scene is dialogue with more than typing.
func (h *home) scene(acts []act, args ...string) string {
	h.t.Helper()
	shown, err := h.ended(acts, args...)
	if err != nil {
		h.t.Errorf("%v: %v\n%s", args, err, shown)
	}
	return shown
}

// ended is scene for a command that need not end well.
func (h *home) ended(acts []act, args ...string) (string, error) {
	h.t.Helper()
	line := append(append(slices.Clone(h.by), "fika"), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = h.work, h.env
	keys, tty, err := pty.Open()
	if err != nil {
		h.t.Fatal(err)
	}
	defer keys.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	x := &terminal{Writer: keys, tty: tty}
	read := make(chan struct{})
	go func() { // ends with the terminal
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := keys.Read(buf)
			x.mu.Lock()
			x.shown.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	for from := 0; len(acts) > 0; acts = acts[1:] {
		end := 0
		if !eventually(func() bool { end = x.find(from, acts[0].shown); return end >= 0 }) {
			_ = cmd.Process.Kill()
			h.t.Errorf("never showed %q:\n%q", acts[0].shown, x.text())
			break
		}
		if text := acts[0].do(x); text != "" {
			from = end
			_, _ = io.WriteString(x, text)
		}
	}
	end := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer end.Stop()
	err = cmd.Wait()
	_ = tty.Close()
	<-read
	return x.text(), err
}

func TestApproveAsksThePersonAtTheTerminal(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		last := r.Messages[len(r.Messages)-1]
		if last.CallID == "" {
			return llmtest.Script{llmtest.Call("c1", "bash", `{"command":"echo made by bash >made.txt"}`)}
		}
		return llmtest.Script{llmtest.Text("result: " + last.Text)}
	})
	h := newHome(t, openAI(srv, "tool_permissions = [\"bash\", \"create\"]"))
	h.run(0, "plugin", "install", "approve")
	made := filepath.Join(h.work, "made.txt")

	out, _ := h.run(0, "run", "do it")
	has(t, "without a terminal", out, "only at the terminal")
	if exists(made) {
		t.Error("it ran without anybody")
	}
	shown := h.atTerminal("Allow it? [y/N]", "\n", "run", "do it")
	has(t, "after an empty line", shown, "echo made by bash", "did not approve")
	if exists(made) {
		t.Error("it ran after a no")
	}
	h.atTerminal("Allow it? [y/N]", "y\n", "run", "do it")
	if !exists(made) {
		t.Error("it did not run after a yes")
	}
}

// TestB14MasterEnabled: fika alone, at a terminal, is the console when the config
// says so, and takes a prompt when it does not, or when it is asked to.
func TestB14MasterEnabled(t *testing.T) {
	t.Parallel()
	const scripted = "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n"
	h := newHome(t, scripted+"[master]\nenabled = true\n")
	h.write("r.toml", "fallback = \"ok\"")
	h.atTerminal("Master mode initialized", "/quit\n")
	h.atTerminal("type your prompt", "hello\n.\n", "run")
	h.write("config.toml", scripted)
	h.atTerminal("type your prompt", "hello\n.\n")
}

func TestInstallAsksForVariables(t *testing.T) {
	t.Parallel()
	h := newHome(t, "model = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n", "SECRET_CITY=Oslo")
	h.write("r.toml", "fallback = \"ok\"")
	path := filepath.Join(h.dir, "wants")
	h.write("wants", "#!/bin/sh\n[ \"$1\" = --schema ] && { echo '{\"name\":\"wants\",\"description\":\"d\",\"env\":[\"SECRET_CITY\"],\"parameters\":{\"type\":\"object\",\"properties\":{}}}'; exit; }\necho \"city: $SECRET_CITY\"\n")
	if err := exec.Command("chmod", "755", path).Run(); err != nil {
		t.Fatal(err)
	}
	shown := h.atTerminal("[y/N]", "n\n", "plugin", "install", path)
	has(t, "a no", shown, "SECRET_CITY", "does not get")
	out, _ := h.run(0, "plugin", "call", "wants")
	if out != "city: \n" {
		t.Errorf("got %q", out)
	}
	h.run(0, "plugin", "remove", "wants")
	h.atTerminal("[y/N]", "y\n", "plugin", "install", path)
	out, _ = h.run(0, "plugin", "call", "wants")
	if out != "city: Oslo\n" {
		t.Errorf("got %q", out)
	}
}

// However prompts that compact are killed, nothing is lost or doubled, the
// mirror is mended, and the next prompt is answered.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		last := r.Messages[len(r.Messages)-1].Text
		if strings.Contains(last, "CONVERSATION TO SUMMARISE") {
			return llmtest.Script{llmtest.Text("what was said")}
		}
		if strings.HasPrefix(r.System, "You look after the memory") {
			return llmtest.Script{llmtest.Text("[2]")}
		}
		return llmtest.Script{llmtest.Text("answer")}
	})
	h := newHome(t, openAI(srv, "auto_compact = true\nauto_compact_threshold = 50\ncontext_window_limit = 2500\n"))
	long := strings.Repeat(" and so on", 60)
	h.run(0, "run", "first"+long)
	begun := time.Now()
	h.run(0, "run", "second"+long)
	span := time.Since(begun)
	rounds := 25
	if testing.Short() {
		rounds = 8
	}
	for i := range rounds {
		p := h.start("run", fmt.Sprintf("p%d", i)+long)
		time.AfterFunc(time.Duration(rand.Int64N(int64(span))), func() { _ = p.Process.Kill() }) // chance is the point
		p.wait(t)
	}
	for i := range 4 {
		if out, _ := h.run(0, "run", fmt.Sprintf("last-%d", i)+long); out != "answer\n" {
			t.Errorf("a prompt after all that gave %q", out)
		}
	}
	log, _ := h.run(0, "context", "log", "--all", "--json")
	h.checkLog(log)
	h.run(0, "doctor")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// checkLog fails when an entry is there twice or a seq is missing.
func (h *home) checkLog(log string) {
	h.t.Helper()
	ids, prompts, compactions := map[string]bool{}, map[string]bool{}, 0
	next := int64(1)
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		var e struct {
			ID, From, Content string
			Seq               int64
			EntryType         string `json:"entry_type"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			h.t.Fatal(err)
		}
		if e.Seq != next || ids[e.ID] {
			h.t.Errorf("entry %d (%s) where %d was due", e.Seq, e.ID, next)
		}
		next, ids[e.ID] = e.Seq+1, true
		if e.From == "user" {
			if prompts[e.Content] {
				h.t.Errorf("said twice: %.20s", e.Content)
			}
			prompts[e.Content] = true
		}
		if e.EntryType == "compaction" {
			compactions++
		}
	}
	h.t.Logf("%d entries, %d prompts, %d compactions", len(ids), len(prompts), compactions)
	if compactions == 0 {
		h.t.Error("nothing was compacted")
	}
}
