package service_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
)

// asCoder is @coder as it speaks through a tool.
func asCoder() api.Principal { return api.Principal{Kind: api.Agent, Name: "coder", Door: api.DoorCLI} }

// TestLookThenWatch: whatever is not in the state comes behind its cursor, whenever it
// happens; and a request that has ended before is in the state, so that a watch for its
// outcome ends.
func TestLookThenWatch(t *testing.T) {
	c := openWith(t, twoAgents)
	d, ctx := service.Door(c), t.Context()
	room, err := c.Chats.Create(ctx, "room")
	check(t, err)
	st, at, err := d.Look(ctx, api.Scope{})
	check(t, err)
	if len(st.Requests) != 0 || len(st.Agents) != 2 || len(st.Conversations) != 1 || st.Paused {
		t.Errorf("at first: %+v", st)
	}
	asked, err := d.Ask(ctx, api.Ask{Agent: "coder", Prompt: "sesame", Task: true}, api.Write{Key: "a"})
	check(t, err)
	check(t, d.Pause(ctx, "room", api.Write{}))
	var kinds []string
	for e, err := range c.Events(ctx, api.Scope{}, at) {
		check(t, err)
		kinds = append(kinds, string(e.Kind))
	}
	for _, want := range []string{"request", "pause", "conversation"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no %s event behind the cursor: %v", want, kinds)
		}
	}
	st, _, err = d.Look(ctx, api.Scope{})
	check(t, err)
	if len(st.Requests) != 1 || st.Requests[0].ID != asked.Request || st.Requests[0].State != "open" || st.Requests[0].Agent != "coder" {
		t.Errorf("after an ask: %+v", st.Requests)
	}
	if i := slices.IndexFunc(st.Conversations, func(x api.ConversationInfo) bool { return x.Name == string(room.Name) }); i < 0 || !st.Conversations[i].Paused {
		t.Errorf("after a pause: %+v", st.Conversations)
	}
	check(t, d.Cancel(ctx, asked.Request, "enough", api.Write{}))
	st, at, err = d.Look(ctx, api.Scope{Requests: []string{asked.Request}})
	check(t, err)
	if len(st.Requests) != 1 || st.Requests[0].State != "cancelled" || len(st.Agents) != 1 {
		t.Errorf("an ended request: %+v", st)
	}
	for e, err := range d.Watch(ctx, api.Scope{Requests: []string{asked.Request}, Until: true}, at) {
		if e.Kind == api.MarkEvent {
			continue
		}
		t.Errorf("a watch for an outcome that is there gives %+v, %v", e, err)
	}
	ended := false
	for e, err := range d.Watch(ctx, api.Scope{Requests: []string{asked.Request}, Until: true}, api.FromOldest) {
		check(t, err)
		ended = ended || e.State == "cancelled"
	}
	if !ended {
		t.Error("a watch from before the outcome ends without it")
	}
}

// TestLookShowsWhatMayBeSeen: the state holds what its principal sees of the scope, and
// a scope by name is refused.
func TestLookShowsWhatMayBeSeen(t *testing.T) {
	w := walkWorld(t)
	ctx := w.Context()
	all, _, err := service.Door(w.person).Look(ctx, api.Scope{})
	check(t, err)
	if len(all.Requests) == 0 || len(all.Runs) != 1 || len(all.Approvals) != 1 || len(all.Conversations) == 0 || len(all.Agents) < 2 {
		t.Fatalf("a person sees %+v", all)
	}
	in, _, err := service.Door(w.person).Look(ctx, api.Scope{Conversations: []string{string(w.secret.Name)}})
	check(t, err)
	if len(in.Conversations) != 1 || len(in.Requests) != 0 || len(in.Approvals) != 0 || !slices.ContainsFunc(in.Agents, func(a api.AgentInfo) bool { return a.Name == "gendry" }) {
		t.Errorf("a chat: %+v", in)
	}
	arya := api.Principal{Kind: api.Agent, Name: "arya", Door: api.DoorCLI}
	for _, who := range []api.Principal{arya, {Kind: api.Program, Name: "mail", Door: api.DoorBus, Agents: []string{"arya"}, Most: api.Speaks}} {
		d := service.Door(w.person.As(who))
		st, _, err := d.Look(ctx, api.Scope{})
		check(t, err)
		text, err := json.Marshal(st)
		check(t, err)
		if len(st.Requests)+len(st.Runs)+len(st.Approvals)+len(st.Conversations) != 0 || strings.Contains(string(text), "sesame") {
			t.Errorf("%s sees %s", who.Name, text)
		}
		if who.Kind == api.Program && len(st.Agents) != 1 {
			t.Errorf("%s sees agents that it may not reach: %+v", who.Name, st.Agents)
		}
		for what, scope := range map[string]api.Scope{"chat": {Conversations: []string{"secret"}}, "request": {Requests: []string{string(w.request)}}} {
			if _, _, err := d.Look(ctx, scope); api.CodeOf(err) != api.Denied {
				t.Errorf("%s looks at a %s by name: %v", who.Name, what, err)
			}
		}
	}
	if _, _, err := service.Door(w.person.As(api.Principal{})).Look(ctx, api.Scope{}); api.CodeOf(err) != api.Unauthenticated {
		t.Errorf("nobody: %v", err)
	}
}

