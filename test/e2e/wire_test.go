package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/bus/bustest"
)

// The requests as any NATS client writes them, but for id and prompt.
const (
	taskRequest = `{
  "type": "task_request",
  "requestId": %q,
  "agentName": "coder",
  "prompt": %q,
  "context": null,
  "metadata": {
    "sender": "master",
    "timestamp": "2025-01-15T10:30:00Z"
  }
}`
	askRequest = `{
  "type": "ask_request",
  "requestId": %q,
  "agentName": "coder",
  "prompt": %q,
  "conversationId": "conv-abc-123",
  "context": [
    {"role": "user", "content": "Create a simple HTTP server"},
    {"role": "assistant", "content": "I'll create an HTTP server..."}
  ],
  "metadata": {
    "sender": "master",
    "timestamp": "2025-01-15T10:31:00Z",
    "conversationMessageCount": 4
  }
}`
)

// foreign is a program that is not fika, on the bus of a home.
type foreign struct {
	h      *home
	nc     *nats.Conn
	prefix string
	all    *nats.Subscription
	seen   []*nats.Msg
}

func (h *home) foreign(url, prefix string) *foreign {
	h.Helper()
	// It is back before fika is when a server comes back: what is published without
	// a stream is heard by those who are there.
	nc, err := nats.Connect(url, nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0), nats.MaxReconnects(-1))
	h.ok(err)
	h.Cleanup(nc.Close)
	sub, err := nc.SubscribeSync(prefix + ".>")
	h.ok(err)
	h.ok(nc.Flush())
	return &foreign{h: h, nc: nc, prefix: prefix, all: sub}
}

func (f *foreign) publish(what, body string) {
	f.h.Helper()
	f.h.ok(f.nc.Publish(f.prefix+".agent.coder."+what, []byte(body)))
	f.h.ok(f.nc.Flush())
}

type wireMessage struct {
	Type, RequestID, AgentName, Status, Error string
	Result                                    struct {
		Content, ConversationID string
		ToolCalls               []map[string]any
		TokensUsed              map[string]int
	}
}

// response waits for the response of a request; the messages before it are
// kept.
func (f *foreign) response(id string) wireMessage {
	f.h.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		m, err := f.all.NextMsg(time.Until(deadline))
		f.h.ok(err)
		f.seen = append(f.seen, m)
		var w wireMessage
		if m.Subject == f.prefix+".agent.coder.response" && json.Unmarshal(m.Data, &w) == nil && w.RequestID == id {
			return w
		}
	}
	f.h.Fatalf("no response to %s", id)
	return wireMessage{}
}

// count counts the messages so far that are of a kind and a request.
func (f *foreign) count(what, id, status string) int {
	n := 0
	for _, m := range f.seen {
		var w wireMessage
		if m.Subject == f.prefix+".agent.coder."+what && json.Unmarshal(m.Data, &w) == nil && w.RequestID == id && (status == "" || w.Status == status) {
			n++
		}
	}
	return n
}

// rest takes what comes until a mark that is published now.
func (f *foreign) rest() {
	f.h.Helper()
	f.h.ok(f.nc.Publish(f.prefix+".agent.mark.bell", nil))
	for {
		m, err := f.all.NextMsg(patience)
		f.h.ok(err)
		if m.Subject == f.prefix+".agent.mark.bell" {
			return
		}
		f.seen = append(f.seen, m)
	}
}

// TestForeignRequests: the wire, from a program that knows nothing of fika.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	f := h.foreign(h.must("status", "--show-bus"), "fika")
	f.exchange()
	f.downAndUp()
	f.malformed()
}

