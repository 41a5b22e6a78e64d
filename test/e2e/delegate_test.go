package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/llm/llmtest"
	"fika/internal/store"
)

// giving is a model server whose agents do as they are told: "ask NAME…" gives
// each of these the task "work for ME", and is answered with the results.
// Answers may be held.
type giving struct {
	*llmtest.Server
	mu   sync.Mutex
	held map[string]chan struct{} // by agent and first word
	more string                   // of the arguments of each call
}

func newGivingServer(t *testing.T) *giving {
	g := &giving{held: map[string]chan struct{}{}}
	g.Server = llmtest.NewOpenAI(t, g.answer)
	return g
}

// holds keeps answers back, as "left work", until the function is called.
func (g *giving) holds(what string) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ch := make(chan struct{})
	g.held[what] = ch
	return sync.OnceFunc(func() { close(ch) })
}

func (g *giving) answer(r llmtest.Request) llmtest.Script {
	// The last words that are a piece of work; what stands behind them is about something
	// else, unless it is the results.
	var said string
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "tool" {
			break
		}
		for line := range strings.Lines(m.Text) {
			if _, after, headed := strings.Cut(line, "] "); headed {
				line = after
			}
			line = strings.TrimPrefix(strings.TrimSpace(line), "@"+r.Model+" ") // what others said is indented
			if word, _, _ := strings.Cut(line, " "); m.Role == "user" && slices.Contains([]string{"ask", "work", "other", "hello"}, word) {
				said = line
			}
		}
		if said != "" {
			break
		}
	}
	if said == "" {
		var got []string
		for _, m := range r.Messages {
			if m.Role == "tool" {
				got = append(got, m.Text)
			}
		}
		return llmtest.Script{llmtest.Text(strings.Join(got, " | ")), llmtest.Usage(10, 5)}
	}
	word, _, _ := strings.Cut(said, " ")
	g.mu.Lock()
	held, more := g.held[r.Model+" "+word], g.more
	g.mu.Unlock()
	var s llmtest.Script
	if held != nil {
		s = append(s, llmtest.Wait(held))
	}
	if names, ok := strings.CutPrefix(said, "ask "); ok {
		for i, n := range strings.Fields(names) {
			args := fmt.Sprintf(`{"agent":%q,"prompt":"work for %s"%s}`, n, r.Model, more)
			s = append(s, llmtest.Call(fmt.Sprintf("c%d", i), "delegate", args))
		}
		return append(s, llmtest.Usage(10, 5))
	}
	return append(s, llmtest.Text(r.Model, " did: ", said), llmtest.Usage(10, 5))
}

// asked counts the requests to the model, by agent.
func (g *giving) asked() map[string]int {
	n := map[string]int{}
	for _, r := range g.Requests() {
		n[r.Model]++
	}
	return n
}

func by(model string) func(llmtest.Record) bool {
	return func(r llmtest.Record) bool { return r.Model == model }
}

func (h *home) children(id string) []store.Child {
	h.Helper()
	k, err := h.store().Children(context.Background(), fika.RequestID(id))
	h.ok(err)
	return k
}

var team = []agent{{name: "boss"}, {name: "left"}, {name: "right"}}

// TestDelegateKilled: two tasks at a time; parent, children and hub are killed
// in the middle; each answer comes once.
func TestDelegateKilled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		victims []string
		again   string // whose model call was broken off
	}{
		"nobody":                 {},
		"the parent":             {[]string{agentWords("boss")}, ""},
		"a child":                {[]string{agentWords("left")}, "left"},
		"the parent and a child": {[]string{agentWords("boss"), agentWords("left")}, "left"},
		"everybody but a child":  {[]string{hubWords, agentWords("boss"), agentWords("left")}, "left"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGivingServer(t)
			h := newHome(t, config(g.Server, llmtest.OpenAI, "", team...))
			h.must("up")
			left, right := g.holds("left work"), g.holds("right work")
			id := h.must("ask", "--no-wait", "boss", "ask left right")
			requestsTo(h, g.Server, 1, by("left"))
			requestsTo(h, g.Server, 1, by("right"))
			h.untilState(id, fika.Waiting)
			for _, v := range tt.victims {
				h.kill(v)
			}
			right()
			h.untilState(string(h.children(id)[1].ID), fika.Done)
			if s := h.request(id).State; s != fika.Waiting {
				t.Errorf("with one of two answers it is %s", s)
			}
			left()
			h.must("up")
			if got := h.must("request", "wait", id); got != "left did: work for boss | right did: work for boss" {
				t.Errorf("answer %q", got)
			}
			h.quiet()
			h.settled()
			want := map[string]int{"boss": 2, "left": 1, "right": 1}
			if tt.again != "" {
				want[tt.again]++
			}
			if got := g.asked(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("model calls %v, want %v", got, want)
			}
			if n := len(h.children(id)); n != 2 {
				t.Errorf("%d children", n)
			}
		})
	}
}