// TestListsHavePages: the pages of a list, put together, are the list, each item once.
func TestListsHavePages(t *testing.T) {
	c := openWith(t, twoAgents)
	d, ctx := service.Door(c), t.Context()
	var asked []string
	for i := range 7 {
		_, err := c.Chats.Create(ctx, fmt.Sprint("room", i))
		check(t, err)
		a, err := d.Ask(ctx, api.Ask{Agent: []string{"coder", "tester"}[i%2], Prompt: "x", Task: true}, api.Write{})
		check(t, err)
		asked = append([]string{a.Request}, asked...)
		_, err = d.Send(ctx, api.Message{Conversation: "room0", Text: "x"}, api.Write{})
		check(t, err)
	}
	pages := func(what string, want int, page func(api.Page) ([]string, string, error)) (all []string) {
		t.Helper()
		for after, n := "", 0; n == 0 || after != ""; n++ {
			items, next, err := page(api.Page{After: after, Limit: 3})
			check(t, err)
			if len(items) > 3 || next != "" && len(items) != 3 {
				t.Fatalf("%s: a page of %d", what, len(items))
			}
			all, after = append(all, items...), next
		}
		if sorted := slices.Sorted(slices.Values(all)); len(slices.Compact(sorted)) != want || len(all) != want {
			t.Errorf("%s: %v", what, all)
		}
		if _, _, err := page(api.Page{After: "…"}); what != "agents" && api.CodeOf(err) != api.Invalid {
			t.Errorf("%s: a place that is none: %v", what, err)
		}
		return all
	}
	if got := pages("requests", 7, func(p api.Page) ([]string, string, error) {
		l, err := d.Requests(ctx, api.Scope{}, p)
		return names(l.Items, func(r api.RequestInfo) string { return r.ID }), l.Next, err
	}); !slices.Equal(got, asked) {
		t.Errorf("requests are %v, not %v", got, asked)
	}
	pages("requests of an agent", 4, func(p api.Page) ([]string, string, error) {
		l, err := d.Requests(ctx, api.Scope{Agents: []string{"coder"}}, p)
		return names(l.Items, func(r api.RequestInfo) string { return r.ID }), l.Next, err
	})
	pages("conversations", 14, func(p api.Page) ([]string, string, error) {
		l, err := d.Conversations(ctx, p)
		return names(l.Items, func(x api.ConversationInfo) string { return x.Name }), l.Next, err
	})
	pages("agents", 2, func(p api.Page) ([]string, string, error) {
		l, err := d.Agents(ctx, p)
		return names(l.Items, func(a api.AgentInfo) string { return a.Name }), l.Next, err
	})
	pages("entries", 7, func(p api.Page) ([]string, string, error) {
		l, err := d.Entries(ctx, "room0", p)
		return names(l.Items, func(e api.EntryInfo) string { return e.ID }), l.Next, err
	})
}

func names[T any](list []T, of func(T) string) (out []string) {
	for _, x := range list {
		out = append(out, of(x))
	}
	return out
}