func (f *foreign) exchange() {
	h := f.h
	h.Helper()
	f.publish("request", fmt.Sprintf(taskRequest, "uuid-1234-5678", "twice"))
	w := f.response("uuid-1234-5678")
	if w.Type != "response" || w.Status != "completed" || w.AgentName != "coder" || w.Result.Content != "the shell has spoken" ||
		!strings.HasPrefix(w.Result.ConversationID, "task_coder_") || len(w.Result.ToolCalls) != 1 || w.Result.ToolCalls[0]["success"] != true || w.Result.TokensUsed["output"] == 0 {
		h.Errorf("response %+v", w)
	}
	for _, status := range []string{"processing", "streaming", "tool_call", "tool_result", "completed"} {
		if f.count("status", "uuid-1234-5678", status) == 0 {
			h.Errorf("no status %q", status)
		}
	}
	f.publish("request", fmt.Sprintf(askRequest, "uuid-2", "Add logging to the server"))
	if w := f.response("uuid-2"); w.Result.Content != "you said Add logging to the server" || w.Result.ConversationID != "conv-abc-123" {
		h.Errorf("ask: %+v", w)
	}
	c, err := h.store().Conversation(h.Context(), "ask_coder_conv-abc-123")
	h.ok(err)
	if n := len(h.messages(c.ID)); n != 4 || c.Kind != fika.Ask {
		h.Errorf("%s has %d messages and is a %s", c.Name, n, c.Kind)
	}
	// Again, word for word: the stored outcome; with another prompt: refused.
	f.publish("request", fmt.Sprintf(askRequest, "uuid-2", "Add logging to the server"))
	if w := f.response("uuid-2"); w.Status != "completed" {
		h.Errorf("repeat: %+v", w)
	}
	f.publish("request", fmt.Sprintf(askRequest, "uuid-2", "something else"))
	if w := f.response("uuid-2"); w.Type != "rejected" || w.Status != "rejected" || w.Error == "" {
		h.Errorf("the same id for something else: %+v", w)
	}
	if n := len(h.messages(c.ID)); n != 4 {
		h.Errorf("after repeats there are %d messages", n)
	}
}

// downAndUp: what is published while the agent is away, and twice, is worked
// once.
func (f *foreign) downAndUp() {
	h := f.h
	h.Helper()
	h.must("agent", "stop", "coder")
	body := fmt.Sprintf(taskRequest, "while-away", "hello")
	f.publish("request", body)
	f.publish("request", body)
	f.publish("request", strings.Replace(fmt.Sprintf(taskRequest, "behind", "x"), "\"coder\"", "\"somebody\"", 1))
	f.response("behind") // it is not for coder, which is told when both before it have been taken
	if _, err := h.store().Request(h.Context(), "while-away"); err != nil {
		h.Error(err)
	}
	h.must("agent", "start", "coder")
	if w := f.response("while-away"); w.Result.Content != "you said hello" {
		h.Errorf("response %+v", w)
	}
	h.must("ask", "coder", "something after it")
	f.rest()
	if n := f.count("response", "while-away", ""); n != 1 {
		h.Errorf("%d responses", n)
	}
	if n := f.count("status", "while-away", "completed"); n != 1 {
		h.Errorf("worked %d times", n)
	}
}

// malformed: what cannot be understood is answered where an id can be read,
// and stops nobody.
func (f *foreign) malformed() {
	h := f.h
	h.Helper()
	for i, body := range []string{"", "not json", "{}", `{"type":"task_request"}`, "\xff\xfe", strings.Repeat("[", 10000), `{"type":"task_request","requestId":"a b","prompt":"x"}`} {
		f.publish("request", body)
		f.publish("control", body)
		id := fmt.Sprintf("bad-%d", i)
		f.publish("request", fmt.Sprintf(`{"type":"task_request","requestId":%q,"agentName":"somebody","prompt":"x"}`, id))
		if w := f.response(id); w.Status != "failed" || w.Error == "" {
			h.Errorf("%q: %+v", body, w)
		}
	}
	f.publish("request", fmt.Sprintf(taskRequest, "after-all", "hello"))
	if w := f.response("after-all"); w.Status != "completed" {
		h.Errorf("after all: %+v", w)
	}
	f.rest()
	dead := 0
	for _, m := range f.seen {
		if m.Subject == f.prefix+".dead" {
			dead++
		}
	}
	if dead < 14 {
		h.Errorf("%d on .dead", dead)
	}
}

