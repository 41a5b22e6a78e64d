package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm/llmtest"
)

var three = []agent{{name: "arya"}, {name: "gendry"}, {name: "hotpie"}}

// chain is a model server on which three agents pass a word on: whoever is
// told "hop N" says "hop N+1" to the next, until the last. A hop may be held.
type chain struct {
	*llmtest.Server
	last int

	mu   sync.Mutex
	hold map[int]chan struct{} // by the hop that is asked for
}

func newChain(t *testing.T, wire llmtest.Wire, last int) *chain {
	c := &chain{last: last, hold: map[int]chan struct{}{}}
	if wire == llmtest.Anthropic {
		c.Server = llmtest.NewAnthropic(t, c.answer)
	} else {
		c.Server = llmtest.NewOpenAI(t, c.answer)
	}
	return c
}

// holds keeps the answer to a hop back until the function it gives is called.
func (c *chain) holds(hop int) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan struct{})
	c.hold[hop] = ch
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.hold, hop)
		close(ch)
	})
}

func (c *chain) answer(r llmtest.Request) llmtest.Script {
	var hop int
	if _, err := fmt.Sscanf(lastHop(r), "hop %d", &hop); err != nil {
		return llmtest.Script{llmtest.Text("pardon?")}
	}
	c.mu.Lock()
	held := c.hold[hop]
	c.mu.Unlock()
	var s llmtest.Script
	if held != nil {
		s = append(s, llmtest.Wait(held))
	}
	if hop == c.last {
		return append(s, llmtest.Text(fmt.Sprintf("that was hop %d, the last", hop)))
	}
	next := three[(hop)%len(three)].name
	return append(s, llmtest.Text("@", next, fmt.Sprintf(" hop %d", hop+1)), llmtest.Usage(50, 5))
}

// lastHop is the newest hop that somebody else has named, from its "hop" on; what fika
// adds to a request names none.
func lastHop(r llmtest.Request) string {
	for _, m := range slices.Backward(r.Messages) {
		if i := strings.LastIndex(m.Text, "hop "); i >= 0 && m.Role == "user" {
			return m.Text[i:]
		}
	}
	return ""
}

func hopOf(r llmtest.Record) int {
	hop := 0
	_, _ = fmt.Sscanf(lastHop(r.Request), "hop %d", &hop)
	return hop
}

func asksHop(n int) func(llmtest.Record) bool {
	return func(r llmtest.Record) bool { return hopOf(r) == n }
}

// begin sends the first word and returns as the command does: at once.
func (c *chain) begin(h *home, chat fika.Conversation) {
	h.Helper()
	h.must("chat", "send", string(chat.Name), "@arya hop 1")
}

// check is what must hold when the chain has ended: every message is there
// once, in order, and every mention was answered once. extra are the hops that
// were asked of the model once more, because whoever asked was killed.
func (c *chain) check(h *home, chat fika.Conversation, extra ...int) {
	h.Helper()
	h.until("the last answer", func() bool {
		m := h.messages(chat.ID)
		return len(m) > 0 && strings.HasSuffix(m[len(m)-1].Content, "the last")
	})
	h.quiet()
	want := []string{"user @arya hop 1"}
	asked := map[int]int{}
	for hop := 1; hop <= c.last; hop++ {
		from := three[(hop-1)%len(three)].name
		text := fmt.Sprintf("@%s hop %d", three[hop%len(three)].name, hop+1)
		if hop == c.last {
			text = fmt.Sprintf("that was hop %d, the last", hop)
		}
		want, asked[hop] = append(want, from+" "+text), 1
	}
	for _, hop := range extra {
		asked[hop]++
	}
	var got []string
	for i, e := range h.messages(chat.ID) {
		got = append(got, e.From+" "+e.Content)
		if e.Depth != i {
			h.Errorf("message %d has depth %d", i, e.Depth)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		h.Error(d)
	}
	had := map[int]int{}
	for _, r := range c.Requests() {
		had[hopOf(r)]++
	}
	if d := cmp.Diff(asked, had); d != "" {
		h.Errorf("requests to the model, by hop: %s", d)
	}
	h.settled()
}

// TestChain: ten hops between three agents, with no command line about.
func TestChain(t *testing.T) {
	t.Parallel()
	for _, wire := range []llmtest.Wire{llmtest.OpenAI, llmtest.Anthropic} {
		t.Run(string(wire), func(t *testing.T) {
			c := newChain(t, wire, 10)
			h := newHome(t, config(c.Server, wire, "", three...))
			h.must("up")
			chat := h.chat("tale")
			c.begin(h, chat)
			c.check(h, chat)
		})
	}
}

// TestKillInChain ends processes the hard way while the model is being asked
// for the fourth hop.
func TestKillInChain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		victims []string
		extra   []int
	}{
		"the agent":    {[]string{agentWords("arya")}, []int{4}},
		"the hub":      {[]string{hubWords}, nil},
		"both":         {[]string{hubWords, agentWords("arya")}, []int{4}},
		"both, turned": {[]string{agentWords("arya"), hubWords}, []int{4}},
		"everybody":    {[]string{hubWords, agentWords("arya"), agentWords("gendry"), agentWords("hotpie")}, []int{4}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, llmtest.OpenAI, 7)
			h := newHome(t, config(c.Server, llmtest.OpenAI, "", three...))
			h.must("up")
			chat := h.chat("tale")
			release := c.holds(4)
			c.begin(h, chat)
			requestsTo(h, c.Server, 1, asksHop(4))
			for _, v := range tt.victims {
				h.kill(v)
			}
			release()
			h.must("up")
			c.check(h, chat, tt.extra...)
		})
	}
}

