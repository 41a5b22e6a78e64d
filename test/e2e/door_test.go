package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fika/internal/api"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// saidSince joins what others have said since the model's last answer.
func saidSince(r llmtest.Request) (text string) {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == llm.Assistant && len(m.Calls) == 0 {
			break
		}
		if m.Role == llm.User {
			text += m.Text + "\n"
		}
	}
	return text
}

// doorModel answers as it is told by what was said last. Before it waits, its text ends with
// what no key begins with: what may be the beginning of one is held back.
func doorModel(gates [2]chan struct{}) llmtest.Handler {
	return func(r llmtest.Request) llmtest.Script {
		prompt := saidSince(r)
		if text, ok := answered(r); ok {
			return llmtest.Script{llmtest.Text(r.Model + " has " + text)}
		}
		bash := func(id, command string) llmtest.Action {
			args, _ := json.Marshal(map[string]string{"command": command}) // of strings it cannot fail
			return llmtest.Call(id, "bash", string(args))
		}
		switch {
		case strings.Contains(prompt, "both"):
			return llmtest.Script{bash("a", "echo one-"+r.Model), bash("b", "echo two-"+r.Model)}
		case strings.Contains(prompt, "careful"):
			return llmtest.Script{bash("c", "touch asked")}
		case strings.Contains(prompt, "long tool"):
			return llmtest.Script{bash("d", "sleep 3141; echo "+r.Model)}
		case strings.Contains(prompt, "story"):
			return llmtest.Script{llmtest.Text("once ", "upon "), llmtest.Wait(gates[0]), llmtest.Text("a time."), llmtest.Wait(gates[1])}
		case strings.Contains(prompt, "for ever"):
			return llmtest.Script{llmtest.Text("I wait."), llmtest.Stall()}
		}
		return llmtest.Script{llmtest.Text("hello from " + r.Model)}
	}
}

// TestDoor goes through the door with a hub, two agents and a client: it sends, watches
// parallel tool calls, answers an approval, joins in the middle of an answer, cancels,
// pauses, and loses nothing when agent, hub and door are killed.
func TestDoor(t *testing.T) {
	t.Parallel()
	gates := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	srv := llmtest.NewOpenAI(t, doorModel(gates))
	h := newHome(t, config(srv, llmtest.OpenAI, "[[rules]]\ntool = \"bash\"\nmatch = \"touch *\"\ndo = \"ask\"\nwhy = \"look first\"",
		agent{name: "arya", tools: `"bash"`}, agent{name: "bran", tools: `"bash"`}))
	h.must("up")
	h.chat("room")
	d := h.openDoor()
	from, st := d.state()
	if len(st.Agents) < 2 || len(st.Conversations) != 1 {
		t.Errorf("the state has %d agents and %d conversations", len(st.Agents), len(st.Conversations))
	}
	const scope = "conversation=room&agent=arya&agent=bran"
	v := d.view(scope, from)
	d.speaks(v)
	d.approves(v)
	d.joins(v, gates)
	d.cancels(v)
	d.pauses(v)
	d.survives(v)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, b := range v.broken {
		t.Errorf("broken: %s", b)
	}
	var want, got []int64
	for _, e := range jsonLines[api.Event](h, h.must("events", "--since", string(from), "--json", "--chat", "room", "--agent", "arya", "--agent", "bran")) {
		if e.N > 0 && e.N <= v.events[len(v.events)-1].N {
			want = append(want, e.N)
		}
	}
	for _, e := range v.events {
		got = append(got, e.N)
	}
	if !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("the client has got the events %v, and these were committed: %v", got, want)
	}
}