// TestControl: each control message is a committed wish first.
func TestControl(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	f := h.foreign(h.must("status", "--show-bus"), "fika")
	control := func(body string) string {
		t.Helper()
		m, err := f.nc.Request("fika.agent.coder.control", []byte(body), patience)
		h.ok(err)
		return string(m.Data)
	}
	h.must("ask", "coder", "one")
	before, err := h.store().Agent(t.Context(), "coder")
	h.ok(err)
	if got := control(`{"action":"reset"}`); got != `{"ok":true}` {
		t.Errorf("reset: %s", got)
	}
	after, err := h.store().Agent(t.Context(), "coder")
	h.ok(err)
	if after.ActiveAsk == before.ActiveAsk {
		t.Error("reset changed nothing")
	}
	old := h.conversation(before.ActiveAsk)
	if got := control(`{"action":"switch","conversationId":"` + string(old) + `"}`); got != `{"ok":true}` {
		t.Errorf("switch: %s", got)
	}
	if now, err := h.store().Agent(t.Context(), "coder"); err != nil || now.ActiveAsk != before.ActiveAsk {
		t.Errorf("switched to %s, %v", now.ActiveAsk, err)
	}
	id := h.must("ask", "--no-wait", "coder", "never")
	h.untilState(id, fika.Running)
	if got := control(`{"action":"summarise"}`); !strings.Contains(got, `"ok":true,"data":{"summary":"in short"`) {
		t.Errorf("summarise, while a turn runs: %s", got)
	}
	if got := control(`{"action":"cancel","requestId":"` + id + `"}`); got != `{"ok":true}` {
		t.Errorf("cancel: %s", got)
	}
	h.untilState(id, fika.Cancelled)
	for _, bad := range []string{`{"action":"dance"}`, `{"action":"shutdown","mode":"maybe"}`, `{"action":"cancel"}`} {
		if got := control(bad); !strings.Contains(got, `"ok":false`) {
			t.Errorf("%s: %s", bad, got)
		}
	}
	if got := control(`{"action":"shutdown"}`); got != `{"ok":true}` {
		t.Errorf("shutdown: %s", got)
	}
	a := h.untilAgent("coder", "stopped", func(a listed) bool { return a.Status == "stopped" })
	if a.Desired != "stopped" {
		t.Errorf("after shutdown: %+v", a)
	}
}

func (h *home) conversation(id fika.ConversationID) fika.ConversationName {
	h.Helper()
	list, err := h.store().AskConversations(h.Context(), h.row("coder").ID)
	h.ok(err)
	for _, c := range list {
		if c.ID == id {
			return c.Name
		}
	}
	h.Fatalf("no conversation %s", id)
	return ""
}

func (h *home) row(name fika.AgentName) fika.Agent {
	h.Helper()
	a, err := h.store().Agent(h.Context(), name)
	h.ok(err)
	return a
}

// TestExternalServer: with a plain NATS server and another prefix everything
// is the same; when it goes away work goes on, and is announced when it is
// back. Two stores do not share a prefix.
func TestExternalServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := bustest.StartServer(t, bustest.AnyPort, dir)
	url, port := s.ClientURL(), s.Addr().(*net.TCPAddr).Port
	nats := fmt.Sprintf("[nats]\nserver = %q\nsubject_prefix = \"niffler\"\nrequest_tools = [\"*\"]\n", url)
	h := scriptedHome(t, nats, autoCoder)
	h.must("up")
	f := h.foreign(url, "niffler")
	f.exchange()
	if got := h.must("status"); !strings.Contains(got, "somebody else's server") {
		t.Errorf("status:\n%s", got)
	}
	other := scriptedHome(t, nats, autoCoder)
	other.one(other.run("up"), 1, "subject_prefix")

	id := h.must("task", "--no-wait", "coder", "slow")
	h.untilState(id, fika.Running)
	s.Shutdown()
	s.WaitForShutdown()
	h.untilState(id, fika.Done)
	bustest.StartServer(t, port, dir)
	if w := f.response(id); w.Result.Content != "finally" {
		t.Errorf("announced: %+v", w)
	}
	f.publish("request", fmt.Sprintf(taskRequest, "after", "hello"))
	if w := f.response("after"); w.Status != "completed" {
		t.Errorf("after: %+v", w)
	}
	if log := h.must("agent", "logs", "coder"); strings.Count(log, "[BUS reconnecting]") > 1 || strings.Count(log, "[BUS connected]") != 1 {
		t.Errorf("its log:\n%s", log)
	}
}
