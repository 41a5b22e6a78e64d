package chat_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/chat"
	"fika/internal/store"
	"fika/internal/store/storetest"
)

// room is a chat over a real store with a notifier that records its calls and checks
// that what it announces can already be read.
type room struct {
	*testing.T
	*chat.Chats
	store *store.Store
	conv  fika.Conversation
	rung  []fika.AgentName
	shown int
	root  fika.RequestID // of letters
}

func newRoom(t *testing.T, agents ...fika.AgentName) *room {
	t.Helper()
	var ticks atomic.Int64 // each reading of the clock gives a new time
	begun := time.Now()
	s, err := store.Open(t.Context(), store.Options{
		Path: storetest.Fresh(t), Now: func() time.Time { return begun.Add(time.Duration(ticks.Add(1)) * time.Millisecond) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := &room{T: t, store: s}
	for _, n := range agents {
		_, err := s.EnsureAgent(t.Context(), store.NewAgent{Name: n})
		r.ok(err)
	}
	r.conv, err = s.CreateChat(t.Context(), "tale")
	r.ok(err)
	r.Chats = chat.New(s, r)
	return r
}

func (r *room) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *room) Wake(names ...fika.AgentName) {
	work, err := r.store.WithWork(r.Context())
	r.ok(err)
	waiting := map[fika.AgentName]bool{}
	for _, w := range work {
		waiting[w.Agent] = true
	}
	for _, n := range names {
		if !waiting[n] {
			r.Errorf("@%s is rung before there is anything to see", n)
		}
	}
	r.rung = append(r.rung, names...)
}

func (r *room) Show(_ fika.Conversation, entries ...fika.Entry) {
	for _, e := range entries {
		_, err := r.store.EntryByID(r.Context(), r.conv.ID, e.ID)
		r.ok(err)
	}
	r.shown += len(entries)
}

func (r *room) messages() []fika.Entry {
	r.Helper()
	all, err := r.store.Entries(r.Context(), store.EntryQuery{Conversation: r.conv.ID})
	r.ok(err)
	return all
}

func (r *room) say(text string) (chat.Sent, error) {
	return r.Send(r.Context(), r.conv, chat.Said{From: "ann", Username: "ann", Text: text})
}

func TestSend(t *testing.T) {
	for text, want := range map[string][]fika.AgentName{
		"hello":                             nil,
		"@arya hello":                       {"arya"},
		"@Arya and @gendry, and @arya":      {"arya", "gendry"},
		"write to ann@arya.example":         nil,
		"`@arya` is only quoted":            nil,
		"@ann is myself":                    nil,
		"@arya's friend @gendry-":           {"arya", "gendry"},
		"@user is a person":                 nil,
		"```\n@arya\n```\nand then @hotpie": {"hotpie"},
	} {
		r := newRoom(t, "arya", "gendry", "hotpie")
		sent, err := r.say(text)
		r.ok(err)
		if d := cmp.Diff(want, sent.Notified); d != "" {
			t.Errorf("%q notifies: %s", text, d)
		}
		if d := cmp.Diff(want, r.rung); d != "" {
			t.Errorf("%q rings: %s", text, d)
		}
		if sent.Nobody != (len(want) == 0) || r.shown != 1 || len(r.messages()) != 1 {
			t.Errorf("%q: nobody %v, shown %d, stored %d", text, sent.Nobody, r.shown, len(r.messages()))
		}
	}
}

// TestSendRefuses: a refused message is not stored, and nobody is woken.
func TestSendRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		said chat.Said
		kind fika.Kind
		want string
	}{
		"nothing":       {chat.Said{From: "ann", Username: "ann", Text: " \n\t"}, fika.Invalid, "empty"},
		"unknown agent": {chat.Said{From: "ann", Username: "ann", Text: "@aria hello"}, fika.NotFound, `did you mean "arya"?`},
		"two unknown":   {chat.Said{From: "ann", Username: "ann", Text: "@arya @x1 @x2"}, fika.NotFound, `"x2"`},
		"of an agent":   {chat.Said{From: "ann", Username: "Arya", Text: "hello"}, fika.Denied, "cannot speak as an agent"},
		"as an agent":   {chat.Said{From: "Arya", Username: "ann", Text: "hello"}, fika.Denied, "cannot speak as an agent"},
	} {
		r := newRoom(t, "arya")
		_, err := r.Send(t.Context(), r.conv, tt.said)
		if !fika.IsKind(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v", name, err)
		}
		if len(r.messages()) > 0 || len(r.rung) > 0 || r.shown > 0 {
			t.Errorf("%s: stored %d, rung %v", name, len(r.messages()), r.rung)
		}
	}
}