// speaks sends the same message twice, and sees two agents call two tools each: the
// arguments of each call stand beside its own result.
func (d *doorway) speaks(v *viewer) {
	var first, again api.Sent
	d.call("POST", "/conversations/room/messages", "k1", api.Message{Text: "@arya @bran both please"}, &first, http.StatusOK)
	d.call("POST", "/conversations/room/messages", "k1", api.Message{Text: "@arya @bran both please"}, &again, http.StatusOK)
	if again.Seq != first.Seq || !again.Repeat || len(first.Notify) != 2 {
		d.Errorf("sent %+v, and under the same key %+v", first, again)
	}
	d.call("POST", "/conversations/room/messages", "k1", api.Message{Text: "another"}, nil, http.StatusUnprocessableEntity)
	for _, name := range []string{"arya", "bran"} {
		request := v.said(name, name+" has").Request
		calls := v.calls(request)
		for _, word := range []string{"one-" + name, "two-" + name} {
			ok := false
			for _, pair := range calls {
				ok = ok || strings.Contains(pair[0], word) && strings.Contains(pair[1], word)
			}
			if !ok || len(calls) != 2 {
				d.Errorf("@%s: no call of %s with its result: %v", name, word, calls)
			}
		}
	}
}

func (d *doorway) ask(a api.Ask) api.Asked {
	d.Helper()
	var out api.Asked
	d.call("POST", "/asks", "", a, &out, http.StatusOK)
	return out
}

// approves sees a question with its arguments, and answers it once.
func (d *doorway) approves(v *viewer) {
	asked := d.ask(api.Ask{Agent: "arya", Prompt: "careful now", Task: true})
	n := v.find("a question", func(e api.Event) bool {
		return e.Kind == api.ApprovalEvent && e.Request == asked.Request && e.State == "open"
	}).Seq
	_, st := d.state()
	if len(st.Approvals) != 1 || st.Approvals[0].Number != n || !strings.Contains(string(st.Approvals[0].Args), "touch asked") {
		d.Errorf("the open questions are %+v", st.Approvals)
	}
	path := fmt.Sprint("/approvals/", n)
	d.call("POST", path, "", api.Answer{Allow: true}, nil, http.StatusOK)
	d.call("POST", path, "", api.Answer{Allow: false}, nil, http.StatusConflict)
	v.outcome(asked.Request, "done")
}

// joins begins to watch in the middle of an answer, and sees its text from the beginning.
func (d *doorway) joins(v *viewer, gates [2]chan struct{}) {
	asked := d.ask(api.Ask{Agent: "bran", Prompt: "a story", Conversation: "tales"})
	v.shows(asked.Request, "once upon ")
	late := d.view("request="+asked.Request, api.FromNow)
	late.shows(asked.Request, "once upon ")
	close(gates[0])
	late.shows(asked.Request, "once upon a time.")
	close(gates[1])
	late.outcome(asked.Request, "done")
	if e := late.said("bran", "once upon a time."); e.Conversation != "tales" {
		d.Errorf("the answer is in %q", e.Conversation)
	}
}

// cancels ends a request that would never end.
func (d *doorway) cancels(v *viewer) {
	asked := d.ask(api.Ask{Agent: "bran", Prompt: "for ever", Task: true})
	v.shows(asked.Request, "I wait.")
	d.call("POST", "/requests/"+asked.Request+"/cancel", "", map[string]string{"reason": "enough"}, nil, http.StatusOK)
	v.outcome(asked.Request, "cancelled")
}

// pauses holds a chat, and lets it go on.
func (d *doorway) pauses(v *viewer) {
	d.call("POST", "/conversations/room/pause", "", nil, nil, http.StatusOK)
	var sent api.Sent
	d.call("POST", "/conversations/room/messages", "", api.Message{Text: "@arya hello"}, &sent, http.StatusOK)
	_, st := d.state()
	i := slices.IndexFunc(st.Conversations, func(c api.ConversationInfo) bool { return c.Name == "room" })
	if i < 0 || !st.Conversations[i].Paused || len(st.Requests) != 0 {
		d.Errorf("a paused chat: %+v", st)
	}
	d.call("POST", "/conversations/room/resume", "", nil, nil, http.StatusOK)
	v.said("arya", "hello from arya")
	d.call("POST", "/requests/none-of-them/cancel", "", nil, nil, http.StatusNotFound)
}