// TestAsk: an ask has a conversation, a history, a form, a deadline and a workspace; a
// program asks in its own name, in conversations of its own, tainted and without tools.
func TestAsk(t *testing.T) {
	c := openWith(t, twoAgents)
	d, ctx := service.Door(c), t.Context()
	deadline := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	ask := api.Ask{
		Agent: "coder", Prompt: "go on", Conversation: "talk", Workspace: "/tmp", Deadline: deadline,
		History: []api.HistoryItem{{Role: "user", Content: "one"}, {Role: "assistant", Content: "two"}},
		Form:    &api.Form{Schema: json.RawMessage(`{"type":"object"}`)},
	}
	first, err := d.Ask(ctx, ask, api.Write{Key: "k"})
	check(t, err)
	if again, err := d.Ask(ctx, ask, api.Write{Key: "k"}); err != nil || again.Request != first.Request || !again.Repeat {
		t.Errorf("under the same key: %+v, %v", again, err)
	}
	changed := ask
	changed.Form = nil
	if _, err := d.Ask(ctx, changed, api.Write{Key: "k"}); api.CodeOf(err) != api.KeyReused {
		t.Errorf("another form under the same key: %v", err)
	}
	q, err := c.Requests.Request(ctx, fika.RequestID(first.Request))
	check(t, err)
	if p := q.Payload; q.ConversationName != "talk" || p.Workspace != "/tmp" || p.Form == nil || len(p.History) != 2 || !q.Deadline.Equal(deadline) {
		t.Errorf("stored: %+v", q)
	}
	entries, err := d.Entries(ctx, "talk", api.Page{})
	if err != nil || len(entries.Items) < 2 || entries.Items[1].Content != "two" {
		t.Errorf("history: %+v, %v", entries, err)
	}
	mail := service.Door(c.As(api.Principal{Kind: api.Program, Name: "mail", Door: api.DoorOpenAI, Agents: []string{"coder"}, Most: api.Speaks}))
	foreign, err := mail.Ask(ctx, api.Ask{Agent: "coder", Prompt: "hello", Conversation: "talk"}, api.Write{})
	check(t, err)
	if q, err = c.Requests.Request(ctx, fika.RequestID(foreign.Request)); err != nil || q.ConversationName == "talk" || q.Taint == "" || q.Rights == nil ||
		len(q.Rights.Tools) != 0 || q.Payload.From != "mail" || q.Payload.Sender != "mail" {
		t.Errorf("a program's: %+v, %v", q, err)
	}
	if mine, err := mail.Requests(ctx, api.Scope{}, api.Page{}); err != nil || len(mine.Items) != 1 {
		t.Errorf("a program sees of requests: %+v, %v", mine, err)
	}
	for what, tt := range map[string]struct {
		by   api.Service
		ask  api.Ask
		want api.ErrorCode
	}{
		"no such agent":          {d, api.Ask{Agent: "nobody", Prompt: "x"}, api.NotFound},
		"a task with a history":  {d, api.Ask{Agent: "coder", Prompt: "x", Task: true, History: ask.History}, api.Invalid},
		"a system message":       {d, api.Ask{Agent: "coder", Prompt: "x", History: []api.HistoryItem{{Role: "system", Content: "obey"}}}, api.Invalid},
		"no schema":              {d, api.Ask{Agent: "coder", Prompt: "x", Form: &api.Form{Schema: json.RawMessage(`{`)}}, api.Invalid},
		"a deadline that passed": {d, api.Ask{Agent: "coder", Prompt: "x", Deadline: time.Unix(1, 0)}, api.Invalid},
		"a folder somewhere":     {d, api.Ask{Agent: "coder", Prompt: "x", Workspace: "src"}, api.Invalid},
		"somebody else's":        {d, api.Ask{Agent: "tester", Prompt: "x", Conversation: "talk"}, api.Conflict},
		"a huge prompt":          {d, api.Ask{Agent: "coder", Prompt: strings.Repeat("x", 1<<20)}, api.Invalid},
		"not reachable":          {mail, api.Ask{Agent: "tester", Prompt: "x"}, api.Denied},
		"a program's folder":     {mail, api.Ask{Agent: "coder", Prompt: "x", Workspace: "/"}, api.Denied},
		"an agent in a task":     {service.Door(c.As(asCoder())), api.Ask{Agent: "tester", Prompt: "x"}, api.Denied}, // nothing of it runs
	} {
		if _, err := tt.by.Ask(ctx, tt.ask, api.Write{}); api.CodeOf(err) != tt.want {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What has caused a request elsewhere goes with it, and makes no other request of it: the same
// one asked again under another trace is the same.
func TestATraceComesAlong(t *testing.T) {
	c := openWith(t, twoAgents)
	d := service.Door(c)
	const first, second = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ask := func(header string) (api.Asked, string) {
		a, err := d.Ask(api.WithTrace(t.Context(), header), api.Ask{Agent: "coder", Prompt: "sesame", Task: true}, api.Write{Key: "a"})
		check(t, err)
		info, err := c.Requests.Request(t.Context(), fika.RequestID(a.Request))
		check(t, err)
		return a, info.Payload.Trace
	}
	one, trace := ask(first)
	again, kept := ask(second)
	if trace != first || again.Request != one.Request || !again.Repeat || kept != first {
		t.Errorf("%q, then %q of %+v", trace, kept, again)
	}
}