// TestSendAll: @all means the participants that are agents.
func TestSendAll(t *testing.T) {
	r := newRoom(t, "arya", "gendry", "hotpie")
	_, err := r.say("@gendry come in")
	r.ok(err)
	sent, err := r.say("@all and @hotpie, please")
	r.ok(err)
	if d := cmp.Diff([]fika.AgentName{"hotpie", "gendry"}, sent.Notified); d != "" || !sent.All {
		t.Error(d)
	}
}

// TestSendTwice: repeating a known id changes nothing.
func TestSendTwice(t *testing.T) {
	r := newRoom(t, "arya")
	said := chat.Said{ID: "one", From: "ann", Username: "ann", Text: "@arya hello"}
	_, err := r.Send(t.Context(), r.conv, said)
	r.ok(err)
	again, err := r.Send(t.Context(), r.conv, said)
	r.ok(err)
	if !again.Repeat || len(r.messages()) != 1 || len(r.rung) != 1 {
		t.Errorf("%+v, %d stored, rung %v", again, len(r.messages()), r.rung)
	}
}

// TestSendPaused: the message is stored and waits.
func TestSendPaused(t *testing.T) {
	r := newRoom(t, "arya")
	_, err := r.store.SetPaused(t.Context(), r.conv.ID, true)
	r.ok(err)
	r.Chats.Notify = quiet{}
	sent, err := r.say("@arya hello")
	r.ok(err)
	if !sent.Paused || len(r.messages()) != 1 {
		t.Errorf("%+v", sent)
	}
}

type quiet struct{}

func (quiet) Wake(...fika.AgentName)                {}
func (quiet) Show(fika.Conversation, ...fika.Entry) {}

// TestMentioned: an agent's words concern those that it names, but never itself,
// never everybody, and nobody who does not exist.
func TestMentioned(t *testing.T) {
	r := newRoom(t, "arya", "gendry", "hotpie")
	for text, want := range map[string][]fika.AgentName{
		"done":                       nil,
		"@gendry, please":            {"gendry"},
		"@arya should @hotpie":       {"hotpie"},
		"@all of you":                nil,
		"@nobody and @user":          nil,
		"> @gendry said\n\n@hotpie?": {"hotpie"},
	} {
		got, err := r.Mentioned(t.Context(), r.conv, "arya", text)
		r.ok(err)
		if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func TestNearest(t *testing.T) {
	agents := []fika.Agent{{Name: "arya"}, {Name: "gendry"}}
	for word, want := range map[string]fika.AgentName{"aria": "arya", "gendri": "gendry", "zzzzzz": "", "": ""} {
		if got := chat.NearestAgent(word, agents); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// TestPeople: several people in one chat are known by their names, and their names
// call no agent.
func TestPeople(t *testing.T) {
	r := newRoom(t, "arya", "gendry")
	say := func(from, text string) (chat.Sent, error) {
		return r.Send(t.Context(), r.conv, chat.Said{From: from, Username: "ann", Text: text})
	}
	_, err := say("ann", "@bob hello")
	if !fika.IsKind(err, fika.NotFound) {
		t.Errorf("bob is not there yet: %v", err)
	}
	for _, name := range []string{"bob", "Arya-x", "carol"} {
		_, err := say(name, "I am here")
		r.ok(err)
	}
	sent, err := say("carol", "@bob, @ann and @arya-x")
	r.ok(err)
	if len(sent.Notified) > 0 || !sent.Nobody || !sent.Person {
		t.Errorf("%+v", sent)
	}
	if sent, err = say("carol", "@arya and @Bob"); err != nil || len(sent.Notified) != 1 {
		t.Errorf("%+v, %v", sent, err)
	}
	got, err := r.Mentioned(t.Context(), r.conv, "gendry", "@arya-x knows, and so does @bob")
	r.ok(err)
	if len(got) > 0 {
		t.Errorf("a person is taken for %v", got)
	}
	in, err := r.store.Participants(t.Context(), r.conv.ID)
	r.ok(err)
	if d := cmp.Diff([]string{"Arya-x", "arya", "bob", "carol"}, slices.Sorted(slices.Values(in))); d != "" {
		t.Error(d)
	}
}

// TestTheOwnPoolIsNotCalled: a member that names its pool calls no other member, just
// as it does not call itself.
func TestTheOwnPoolIsNotCalled(t *testing.T) {
	r := newRoom(t, "arya", "gendry", "hotpie")
	r.PoolOf = func(n fika.AgentName) fika.AgentName {
		return map[fika.AgentName]fika.AgentName{"gendry": "hotpie"}[n]
	}
	for self, want := range map[fika.AgentName][]fika.AgentName{"gendry": {"arya"}, "arya": {"hotpie", "gendry"}} {
		got, err := r.Mentioned(t.Context(), r.conv, self, "@hotpie and @gendry, says @arya")
		r.ok(err)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("said by %s: %s", self, d)
		}
	}
}