// TestDelegateWithoutProcess: the parent's process leaves while it waits, and
// is woken for the answer.
func TestDelegateWithoutProcess(t *testing.T) {
	t.Parallel()
	g := newGivingServer(t)
	h := newHome(t, strings.ReplaceAll(config(g.Server, llmtest.OpenAI, "", agent{name: "boss", lazy: true}, agent{name: "left"}),
		"persistent = false", "persistent = false\nmax_idle_seconds = 1"))
	h.must("up")
	left := g.holds("left work")
	id := h.must("ask", "--no-wait", "boss", "ask left")
	h.untilState(id, fika.Waiting)
	h.untilAgent("boss", "gone", func(a listed) bool { return a.PID == 0 })
	left()
	if got := h.must("request", "wait", id); got != "left did: work for boss" {
		t.Errorf("answer %q", got)
	}
	h.settled()
}

// TestDelegateDownFinish: --finish waits for what is being worked on, and not
// for a request that waits for it: that one goes on with the next hub.
func TestDelegateDownFinish(t *testing.T) {
	t.Parallel()
	g := newGivingServer(t)
	h := newHome(t, config(g.Server, llmtest.OpenAI, "", team...))
	h.must("up")
	left := g.holds("left work")
	id := h.must("ask", "--no-wait", "boss", "ask left")
	h.untilState(id, fika.Waiting)
	requestsTo(h, g.Server, 1, by("left"))
	if r := h.run("agent", "stop", "--finish", "boss"); r.code != 0 || !strings.Contains(r.stderr, "@boss: 1 request is waiting for something else") {
		t.Errorf("stop: exit %d, %s", r.code, r.stderr)
	}
	h.must("agent", "start", "boss")
	down := h.start("", "down", "--finish")
	h.until("boss to leave", func() bool { return len(h.processes("agent run")) == 1 })
	left()
	if r := down.wait(); r.code != 0 || !strings.Contains(r.stderr, "1 request is not finished") {
		t.Errorf("down: exit %d, %s", r.code, r.stderr)
	}
	if k, r := h.children(id)[0], h.request(id); k.State != fika.Done || r.State != fika.Waiting {
		t.Errorf("the task is %s, and who waits for it %s", k.State, r.State)
	}
	h.must("up")
	if got := h.must("request", "wait", id); got != "left did: work for boss" {
		t.Errorf("answer %q", got)
	}
	h.settled()
}

// TestDelegateCrosswise: two agents that take one turn at a time wait for each
// other's work; neither is in the other's way. Meanwhile they do other work.
func TestDelegateCrosswise(t *testing.T) {
	t.Parallel()
	g := newGivingServer(t)
	h := newHome(t, config(g.Server, llmtest.OpenAI, "", team...))
	h.must("up")
	left, right := g.holds("left ask"), g.holds("right ask")
	one := h.must("ask", "--no-wait", "left", "ask right")
	two := h.must("ask", "--no-wait", "right", "ask left")
	requestsTo(h, g.Server, 1, by("left"))
	requestsTo(h, g.Server, 1, by("right"))
	left()
	right()
	if got := h.must("request", "wait", one); got != "right did: work for left" {
		t.Errorf("answer %q", got)
	}
	if got := h.must("request", "wait", two); got != "left did: work for right" {
		t.Errorf("answer %q", got)
	}
	h.settled()
}

// TestDelegateWhileWaiting: a waiting request holds no place: the agent works
// what else there is.
func TestDelegateWhileWaiting(t *testing.T) {
	t.Parallel()
	g := newGivingServer(t)
	h := newHome(t, config(g.Server, llmtest.OpenAI, "", team...))
	h.must("up")
	left := g.holds("left work")
	id := h.must("ask", "--no-wait", "boss", "ask left")
	h.untilState(id, fika.Waiting)
	if got := h.must("task", "boss", "hello"); got != "boss did: hello" {
		t.Errorf("answer %q", got)
	}
	if a := h.agents()["boss"]; a.Status != "idle" || !strings.Contains(a.Why, "waits for @left (at most") {
		t.Errorf("listed: %+v", a)
	}
	show := h.must("request", "show", id)
	if !strings.Contains(show, "waits for what it delegated") || !strings.Contains(show, "@left running: work for boss") {
		t.Errorf("show:\n%s", show)
	}
	left()
	h.must("request", "wait", id)
	show = h.must("request", "show", id)
	if !strings.Contains(show, "20 in, 10 out; with 1 delegated: 30 in, 15 out") {
		t.Errorf("show:\n%s", show)
	}
	if show = h.must("request", "show", string(h.children(id)[0].ID)); !strings.Contains(show, "parent        "+id+" @boss done") {
		t.Errorf("show of the child:\n%s", show)
	}
}

