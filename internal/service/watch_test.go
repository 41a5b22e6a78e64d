package service_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/service"
)

// seen returns what a principal sees of what there is, a line each.
func seen(t *testing.T, s *service.Service, scope api.Scope, from api.Cursor) (lines []string, last api.Cursor) {
	t.Helper()
	for e, err := range s.Events(t.Context(), scope, from) {
		check(t, err)
		last = e.Cursor
		if e.N > 0 {
			lines = append(lines, fmt.Sprintf("%s %s %s", e.Kind, e.Conversation, e.Agent))
		}
	}
	return lines, last
}

// TestEachPrincipalWatchesWhatItMaySee: an agent gets the events of chats that it takes
// part in, a program those of what it has asked, and nobody none.
func TestEachPrincipalWatchesWhatItMaySee(t *testing.T) {
	d := openDoor(t, "\n[[agents]]\nid = \"coder\"\nreadable_by = []\n[[agents]]\nid = \"tester\"\nreadable_by = []\n[[bus_members]]\nname = \"build\"\n", true)
	p := d.As(person)
	for chat, text := range map[string]string{"secret": "@coder sesame", "shared": "@tester hello"} {
		conv, err := p.Chats.Create(t.Context(), chat)
		check(t, err)
		_, err = p.Chats.Send(t.Context(), conv, text, service.Alias{})
		check(t, err)
	}
	taken, err := d.take("build", "coder", message.Request{RequestID: "built"})
	check(t, err)
	_, err = d.take("", "coder", message.Request{RequestID: "other's"})
	check(t, err)
	all, _ := seen(t, p, api.Scope{}, api.FromOldest)
	for _, tt := range []struct {
		who  api.Principal
		want []string // conversations
	}{
		{person, []string{"secret", "shared", string(taken.Conversation.Name)}},
		{api.Principal{Kind: api.Agent, Name: "coder", Door: api.DoorCLI}, []string{"secret", string(taken.Conversation.Name)}},
		{api.Principal{Kind: api.Agent, Name: "tester", Door: api.DoorCLI}, []string{"shared"}},
		{api.Principal{Kind: api.Program, Name: "build", Door: api.DoorBus, Agents: []string{"coder"}, Most: api.Speaks}, []string{string(taken.Conversation.Name)}},
		{api.Principal{Kind: api.Program, Name: "mail", Door: api.DoorBus, Agents: []string{"coder"}, Most: api.Speaks}, nil},
	} {
		lines, _ := seen(t, d.As(tt.who), api.Scope{}, api.FromOldest)
		for _, name := range []string{"secret", "shared", string(taken.Conversation.Name)} {
			has := slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, " "+name+" ") })
			if has != slices.Contains(tt.want, name) {
				t.Errorf("%s %s sees events of %s: %v", tt.who.Kind, tt.who.Name, name, has)
			}
		}
		if tt.who.Kind == api.Program && slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, " tester") }) {
			t.Errorf("%s sees what happens to an agent that it may not reach", tt.who.Name)
		}
		if len(lines) > len(all) {
			t.Errorf("%s sees more than there is", tt.who.Name)
		}
	}
	for _, err := range d.As(api.Principal{}).Events(t.Context(), api.Scope{}, api.FromOldest) {
		if !fika.IsKind(err, fika.Denied) {
			t.Errorf("nobody: %v", err)
		}
	}
	tester := d.As(api.Principal{Kind: api.Agent, Name: "tester", Door: api.DoorCLI})
	for what, scope := range map[string]api.Scope{"chat": {Conversations: []string{"secret"}}, "request": {Requests: []string{"built"}}} {
		for _, err := range tester.Watch(t.Context(), scope, api.FromOldest) {
			if !fika.IsKind(err, fika.Denied) {
				t.Errorf("%s by name: %v", what, err)
			}
		}
	}
}

