package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/store"
)

var coder = agent{name: "arya", tools: `"bash"`}

// answered is the last tool result of a request, if it ends with one.
func answered(r llmtest.Request) (string, bool) {
	for _, m := range slices.Backward(r.Messages) {
		switch m.Role {
		case llm.ToolRole:
			return m.Text, true
		case llm.Assistant:
			return "", false
		}
	}
	return "", false
}

// TestKillInTool ends an agent the hard way while its tool runs: the tool goes
// with it, the model is told, and the request has one outcome.
func TestKillInTool(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if text, ok := answered(r); ok {
			return llmtest.Script{llmtest.Text("I was told: " + text)}
		}
		return llmtest.Script{llmtest.Call("c1", "bash", `{"command":"echo $$ >> pids; (sleep 3131; true) & setsid sleep 3131 & sleep 3131"}`)}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, "", coder))
	h.must("up")
	ask := h.start("", "ask", "arya", "go")
	h.until("three sleepers", func() bool { return len(h.processes("sleep 3131")) >= 4 }) // and the shell
	h.kill(agentWords("arya"))
	r := ask.wait()
	if r.code != 0 || !strings.Contains(r.stdout, "may or may not have run") {
		t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	h.gone("sleep 3131")
	h.quiet()
	h.settled()
	if n := len(srv.Requests()); n != 2 {
		t.Errorf("%d requests to the model, want 2", n)
	}
}

// TestInterruptTool ends a tool by Ctrl-C on the asker's side.
func TestInterruptTool(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Call("c1", "bash", `{"command":"setsid sleep 3132 & sleep 3132"}`)}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, "", coder))
	for name, args := range map[string][]string{"ask": {"ask", "arya", "go"}, "run": {"run", "go"}} {
		t.Run(name, func(t *testing.T) {
			p := h.start("", args...)
			h.until("two sleepers", func() bool { return len(h.processes("sleep 3132")) >= 2 })
			p.signal(syscall.SIGINT)
			r := p.wait()
			if r.code != 130 || r.stdout != "" || !strings.Contains(r.stderr, "cancelled") {
				t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
			}
			h.until("no sleepers", func() bool { return len(h.processes("sleep 3132")) == 0 })
			h.quiet()
			h.settled()
			list, err := h.store().ListRequests(t.Context(), store.RequestFilter{Limit: 1})
			h.ok(err)
			if list[0].State != fika.Cancelled {
				t.Errorf("the request is %s", list[0].State)
			}
		})
	}
}

// TestInterruptModel is Ctrl-C while the model says nothing.
func TestInterruptModel(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Text("hm"), llmtest.Stall()}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, "", coder))
	for i, args := range [][]string{{"ask", "arya", "go"}, {"run", "go"}, {"go on"}} {
		p := h.start("", args...)
		requestsTo(h, srv, i+1, func(r llmtest.Record) bool { return !r.First.IsZero() })
		p.signal(syscall.SIGINT)
		r := p.wait()
		if r.code != 130 || r.stdout != "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, r.code, r.stdout, r.stderr)
		}
	}
	h.quiet()
	h.settled()
}

// TestKillRun: a one-shot that was killed is closed by the next opener, which
// says so, and --continue goes on.
func TestKillRun(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if text, ok := answered(r); ok && strings.Contains(text, "may or may not") {
			return llmtest.Script{llmtest.Text("going on")}
		}
		if strings.Contains(lastSaid(r), "another") {
			return llmtest.Script{llmtest.Text("another it is")}
		}
		return llmtest.Script{llmtest.Call("c1", "bash", `{"command":"sleep 3133"}`)}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, ""))
	p := h.start("", "run", "go")
	h.until("a sleeper", func() bool { return len(h.processes("sleep 3133")) > 0 })
	p.signal(syscall.SIGKILL)
	p.wait()
	r := h.run("run", "--continue")
	if r.code != 0 || r.stdout != "going on\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	if !strings.Contains(r.stderr, "interrupted") {
		t.Errorf("stderr %q does not say that the last run was interrupted", r.stderr)
	}
	if r := h.run("run", "another"); r.code != 0 || r.stdout != "another it is\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	h.gone("sleep 3133")
	h.settled()
}