// TestDelegateCancel: who cancels the parent cancels what it delegated, also
// what runs, and what that delegated.
func TestDelegateCancel(t *testing.T) {
	t.Parallel()
	g := newGivingServer(t)
	h := newHome(t, config(g.Server, llmtest.OpenAI, "", team...))
	h.must("up")
	release := g.holds("left work")
	defer release()
	id := h.must("ask", "--no-wait", "boss", "ask left")
	requestsTo(h, g.Server, 1, by("left"))
	h.untilState(id, fika.Waiting)
	h.must("request", "cancel", id)
	h.untilState(string(h.children(id)[0].ID), fika.Cancelled)
	h.quiet()
	h.settled()
	chat := h.chat("room")
	h.must("chat", "send", "room", "@boss ask left")
	requestsTo(h, g.Server, 2, by("left"))
	h.must("chat", "stop", "room")
	h.quiet()
	h.settled()
	if n := len(h.messages(chat.ID)); n != 1 {
		t.Errorf("%d messages after stop", n)
	}
}

// TestDelegateDeadline: a child that its agent does not come to waits until its
// deadline; the parent is told and goes on.
func TestDelegateDeadline(t *testing.T) {
	t.Parallel()
	g := newGivingServer(t)
	h := newHome(t, config(g.Server, llmtest.OpenAI, "", team...))
	h.must("up")
	done := g.holds("left other")
	other := h.must("ask", "--no-wait", "left", "other work") // until then its task does not begin
	h.untilState(other, fika.Running)
	g.holds("right work")
	var got string
	span := 3 * time.Second
	for ; got == ""; span *= 10 { // more where what must be seen before it takes longer
		got = g.until(h, span)
	}
	span /= 10
	done()
	within := strings.Replace(span.String(), "m0s", "m", 1)
	for i, want := range []string{
		fmt.Sprintf("@left had no answer within %s; the task was cancelled at its deadline. It had not begun", within),
		fmt.Sprintf("@right had no answer within %s; the task was cancelled at its deadline (request", within),
		"not delegated: that is you", `agent "nobody" not found`,
	} {
		if parts := strings.Split(got, " | "); len(parts) != 4 || !strings.HasPrefix(parts[i], want) {
			t.Errorf("result %d is not %q:\n%s", i, want, got)
		}
	}
	h.quiet()
	h.settled()
}

// until has boss give tasks that have to be done within a span, of which right
// begins its own, and gives the answer; none where the span was over before.
func (g *giving) until(h *home, span time.Duration) (answer string) {
	h.Helper()
	if span > patience {
		h.Fatal("no span is long enough")
	}
	g.mu.Lock()
	g.more = fmt.Sprintf(`,"deadline":%q`, span)
	g.mu.Unlock()
	before := g.asked()["right"]
	id := h.must("ask", "--no-wait", "boss", "ask left right boss nobody")
	told := false
	h.until("two tasks, or their deadline", func() bool {
		told = told || strings.Contains(h.agents()["boss"].Why, "@left (at most")
		return told && g.asked()["right"] > before || h.request(id).State.Terminal()
	})
	seen := told && g.asked()["right"] > before
	answer = h.must("request", "wait", id)
	if !seen {
		return ""
	}
	return answer
}

// TestDelegateOffered: agents are offered the tool, one-shot prompts are not,
// and a prompt that uses it all the same is told why not.
func TestDelegateOffered(t *testing.T) {
	t.Parallel()
	g := newGivingServer(t)
	h := newHome(t, config(g.Server, llmtest.OpenAI, "", team...))
	if got := h.must("run", "ask boss"); !strings.HasPrefix(got, "not delegated: a one-shot prompt cannot wait") {
		t.Errorf("answer %q", got)
	}
	h.must("up")
	h.must("ask", "boss", "hello")
	offers := map[string]bool{}
	for _, r := range g.Requests() {
		for _, tool := range r.Tools {
			if tool.Name == "delegate" {
				offers[r.Model] = true
			}
		}
	}
	if !offers["boss"] || offers["own"] {
		t.Errorf("offered to %v", offers)
	}
	h.must("ask", "boss", "ask left")
	log := h.must("agent", "logs", "boss")
	for _, line := range []string{"[TOOL: delegate] left: work for boss\n", "[DELEGATED @left] request ", "[WAITING] for @left\n",
		"[PROCESSING...] (what was delegated has ended)\n", "[TOOL RESULT] left did: work for boss\n"} {
		if !strings.Contains(log, line) {
			t.Errorf("the log lacks %q:\n%s", line, log)
		}
	}
}