// TestWatchFollowsWhoMaySee: what an agent may see changes in the middle of its watch, in
// both directions, and text follows it.
func TestWatchFollowsWhoMaySee(t *testing.T) {
	c := openWith(t, twoAgents)
	for _, name := range []string{"coder", "tester"} {
		_, err := c.Agents.Find(t.Context(), name)
		check(t, err)
	}
	conv, err := c.Chats.Create(t.Context(), "secret")
	check(t, err)
	say := func(text string) {
		t.Helper()
		_, err := c.Chats.Send(t.Context(), conv, text, service.Alias{})
		check(t, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got := make(chan string)
	ended := make(chan struct{})
	go func() { // joined below
		defer close(ended)
		tester := c.As(api.Principal{Kind: api.Agent, Name: "tester", Door: api.DoorCLI})
		for e, err := range tester.Watch(ctx, api.Scope{Content: true, Kinds: []api.EventKind{api.EntryEvent, api.PauseEvent}}, api.FromOldest) {
			line := string(e.Kind)
			switch {
			case e.Kind == api.MarkEvent:
				continue
			case err != nil:
				line = err.Error()
			case e.Entry != nil:
				line = e.Entry.Content
			}
			select {
			case got <- line:
			case <-ctx.Done():
			}
		}
	}()
	next := func(want string) {
		t.Helper()
		if line := <-got; line != want {
			t.Errorf("got %q, not %q", line, want)
		}
	}
	say("before")
	check(t, c.ChatControl.PauseAll(t.Context())) // all may know: it shows how far the watcher is
	next("pause")
	check(t, c.Chats.Invite(t.Context(), conv, []fika.AgentName{"tester"}))
	say("after")
	next("after")
	// Something new is asked in a conversation of its own that it may not read.
	tester, err := c.Agents.Find(t.Context(), "coder")
	check(t, err)
	_, err = c.Requests.Submit(t.Context(), tester, service.Ask{Kind: fika.TaskRequest, Prompt: "sesame"})
	check(t, err)
	say("last")
	next("last")
	stop()
	<-ended
}

// TestWatchFollowsTheSettings: from the moment at which the settings take the right away,
// a watch shows nothing more of what it was about, and everything again once they give it.
func TestWatchFollowsTheSettings(t *testing.T) {
	const readable = "\n[[agents]]\nid = \"coder\"\nreadable_by = [%s]\n[[agents]]\nid = \"tester\"\n"
	c, settings := openHome(t, fmt.Sprintf(readable, `"tester"`))
	coder, err := c.Agents.Find(t.Context(), "coder")
	check(t, err)
	_, err = c.Agents.Find(t.Context(), "tester")
	check(t, err)
	asked := func() string {
		t.Helper()
		a, err := c.Requests.Submit(t.Context(), coder, service.Ask{Kind: fika.AskRequest, Prompt: "sesame"})
		check(t, err)
		return string(a.Request.ID)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got := make(chan string)
	ended := make(chan struct{})
	go func() { // joined below
		defer close(ended)
		tester := c.As(api.Principal{Kind: api.Agent, Name: "tester", Door: api.DoorCLI})
		for e, err := range tester.Watch(ctx, api.Scope{Kinds: []api.EventKind{api.RequestEvent, api.PauseEvent}}, api.FromOldest) {
			line := string(e.Kind)
			switch {
			case err != nil:
				line = err.Error()
			case e.Kind == api.MarkEvent:
				continue
			case e.Request != "":
				line = e.Request
			}
			select {
			case got <- line:
			case <-ctx.Done():
			}
		}
	}()
	next := func(want string) {
		t.Helper()
		if line := <-got; line != want {
			t.Errorf("got %q, not %q", line, want)
		}
	}
	next(asked())
	settings(fmt.Sprintf(readable, ""))
	asked()
	check(t, c.ChatControl.PauseAll(t.Context())) // all may know: it shows how far the watcher is
	next("pause")
	settings(fmt.Sprintf(readable, `"tester"`))
	next(asked())
	stop()
	<-ended
}

// TestWatchOfAnUnknownPlaceIsReset: a place that is not in this store ends the stream with
// a reset, and what is no place is refused.
func TestWatchOfAnUnknownPlaceIsReset(t *testing.T) {
	c, other := open(t), open(t)
	d := service.Door(c)
	for s, rooms := range map[*service.Service]int{c: 3, other: 4} { // else both may be made in the same millisecond
		for i := range rooms {
			_, err := s.Chats.Create(t.Context(), fmt.Sprint("room", i))
			check(t, err)
		}
	}
	_, elsewhere, err := other.Look(t.Context(), api.Scope{})
	check(t, err)
	_, here, err := c.Look(t.Context(), api.Scope{})
	check(t, err)
	n, _, _ := strings.Cut(string(here), ".")
	for what, at := range map[string]api.Cursor{"of another store": elsewhere, "from the future": "999999999.1", "of another time": api.Cursor(n + ".1")} {
		last := api.Event{}
		for e, err := range d.Watch(t.Context(), api.Scope{Until: true, Kinds: []api.EventKind{api.RunEvent}}, at) {
			check(t, err)
			last = e
		}
		if last.Kind != api.ResetEvent {
			t.Errorf("a place %s: %+v", what, last)
		}
	}
	for _, at := range []api.Cursor{"yesterday", "-1.2", "1", "1.2.3", api.Cursor(strings.Repeat("9", 100))} {
		for _, err := range d.Watch(t.Context(), api.Scope{}, at) {
			if api.CodeOf(err) != api.Invalid {
				t.Errorf("%.20q: %v", at, err)
			}
		}
	}
}
