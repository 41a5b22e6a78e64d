package reading_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/chat/reading"
	"fika/internal/store"
	"fika/internal/store/pgtest"
	"fika/internal/store/storetest"
)

// servers is the PostgreSQL server of this test binary.
var servers pgtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Stop()
	os.Exit(code)
}

// archive is a store with the past of two agents.
type archive struct {
	*testing.T
	store *store.Store
	agent map[fika.AgentName]fika.Agent
	n     int
}

// onEngines runs a test on each engine that is there.
func onEngines(t *testing.T, test func(*archive)) {
	t.Helper()
	for name, options := range map[string]func(testing.TB) store.Options{
		"sqlite":   func(t testing.TB) store.Options { return store.Options{Path: storetest.Fresh(t)} },
		"postgres": func(t testing.TB) store.Options { return store.Options{URL: servers.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			x := &archive{T: t, agent: map[fika.AgentName]fika.Agent{}}
			var err error
			x.store, err = store.Open(t.Context(), options(t))
			x.ok(err)
			t.Cleanup(func() { _ = x.store.Close() })
			for _, name := range []fika.AgentName{"ann", "bob"} {
				x.agent[name], err = x.store.EnsureAgent(t.Context(), store.NewAgent{Name: name})
				x.ok(err)
			}
			test(x)
		})
	}
}

func (x *archive) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// ask is the ongoing conversation of an agent.
func (x *archive) ask(name fika.AgentName) fika.ConversationID {
	x.Helper()
	conv, err := x.store.ActiveAsk(x.Context(), x.agent[name].ID)
	x.ok(err)
	return conv.ID
}

// say puts messages into a conversation, and gives the seq of the last.
func (x *archive) say(conv fika.ConversationID, texts ...string) int64 {
	x.Helper()
	var list []fika.Entry
	for _, text := range texts {
		x.n++
		list = append(list, fika.Entry{ID: fika.EntryID(fmt.Sprint("e", x.n)), At: time.Unix(int64(1e9+x.n), 0), From: "user", To: "ann", Type: fika.Message, Content: text})
	}
	_, err := x.store.Import(x.Context(), conv, list)
	x.ok(err)
	c, err := x.store.ConversationByID(x.Context(), conv)
	x.ok(err)
	return c.LastSeq
}

// recalls gives what an agent finds, in one line each.
func (x *archive) recalls(name fika.AgentName, query string) []string {
	x.Helper()
	found, err := reading.Past{Store: x.store, Agent: x.agent[name]}.Find(x.Context(), query, 5)
	x.ok(err)
	var out []string
	for _, f := range found {
		out = append(out, f.Content)
	}
	return out
}

func (x *archive) finds(name fika.AgentName, query string, want ...string) {
	x.Helper()
	if got := x.recalls(name, query); strings.Join(got, "|") != strings.Join(want, "|") {
		x.Errorf("@%s, %q: found %q, want %q", name, query, got, want)
	}
}

// A fact is found among all that an agent has ever read, whatever else is asked with
// it, and whatever others have said of it is not.
func TestAFactIsFoundInAWholePast(t *testing.T) {
	onEngines(t, func(x *archive) {
		n := 300                                                         // more than are looked at of a word that is common
		if entries, err := strconv.Atoi(os.Getenv("PAST")); err == nil { // 100000 takes minutes
			n = entries
		}
		fact := "The staging password was rotated; it is kept in the blue envelope."
		var noise []string
		for i := range n {
			noise = append(noise, fmt.Sprintf("note %d about a password for the build, and the staging of plays, none of which matters", i))
		}
		x.say(x.ask("ann"), noise[:n/3]...)
		x.say(x.ask("ann"), fact)
		x.say(x.ask("ann"), noise[n/3:]...)
		x.say(x.ask("bob"), "bob: the staging password is in the red envelope")
		x.ok(x.store.IndexWords(x.Context(), 0))
		for _, query := range []string{"envelope", "Where is the staging password's envelope?", "rotated", "rotating staging passwords", "blue envelopes of Frankfurt", "where did they put the password of the staging server in Frankfurt, in an envelope?"} {
			x.finds("ann", query, fact)
		}
		x.finds("ann", "red envelope of bob", fact) // the most of the words
		x.finds("ann", "zebra")
		x.finds("ann", "* ?? !")
		if got := x.recalls("bob", "envelope"); len(got) != 1 || !strings.Contains(got[0], "red") {
			x.Errorf("bob finds %q", got)
		}
	})
}