// endless is a model server on which two agents never come to an end.
func endless(t *testing.T) *llmtest.Server {
	return llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		other := map[string]string{"arya": "gendry", "gendry": "arya"}[r.Model]
		return llmtest.Script{llmtest.Text(fmt.Sprintf("@%s once more, for the %dth time", other, r.N))}
	})
}

// TestLimits: a chain that does not end is ended, with one notice, and goes on
// when a person says so.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit  string
		first  int // messages when the limit is hit
		second int // … and hit again
	}{
		"depth": {"[chat]\nmax_depth = 4", 5, 9},
		"turns": {"[chat]\nmax_turns_per_chain = 4", 5, 9},
	} {
		t.Run(name, func(t *testing.T) {
			srv := endless(t)
			h := newHome(t, config(srv, llmtest.OpenAI, tt.limit, three...))
			h.must("up")
			chat := h.chat("tale")
			h.must("chat", "send", "tale", "@arya begin")
			for round, want := range []int{tt.first, tt.second} {
				h.until("a notice", func() bool { return len(h.select_(chat.ID, fika.Notice)) == round+1 })
				h.quiet()
				if n := len(h.messages(chat.ID)); n != want {
					t.Errorf("round %d: %d messages, want %d", round, n, want)
				}
				if n := len(h.select_(chat.ID, fika.Notice)); n != round+1 {
					t.Errorf("round %d: %d notices", round, n)
				}
				h.must("chat", "continue", "tale")
			}
			h.until("a third notice", func() bool { return len(h.select_(chat.ID, fika.Notice)) == 3 })
			h.quiet()
			h.settled()
			if n := len(srv.Requests()); n != len(h.messages(chat.ID))-1 {
				t.Errorf("%d requests to the model for %d answers", n, len(h.messages(chat.ID))-1)
			}
		})
	}
}

// TestStopChat: the turn is cancelled, what waits is dropped.
func TestStopChat(t *testing.T) {
	t.Parallel()
	c := newChain(t, llmtest.OpenAI, 7)
	h := newHome(t, config(c.Server, llmtest.OpenAI, "", three...))
	h.must("up")
	chat := h.chat("tale")
	defer c.holds(3)()
	c.begin(h, chat)
	requestsTo(h, c.Server, 1, asksHop(3))
	h.must("chat", "stop", "tale")
	h.quiet()
	h.settled()
	if n := len(h.messages(chat.ID)); n != 3 {
		t.Errorf("%d messages", n)
	}
}

// TestViewPages: paging through a chat shows everything once, whatever the
// messages hold.
func TestViewPages(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	chat := h.chat("tale")
	for i := range 1000 {
		_, err := h.store().Post(context.Background(), store.Post{Conversation: chat.ID, From: "ann", Writer: fika.ByHuman,
			Content: fmt.Sprintf("message %d|a\\b\r\nnew line \x1b[31m", i)})
		h.ok(err)
	}
	for _, flags := range [][]string{nil, {"--json"}} {
		var seqs []int
		for since := "0"; ; {
			out := h.must(append([]string{"chat", "view", "tale", "--since", since, "--limit", "100"}, flags...)...)
			page := seqsOf(h, out, flags != nil)
			if len(page) == 0 {
				break
			}
			if len(page) != 100 {
				t.Errorf("a page of %d", len(page))
			}
			seqs, since = append(seqs, page...), strconv.Itoa(page[len(page)-1])
		}
		if len(seqs) != 1000 || !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != 1000 {
			t.Errorf("%v: %d rows, sorted: %v", flags, len(seqs), slices.IsSorted(seqs))
		}
	}
	lines := strings.Split(h.must("chat", "view", "tale", "--limit", "1"), "\n")
	if len(lines) != 1 || !strings.HasSuffix(lines[0], `|ann|message 999\|a\\b\r\nnew line`) {
		t.Errorf("%q", lines)
	}
}

// seqsOf reads the first field of each row, as awk -F'|' would.
func seqsOf(h *home, out string, asJSON bool) (seqs []int) {
	h.Helper()
	if asJSON {
		for _, e := range jsonLines[fika.Entry](h, out) {
			seqs = append(seqs, int(e.Seq))
		}
		return seqs
	}
	for line := range strings.Lines(out) {
		n, err := strconv.Atoi(strings.SplitN(line, "|", 4)[0])
		h.ok(err)
		seqs = append(seqs, n)
	}
	return seqs
}