// TestPauseInChain: once pause has returned, only the step that was running
// ends; resume goes on from there.
func TestPauseInChain(t *testing.T) {
	t.Parallel()
	c := newChain(t, llmtest.OpenAI, 7)
	h := newHome(t, config(c.Server, llmtest.OpenAI, "", three...))
	h.must("up")
	chat := h.chat("tale")
	release := c.holds(4)
	c.begin(h, chat)
	requestsTo(h, c.Server, 1, asksHop(4))
	h.must("chat", "pause", "tale")
	release()
	h.until("the answer of the running step", func() bool { return len(h.messages(chat.ID)) == 5 })
	// gendry is told; that it looked and left the chat alone is known when it
	// has answered two asks, between which it looks at everything.
	for range 2 {
		h.must("ask", "gendry", "are you there?")
	}
	if n := len(h.messages(chat.ID)); n != 5 {
		t.Errorf("%d messages while paused", n)
	}
	for _, r := range c.Requests() {
		if hopOf(r) > 4 {
			t.Errorf("the model was asked for hop %d while paused", hopOf(r))
		}
	}
	h.must("chat", "resume", "tale")
	h.until("the last answer", func() bool { return len(h.messages(chat.ID)) == 8 })
	h.quiet()
	h.settled()
	asked := map[int]int{}
	for _, r := range c.Requests() {
		asked[hopOf(r)]++
	}
	if d := cmp.Diff(map[int]int{0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1}, asked); d != "" {
		t.Error(d)
	}
}

// TestDownInChain: a polite end lets the running step finish, and the next hub
// goes on from there.
func TestDownInChain(t *testing.T) {
	t.Parallel()
	c := newChain(t, llmtest.OpenAI, 7)
	h := newHome(t, config(c.Server, llmtest.OpenAI, "", three...))
	h.must("up")
	chat := h.chat("tale")
	release := c.holds(4)
	c.begin(h, chat)
	requestsTo(h, c.Server, 1, asksHop(4))
	down := h.start("", "down")
	h.until("the others to leave", func() bool { return len(h.processes("agent run")) == 1 })
	release()
	if r := down.wait(); r.code != 0 {
		t.Fatalf("down: exit %d, %s", r.code, r.stderr)
	}
	h.gone("")
	if n := len(h.messages(chat.ID)); n != 5 {
		t.Errorf("%d messages", n)
	}
	h.must("up")
	c.check(h, chat)
}