// survives kills the agent, the hub and the door in the middle of work.
func (d *doorway) survives(v *viewer) {
	begin := func(name string) (seq int64) {
		var sent api.Sent
		d.call("POST", "/conversations/room/messages", "", api.Message{Text: "@" + name + " a long tool"}, &sent, http.StatusOK)
		d.until("the tool", func() bool { return len(d.processes("sleep 3141; echo "+name)) > 0 })
		return sent.Seq
	}
	interrupted := func(name string, after int64) {
		v.find("the answer of @"+name, func(e api.Event) bool {
			return e.Entry != nil && e.Entry.From == name && e.Entry.Type == "message" && e.Conversation == "room" && e.Seq > after &&
				strings.Contains(e.Entry.Content, "may or may not have run")
		})
	}
	at := begin("arya")
	d.kill(agentWords("arya"))
	interrupted("arya", at)
	at = begin("bran")
	d.kill(hubWords)
	d.kill(agentWords("bran"))
	d.end()
	d.must("up")
	d.start()
	interrupted("bran", at)
	d.cancels(v) // there is live text again
}

// TestDoorRefuses: what is malformed, huge, from elsewhere or from nobody is refused with
// a status, and nothing of it is begun.
func TestDoorRefuses(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", lazy)
	h.must("up")
	h.chat("room")
	d := h.openDoor()
	for what, tt := range map[string]struct {
		method, path, body string
		header             map[string]string
		status             int
	}{
		"nobody":           {"GET", "/state", "", map[string]string{"Authorization": ""}, 401},
		"a wrong token":    {"GET", "/events", "", map[string]string{"Authorization": "Bearer x"}, 401},
		"another name":     {"GET", "/state", "", map[string]string{"Host": "evil.example"}, 403},
		"another site":     {"POST", "/pause", "", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403},
		"no JSON":          {"POST", "/asks", "{", nil, 400},
		"an unknown field": {"POST", "/asks", `{"agent":"lazy","prompt":"x","tools":["bash"]}`, nil, 400},
		"too much":         {"POST", "/asks", `{"agent":"lazy","prompt":"` + strings.Repeat("x", 2<<20) + `"}`, nil, 413},
		"no such agent":    {"POST", "/asks", `{"agent":"nobody","prompt":"x"}`, nil, 404},
		"no such chat":     {"POST", "/conversations/none/messages", `{"text":"x"}`, nil, 404},
		"no such approval": {"POST", "/approvals/7", `{"allow":true}`, nil, 404},
		"no number":        {"POST", "/approvals/x", `{"allow":true}`, nil, 400},
		"a long key":       {"POST", "/pause", "", map[string]string{"Idempotency-Key": strings.Repeat("k", 257)}, 400},
		"no cursor":        {"GET", "/events?since=yesterday", "", nil, 400},
		"no such kind":     {"GET", "/events?kind=gossip", "", nil, 400},
		"no place":         {"GET", "/requests?after=x", "", nil, 400},
		"no such path":     {"GET", "/", "", nil, 404},
	} {
		r, err := http.NewRequest(tt.method, d.at(tt.path), strings.NewReader(tt.body))
		h.ok(err)
		r.Header.Set("Authorization", "Bearer sesame")
		for k, value := range tt.header {
			r.Header.Set(k, value)
		}
		if host := tt.header["Host"]; host != "" {
			r.Host = host
		}
		res, err := http.DefaultClient.Do(r)
		h.ok(err)
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s: %s, not %d: %.200s", what, res.Status, tt.status, text)
		}
	}
	future := d.view("", api.FromOldest) // a cursor of another store: the stream says so
	future.find("the chat", func(e api.Event) bool { return e.Kind == api.ConversationEvent })
	r, err := http.NewRequest("GET", d.at("/events?since=999999.1"), nil)
	h.ok(err)
	r.Header.Set("Authorization", "Bearer sesame")
	res, err := http.DefaultClient.Do(r)
	h.ok(err)
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), "event: reset") {
		t.Errorf("a cursor from the future: %q, %v", text, err)
	}
	if list, err := h.store().WithWork(context.Background()); err != nil || len(list) != 0 {
		t.Errorf("begun: %+v, %v", list, err)
	}
}