func TestWhatBelongsToAPast(t *testing.T) {
	onEngines(t, func(x *archive) {
		ctx := context.WithoutCancel(x.Context())
		room := func(name fika.ConversationName, in ...fika.AgentName) fika.ConversationID {
			conv, err := x.store.CreateChat(ctx, name)
			x.ok(err)
			_, err = x.store.Post(ctx, store.Post{Conversation: conv.ID, From: "user", Writer: fika.ByHuman, Content: "said in " + string(name) + ": heron", Notify: in})
			x.ok(err)
			return conv.ID
		}
		room("with-ann", "ann", "bob")
		room("without", "bob")
		x.finds("ann", "heron", "said in with-ann: heron")

		old := x.ask("ann")
		x.say(old, "before the reset: walrus")
		_, err := x.store.ResetAsk(ctx, x.agent["ann"].ID)
		x.ok(err)
		x.finds("ann", "walrus", "before the reset: walrus")

		// What was summed up is found; what was cleared is not, until that is taken back.
		now := x.ask("ann")
		upto := x.say(now, "first: otter")
		_, err = x.store.AppendCompaction(ctx, now, "ann", "full", fika.EntryMeta{UpTo: upto, Summary: "an otter"})
		x.ok(err)
		x.finds("ann", "otter", "first: otter")
		upto = x.say(now, "second: otter")
		_, err = x.store.AppendCompaction(ctx, now, "ann", "cleared", fika.EntryMeta{UpTo: upto})
		x.ok(err)
		x.finds("ann", "otter")
		upto = x.say(now, "third: otter")
		x.finds("ann", "otter", "third: otter")
		_, err = x.store.AppendCompaction(ctx, now, "ann", "full", fika.EntryMeta{UpTo: upto, Summary: "an otter"})
		x.ok(err)
		x.finds("ann", "otter", "third: otter")
	})
}

func TestAClearIsTakenBack(t *testing.T) {
	onEngines(t, func(x *archive) {
		now := x.ask("ann")
		upto := x.say(now, "once: otter")
		cut, err := x.store.AppendCompaction(x.Context(), now, "ann", "cleared", fika.EntryMeta{UpTo: upto})
		x.ok(err)
		x.finds("ann", "otter")
		_, err = x.store.AppendCompaction(x.Context(), now, "ann", "taken back", fika.EntryMeta{Undo: cut.Seq})
		x.ok(err)
		x.finds("ann", "otter", "once: otter")
	})
}

// What a person has rewound is no past of an agent, until it is put back.
func TestARewindIsTakenBack(t *testing.T) {
	onEngines(t, func(x *archive) {
		room, err := x.store.CreateChat(x.Context(), "room")
		x.ok(err)
		for _, text := range []string{"kept: otter", "gone: otter"} {
			_, err = x.store.Post(x.Context(), store.Post{Conversation: room.ID, From: "user", Writer: fika.ByHuman, Content: text, Notify: []fika.AgentName{"ann"}})
			x.ok(err)
		}
		_, err = x.store.Rewind(x.Context(), room.ID, 2, false, "user", "")
		x.ok(err)
		x.finds("ann", "otter", "kept: otter")
		_, err = x.store.Rewind(x.Context(), room.ID, 0, true, "user", "")
		x.ok(err)
		x.finds("ann", "gone otter", "gone: otter")
	})
}

// What is older than thousands of cleared entries is found still.
func TestClearedEntriesHideNothing(t *testing.T) {
	onEngines(t, func(x *archive) {
		x.say(x.ask("ann"), "kept: otter")
		_, err := x.store.ResetAsk(x.Context(), x.agent["ann"].ID)
		x.ok(err)
		var noise []string
		for i := range 300 {
			noise = append(noise, fmt.Sprint("otter ", i))
		}
		now := x.ask("ann")
		upto := x.say(now, noise...)
		_, err = x.store.AppendCompaction(x.Context(), now, "ann", "cleared", fika.EntryMeta{UpTo: upto})
		x.ok(err)
		x.finds("ann", "otter", "kept: otter")
	})
}