// TestPauseOutlivesProcesses: a chat paused while no hub is there, and twice,
// stays paused whoever dies or starts; what waits is answered once, when it is
// resumed.
func TestPauseOutlivesProcesses(t *testing.T) {
	t.Parallel()
	c := newChain(t, llmtest.OpenAI, 7)
	h := newHome(t, config(c.Server, llmtest.OpenAI, "", three...))
	h.must("up")
	chat := h.chat("tale")
	release := c.holds(4)
	c.begin(h, chat)
	requestsTo(h, c.Server, 1, asksHop(4))
	h.kill(hubWords)
	h.must("chat", "pause", "tale")
	release()
	h.until("the answer of the running step", func() bool { return len(h.messages(chat.ID)) == 5 })
	h.must("chat", "pause", "tale")
	for _, a := range three {
		h.kill(agentWords(a.name))
	}
	for range 2 {
		h.must("up")
		h.must("ask", "gendry", "are you there?") // it has looked at everything before it answers
		if n := len(h.messages(chat.ID)); n != 5 {
			t.Errorf("%d messages while paused", n)
		}
		h.must("down")
	}
	h.must("chat", "resume", "tale") // nobody is there to hear it
	h.must("up")
	h.until("the last answer", func() bool { return len(h.messages(chat.ID)) == 8 })
	h.quiet()
	h.settled()
	asked := map[int]int{}
	for _, r := range c.Requests() {
		asked[hopOf(r)]++
	}
	if d := cmp.Diff(map[int]int{0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1}, asked); d != "" {
		t.Error(d)
	}
}

// TestPauseAll: the brake covers chats that are made later, and asks.
func TestPauseAll(t *testing.T) {
	t.Parallel()
	c := newChain(t, llmtest.OpenAI, 3)
	h := newHome(t, config(c.Server, llmtest.OpenAI, "", three...))
	h.must("up")
	h.must("chat", "pause", "--all")
	chat := h.chat("tale")
	c.begin(h, chat)
	id := h.must("ask", "--no-wait", "arya", "hop 3")
	if r := h.run("request", "wait", id, "--timeout", "3s"); r.code != 7 {
		t.Errorf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if n := len(c.Requests()); n != 0 {
		t.Errorf("%d requests to the model while everything is paused", n)
	}
	h.must("chat", "resume", "--all")
	c.check(h, chat, 3)
}

// TestPauseBetweenSteps: a turn that is paused between two steps waits, and
// resume does not repeat what it did.
func TestPauseBetweenSteps(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
			return llmtest.Script{llmtest.Text("I looked")}
		}
		return llmtest.Script{llmtest.Wait(asked), llmtest.Call("c1", "list", `{"path":"."}`)}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, "", agent{name: "arya", tools: `"list"`}))
	h.must("up")
	chat := h.chat("tale")
	h.must("chat", "send", "tale", "@arya look")
	requestsTo(h, srv, 1, func(llmtest.Record) bool { return true })
	h.must("chat", "pause", "tale")
	close(asked)
	h.until("a waiting turn", func() bool {
		list := jsonLines[struct{ State fika.RequestState }](h, h.must("request", "list", "--json"))
		return len(list) == 1 && list[0].State == fika.Waiting
	})
	h.must("chat", "resume", "tale")
	h.until("the answer", func() bool { return len(h.messages(chat.ID)) == 2 })
	h.quiet()
	h.settled()
	if n := len(srv.Requests()); n != 2 {
		t.Errorf("%d requests to the model, want 2", n)
	}
}

// TestTwoMentionsOneAnswer: two agents mention a third that is stopped by the
// operating system meanwhile; it answers both at once.
func TestTwoMentionsOneAnswer(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if r.Model == "arya" {
			return llmtest.Script{llmtest.Text("to both of you: yes")}
		}
		return llmtest.Script{llmtest.Text("@arya what do you say?")}
	})
	h := newHome(t, config(srv, llmtest.OpenAI, "", three...))
	h.must("up")
	chat := h.chat("tale")
	arya := h.pid(agentWords("arya"))
	h.ok(syscall.Kill(arya, syscall.SIGSTOP))
	h.must("chat", "send", "tale", "@gendry @hotpie ask arya")
	h.until("both mentions", func() bool { return len(h.messages(chat.ID)) == 3 })
	h.ok(syscall.Kill(arya, syscall.SIGCONT))
	h.until("the answer", func() bool { return len(h.messages(chat.ID)) == 4 })
	h.quiet()
	h.settled()
	n := 0
	for _, r := range srv.Requests() {
		if r.Model == "arya" {
			n++
			if all := fmt.Sprint(r.Messages); strings.Count(all, "what do you say?") != 2 {
				t.Errorf("arya did not see both: %s", all)
			}
		}
	}
	if n != 1 {
		t.Errorf("arya asked the model %d times", n)
	}
}
