package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fika"
	"fika/internal/llm/llmtest"
)

// screen is a command in a real terminal: a tmux pane of its own server.
type screen struct {
	h      *home
	socket string
}

// inTerminal starts a command in a terminal. How it ends is shown there as
// "exit N".
func (h *home) inTerminal(args ...string) *screen {
	h.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		h.Skip("tmux is not installed: nothing is shown in a real terminal here")
	}
	if testing.Short() {
		h.Skip("-short: not in a real terminal")
	}
	s := &screen{h: h, socket: filepath.Join(h.TempDir(), "s")}
	h.Cleanup(func() { _ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	cmd := exec.Command("tmux", "-S", s.socket, "-f", "/dev/null", "-u", "new-session", "-d", "-x", "120", "-y", "30",
		binary+" "+strings.Join(args, " ")+"; echo exit $?; cat")
	cmd.Env = append(h.env, "LC_ALL=C.UTF-8", "SHELL=/bin/sh")
	if out, err := cmd.CombinedOutput(); err != nil {
		h.Fatalf("tmux: %v: %s", err, out)
	}
	return s
}

func (s *screen) tmux(args ...string) string {
	s.h.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.h.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// types presses keys as they are written; line ends are not added.
func (s *screen) types(text string) { s.h.Helper(); s.tmux("send-keys", "-l", text) }

func (s *screen) enter() { s.h.Helper(); s.tmux("send-keys", "Enter") }

// text is what is seen, without trailing empty rows.
func (s *screen) text() string {
	s.h.Helper()
	return strings.TrimRight(s.tmux("capture-pane", "-p"), "\n ")
}

// shows waits until the screen has all of the words, none of those that begin
// with !, and ends in last.
func (s *screen) shows(last string, words ...string) {
	s.h.Helper()
	now := ""
	if !waitFor(patience, func() bool {
		now = s.text()
		for _, w := range words {
			word, not := strings.CutPrefix(w, "!")
			if strings.Contains(now, word) == not {
				return false
			}
		}
		return strings.HasSuffix(now, last)
	}) {
		s.h.Fatalf("it never came to be that the screen has %q and ends in %q:\n%s", words, last, now)
	}
}

// held is a model server that answers arya's chats when it is told to. What it
// says tells how many of them it was asked.
func held(t *testing.T) (srv *llmtest.Server, release chan struct{}) {
	release = make(chan struct{})
	srv = llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if said := lastSaid(r); strings.Contains(said, "are you there?") {
			return llmtest.Script{llmtest.Text("yes")}
		}
		return llmtest.Script{llmtest.Wait(release), llmtest.Text("I have read it")}
	})
	return srv, release
}

// TestJoinOnATerminal: what others say arrives above the line that is being
// typed, and who is at work is shown while they are.
func TestJoinOnATerminal(t *testing.T) {
	t.Parallel()
	srv, release := held(t)
	h := newHome(t, config(srv, llmtest.OpenAI, "", agent{name: "arya"}))
	h.must("up")
	chat := h.chat("tale")
	h.must("chat", "send", "tale", "--as", "carol", "from before")
	s := h.inTerminal("chat", "join", "tale", "--as", "bob")
	s.shows("\ntale>", "carol", "from before", "— in tale; /help lists the commands, /quit leaves")

	s.types("half a line")
	s.shows("\ntale> half a line")
	h.must("chat", "send", "tale", "--as", "carol", "@arya good morning")
	s.shows("", "@arya good morning", "\ntale> half a line\n arya thinking")
	s.types(", and more")
	s.shows("", "\ntale> half a line, and more\n arya thinking")
	close(release)
	s.shows("\ntale> half a line, and more", "I have read it", "!arya thinking", "!arya writing")
	for i := range 5 { // while keys are pressed
		h.must("chat", "send", "tale", "--as", "carol", fmt.Sprintf("word %d", i))
		s.types(fmt.Sprint(i))
	}
	s.shows("\ntale> half a line, and more01234", "word 0", "word 1", "word 2", "word 3", "word 4")
	s.enter()
	s.shows("\ntale>", "half a line, and more01234", "nobody is mentioned, so nobody answers")

	var got []string
	for _, e := range h.messages(chat.ID) {
		got = append(got, e.From+": "+e.Content)
	}
	want := "carol: from before|carol: @arya good morning|arya: I have read it|" +
		"carol: word 0|carol: word 1|carol: word 2|carol: word 3|carol: word 4|bob: half a line, and more01234"
	if strings.Join(got, "|") != want {
		t.Errorf("the chat holds %q", got)
	}
	// Each was shown once: the message of one's own, too.
	for _, e := range h.messages(chat.ID) {
		if n := strings.Count(s.text(), e.Content); n != 1 {
			t.Errorf("%q is shown %d times:\n%s", e.Content, n, s.text())
		}
	}
	s.types("/quit")
	s.enter()
	s.shows("\nexit 0")
	h.quiet()
	h.settled()
}

// TestJoinPause: a chat is held while somebody is in it who says so: nothing
// begins before they leave, by themselves or because their terminal dies.
func TestJoinPause(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*screen){
		"quit": func(s *screen) {
			s.types("/quit")
			s.enter()
			s.shows("\nexit 0", "tale continues")
		},
		"the terminal dies": func(s *screen) { s.tmux("kill-server") },
		"killed": func(s *screen) {
			if os.Getenv("FULL") == "" {
				s.h.Skip("until the hub takes nobody to be there any more")
			}
			for pid, line := range s.h.processes("chat join tale") {
				if strings.HasSuffix(line, "--as bob") { // not the shell, which says more
					s.h.ok(syscall.Kill(pid, syscall.SIGKILL))
				}
			}
			s.shows("", "exit 137") // what is left of the row below may follow
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv, release := held(t)
			close(release)
			h := newHome(t, config(srv, llmtest.OpenAI, "", agent{name: "arya"}))
			h.must("up")
			chat := h.chat("tale")
			s := h.inTerminal("chat", "join", "tale", "--pause", "--as", "bob")
			s.shows("\ntale>", "you hold it: nothing new begins before you leave")
			h.must("chat", "send", "tale", "--as", "carol", "@arya one")
			s.types("@arya two")
			s.enter()
			s.shows("", "@arya one", "@arya two", "paused: nobody answers before /unpause", "\ntale>")
			// Arya is told; that it left the chat alone is known when it has
			// answered two asks, between which it looks at everything.
			for range 2 {
				h.must("ask", "arya", "are you there?")
			}
			if n := len(h.messages(chat.ID)); n != 2 {
				t.Errorf("%d messages while the chat is held", n)
			}
			leave(s)
			h.until("the answer", func() bool { return len(h.messages(chat.ID)) == 3 })
			h.quiet()
			h.settled()
			if m := h.messages(chat.ID); m[2].From != "arya" || len(m) != 3 {
				t.Errorf("the chat holds %+v", m)
			}
			if n := len(h.select_(chat.ID, fika.Notice)); n != map[bool]int{true: 1}[name == "killed"] {
				t.Errorf("%d notices", n)
			}
		})
	}
}
