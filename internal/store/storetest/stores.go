package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// Stores is how many stores work on one database in [Race].
const Stores = 8

// Race makes eight stores, as eight processes would have them, do the same to one
// database at once, round after round. Nothing may be lost or done twice, and a
// caller that did nothing wrong may not get an error.
func Race(t *testing.T, open func() *store.Store, rounds int) {
	r := &race{T: t, ctx: t.Context()}
	for range Stores {
		r.stores = append(r.stores, open())
	}
	for n := range rounds {
		r.round = n
		for _, test := range []func(){
			r.sameIDs, r.firstMessages, r.retries, r.leases, r.windows, r.limits, r.delegations, r.schedules, r.handOvers, r.pools, r.board, r.texts,
		} {
			test()
			if t.Failed() {
				t.Fatalf("in round %d", n)
			}
		}
	}
}

type race struct {
	*testing.T
	ctx    context.Context
	stores []*store.Store
	round  int
}

// all runs fn for every store at once.
func (r *race) all(fn func(i int, s *store.Store) error) {
	r.Helper()
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i, s := range r.stores {
		wg.Go(func() {
			<-begin
			if err := fn(i, s); err != nil {
				r.Errorf("store %d: %v", i, err)
			}
		})
	}
	close(begin)
	wg.Wait()
}

func (r *race) name(what string, n int) string { return fmt.Sprintf("%s-%d-%d", what, r.round, n) }

func (r *race) agent(name string) fika.Agent {
	r.Helper()
	a, err := r.stores[0].EnsureAgent(r.ctx, store.NewAgent{Name: fika.AgentName(name)})
	if err != nil {
		r.Fatal(err)
	}
	return a
}

func (r *race) lease(a fika.Agent) store.Lease {
	r.Helper()
	l, err := r.stores[0].Acquire(r.ctx, a.ID, "race", time.Hour, true)
	if err != nil {
		r.Fatal(err)
	}
	return l
}

func (r *race) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *race) count(what string, got, want int) {
	r.Helper()
	if got != want {
		r.Errorf("%s: %d, want %d", what, got, want)
	}
}

// sameIDs accepts the same requests and posts the same messages in every store.
func (r *race) sameIDs() {
	const many = 6
	a := r.agent(r.name("same", 0))
	room, err := r.stores[0].CreateChat(r.ctx, fika.ConversationName(r.name("same", 1)))
	r.check(err)
	var mu sync.Mutex
	fresh := map[string]int{}
	r.all(func(_ int, s *store.Store) error {
		for n := range many {
			id := r.name("id", n)
			got, err := s.Accept(r.ctx, store.NewRequest{
				ID: fika.RequestID(id), Kind: fika.AskRequest, Agent: a.ID, Conversation: fika.ConversationName(r.name("talk", n)),
				Payload: fika.Payload{Prompt: id, History: []fika.HistoryEntry{{Role: "user", Content: "before"}}},
			})
			if err != nil {
				return err
			}
			said, err := s.Post(r.ctx, store.Post{Conversation: room.ID, ID: fika.EntryID(id), From: "ann", Writer: fika.ByHuman, Content: id, Notify: []fika.AgentName{a.Name}})
			if err != nil {
				return err
			}
			mu.Lock()
			if !got.Repeat {
				fresh[id]++
			}
			if !said.Repeat {
				fresh["said "+id]++
			}
			mu.Unlock()
		}
		return nil
	})
	for n := range many {
		r.count("fresh "+r.name("id", n), fresh[r.name("id", n)], 1)
		r.count("said "+r.name("id", n), fresh["said "+r.name("id", n)], 1)
		c, err := r.stores[0].Conversation(r.ctx, fika.ConversationName(r.name("talk", n)))
		r.check(err)
		r.count("history", int(c.LastSeq), 1)
	}
	entries, err := r.stores[0].Entries(r.ctx, store.EntryQuery{Conversation: room.ID})
	r.check(err)
	r.count("messages", len(entries), many)
	r.check(whole(entries))
}

// firstMessages sends messages to agents that have no conversation yet.
func (r *race) firstMessages() {
	const many = 3
	for n := range many {
		r.agent(r.name("first", n))
	}
	r.all(func(i int, s *store.Store) error {
		for n := range many {
			a, err := s.EnsureAgent(r.ctx, store.NewAgent{Name: fika.AgentName(r.name("first", n))})
			if err == nil && i%2 == 0 {
				_, err = s.Deliver(r.ctx, store.Send{To: a.ID, From: "ann", Writer: fika.ByHuman, Content: fmt.Sprint(i)})
			} else if err == nil {
				_, err = s.Accept(r.ctx, store.NewRequest{Kind: fika.AskRequest, Agent: a.ID, Payload: fika.Payload{Prompt: fmt.Sprint(i)}})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for n := range many {
		a, err := r.stores[0].Agent(r.ctx, fika.AgentName(r.name("first", n)))
		r.check(err)
		asks, err := r.stores[0].AskConversations(r.ctx, a.ID)
		r.check(err)
		r.count("ask conversations", len(asks), 1)
	}
}

// retries retries the same failed requests in every store.
func (r *race) retries() {
	const many = 4
	a := r.agent(r.name("retry", 0))
	l := r.lease(a)
	var failed []fika.RequestID
	for range many {
		_, err := r.stores[0].Accept(r.ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: a.ID, Payload: fika.Payload{Prompt: "x"}})
		r.check(err)
		c, err := r.stores[0].Claim(r.ctx, l, store.Limits{}, nil)
		r.check(err)
		_, err = r.stores[0].Finish(r.ctx, c.Fence, store.Finish{State: fika.RequestFailed, Reason: "test"})
		r.check(err)
		failed = append(failed, c.Request.ID)
	}
	var mu sync.Mutex
	copies := map[fika.RequestID]int{}
	r.all(func(_ int, s *store.Store) error {
		for _, id := range failed {
			switch _, err := s.Retry(r.ctx, id); {
			case err == nil:
				mu.Lock()
				copies[id]++
				mu.Unlock()
			case !fika.IsKind(err, fika.Conflict):
				return err
			}
		}
		return nil
	})
	for _, id := range failed {
		r.count("copies of a retried request", copies[id], 1)
	}
	for range many {
		c, err := r.stores[0].Claim(r.ctx, l, store.Limits{}, nil)
		r.check(err)
		if c == nil {
			r.Fatal("a retried request cannot be claimed")
		}
		_, err = r.stores[0].Finish(r.ctx, c.Fence, store.Finish{State: fika.Done})
		r.check(err)
	}
	if c, err := r.stores[0].Claim(r.ctx, l, store.Limits{}, nil); err != nil || c != nil {
		r.Errorf("more was retried than failed: %v %v", c, err)
	}
}

// leases makes the stores take an agent over from each other: no epoch is given
// twice.
func (r *race) leases() {
	a := r.agent(r.name("lease", 0))
	var mu sync.Mutex
	epochs := map[fika.Epoch]int{}
	r.all(func(i int, s *store.Store) error {
		for range 3 {
			l, err := s.Acquire(r.ctx, a.ID, fmt.Sprint("p", i), time.Hour, true)
			if err != nil {
				return err
			}
			mu.Lock()
			epochs[l.Epoch]++
			mu.Unlock()
			if err := s.Renew(r.ctx, l, time.Hour, store.Beat{}); err != nil && !fika.IsKind(err, fika.Lost) {
				return err
			}
		}
		return nil
	})
	r.count("epochs", len(epochs), 3*len(r.stores))
}

// windows makes half of the stores post to agents that the other half works: each
// message is covered once, by a turn that sees it.
func (r *race) windows() {
	const posts = 6
	var agents []fika.Agent
	var leases []store.Lease
	var names []fika.AgentName
	for n := range Stores / 2 {
		a := r.agent(r.name("window", n))
		agents, leases, names = append(agents, a), append(leases, r.lease(a)), append(names, a.Name)
	}
	room, err := r.stores[0].CreateChat(r.ctx, fika.ConversationName(r.name("window", 9)))
	r.check(err)
	var claims sync.Map
	var posting sync.WaitGroup
	posting.Add(Stores / 2)
	posted := make(chan struct{})
	go func() { posting.Wait(); close(posted) }()
	r.all(func(i int, s *store.Store) error {
		if i < Stores/2 {
			defer posting.Done()
			for n := range posts {
				if _, err := s.Post(r.ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: fmt.Sprint(i, n), Notify: names}); err != nil {
					return err
				}
			}
			return nil
		}
		return work(r.ctx, s, leases[i-Stores/2], store.Limits{}, posted, func(c store.Claimed) { claims.Store(c.Request.ID, c) })
	})
	notes, err := r.stores[0].Notifications(r.ctx, store.NotificationFilter{Conversation: room.ID})
	r.check(err)
	r.count("notifications", len(notes), posts*Stores/2*len(agents))
	covered := map[fika.RequestID]int{}
	for _, n := range notes {
		c, ok := claims.Load(n.Request)
		switch {
		case n.State != fika.NotificationDone || !ok:
			r.Errorf("notification %d of %s is %s", n.Seq, n.AgentName, n.State)
		case n.Seq > c.(store.Claimed).Request.UptoSeq:
			r.Errorf("message %d was claimed by a turn that ends at %d", n.Seq, c.(store.Claimed).Request.UptoSeq)
		}
		covered[n.Request]++
	}
	claims.Range(func(id, c any) bool {
		r.count("covered by a turn", c.(store.Claimed).Covers, covered[id.(fika.RequestID)])
		return true
	})
	entries, err := r.stores[0].Entries(r.ctx, store.EntryQuery{Conversation: room.ID})
	r.check(err)
	r.check(whole(entries))
}

// work claims and answers until posted is closed and nothing is left.
func work(ctx context.Context, s *store.Store, l store.Lease, limits store.Limits, posted <-chan struct{}, took func(store.Claimed)) error {
	for {
		over := false
		select {
		case <-posted:
			over = true
		default:
		}
		c, err := s.Claim(ctx, l, limits, nil)
		if err != nil {
			return err
		}
		if c == nil {
			if over {
				return nil
			}
			continue
		}
		took(*c)
		if _, err := s.Finish(ctx, c.Fence, store.Finish{
			State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "ok", Usage: fika.Usage{Input: 10, Output: 1}, Model: "m"}, Limits: limits,
		}); err != nil {
			return err
		}
	}
}

// limits makes chains reach their limit in many places at once: everybody gets one
// notice, and no two transactions wait for each other for ever.
func (r *race) limits() {
	limits := store.Limits{MaxTurns: 5}
	home, err := r.stores[0].CreateChat(r.ctx, fika.ConversationName(r.name("limit", 90)))
	r.check(err)
	away, err := r.stores[0].CreateChat(r.ctx, fika.ConversationName(r.name("limit", 91)))
	r.check(err)
	var names []fika.AgentName
	var leases []store.Lease
	for n := range r.stores {
		a := r.agent(r.name("limit", n))
		names, leases = append(names, a.Name), append(leases, r.lease(a))
	}
	first, err := r.stores[0].Post(r.ctx, store.Post{Conversation: home.ID, From: "ann", Writer: fika.ByHuman, Content: "all", Notify: names})
	r.check(err)
	_, err = r.stores[0].Post(r.ctx, store.Post{Conversation: away.ID, From: "ann", Writer: fika.ByHuman, Content: "all", Notify: names, Chain: first.Entry.Chain, Depth: 1})
	r.check(err)
	done := make(chan struct{})
	close(done)
	r.all(func(i int, s *store.Store) error {
		return work(r.ctx, s, leases[i], limits, done, func(store.Claimed) {})
	})
	chain, err := r.stores[0].Chain(r.ctx, first.Entry.Chain)
	r.check(err)
	r.count("turns of the chain", chain.Turns, limits.MaxTurns)
	r.count("tokens of the chain", int(chain.Tokens), 11*limits.MaxTurns)
	dropped, done2 := 0, 0
	for _, c := range []fika.ConversationID{home.ID, away.ID} {
		notes, err := r.stores[0].Notifications(r.ctx, store.NotificationFilter{Conversation: c})
		r.check(err)
		for _, n := range notes {
			switch n.State {
			case fika.NotificationDropped:
				dropped++
			case fika.NotificationDone:
				done2++
			}
		}
		entries, err := r.stores[0].Entries(r.ctx, store.EntryQuery{Conversation: c})
		r.check(err)
		r.check(whole(entries))
		said := slices.DeleteFunc(entries, func(e fika.Entry) bool { return e.Type != fika.Notice })
		if len(said) > 2 {
			r.Errorf("%d notices of one limit", len(said))
		}
	}
	r.count("covered", done2, limits.MaxTurns)
	r.count("dropped", dropped, 2*len(names)-limits.MaxTurns)
}

// delegations makes agents delegate tasks to each other while a chat is paused and
// resumed, and cancels some.
func (r *race) delegations() {
	var agents []fika.Agent
	var leases []store.Lease
	for n := range r.stores {
		a := r.agent(r.name("peer", n))
		agents, leases = append(agents, a), append(leases, r.lease(a))
		_, err := r.stores[0].Accept(r.ctx, store.NewRequest{
			ID: fika.RequestID(r.name("parent", n)), Kind: fika.TaskRequest, Agent: a.ID, Payload: fika.Payload{Prompt: "go"},
		})
		r.check(err)
	}
	r.all(func(i int, s *store.Store) error {
		for turns := 0; turns < 4; {
			c, err := s.Claim(r.ctx, leases[i], store.Limits{}, nil)
			if err != nil {
				return err
			}
			if c == nil {
				if turns > 0 {
					return nil
				}
				continue
			}
			turns++
			if err := r.turn(s, *c, agents[(i+1)%len(agents)]); err != nil && !fika.IsKind(err, fika.Lost) {
				return err
			}
			if i%4 == 3 {
				if _, err := s.Cancel(r.ctx, fika.RequestID(r.name("parent", i)), "enough"); err != nil {
					return err
				}
			}
		}
		return nil
	})
	// Work whatever is left, one request after the other, to its end.
	for range 10 * len(leases) {
		for i, l := range leases {
			c, err := r.stores[i].Claim(r.ctx, l, store.Limits{}, nil)
			r.check(err)
			if c != nil {
				r.check(r.turn(r.stores[i], *c, agents[(i+1)%len(agents)]))
			}
		}
	}
	open, err := r.stores[0].ListRequests(r.ctx, store.RequestFilter{States: fika.UnfinishedStates()})
	r.check(err)
	for _, q := range open {
		if q.Parent != "" || slices.ContainsFunc(agents, func(a fika.Agent) bool { return a.ID == q.Agent }) {
			r.Errorf("%s %s of %s is still %s", q.Kind, q.ID, q.AgentName, q.State)
		}
	}
}

// turn delegates once, and answers when the delegated task has come back.
func (r *race) turn(s *store.Store, c store.Claimed, to fika.Agent) error {
	if c.Request.Parent == "" && c.Waited == "" {
		p, err := s.CommitModel(r.ctx, c.Fence, store.ModelCommit{Round: 1, Text: "ask", Calls: []store.PlannedCall{{CallID: "1", Tool: "delegate", Args: "{}"}}})
		if err != nil {
			return err
		}
		d, err := s.Delegate(r.ctx, c.Fence, []store.Delegation{{N: p.Steps[0].N, Agent: to.ID, Prompt: "do", Deadline: time.Hour}})
		if err != nil || len(d.Children) > 0 {
			return err
		}
	}
	if c.Waited != "" {
		w, err := s.Await(r.ctx, c.Fence)
		if err != nil || w.Waiting {
			return err
		}
		for _, k := range w.Children {
			if _, err := s.CommitTool(r.ctx, c.Fence, k.N, store.ToolCommit{Text: "done"}); err != nil {
				return err
			}
		}
	}
	_, err := s.Finish(r.ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 2, Text: "ok"}})
	return err
}

// texts changes the shared texts of an agent in every store, while each reads on from what it
// knows: of two changes of the same version one is refused, and nobody misses the last ones.
func (r *race) texts() {
	const each = 3
	a := r.agent(r.name("text", 0))
	kinds := []string{"todos", "goals"}
	known := make([]map[string]store.SharedText, Stores)
	var mu sync.Mutex
	written := 0
	r.all(func(i int, s *store.Store) error {
		known[i] = map[string]store.SharedText{}
		var read int64
		for done := 0; done < each; {
			fresh, err := s.TextsSince(r.ctx, read)
			if err != nil {
				return err
			}
			for _, x := range fresh {
				known[i][string(x.Agent)+x.Kind], read = x, x.Version
			}
			kind := kinds[(i+done)%len(kinds)]
			_, err = s.ShareText(r.ctx, store.SharedText{Agent: a.ID, Kind: kind, Body: r.name(kind, i), Host: "h"}, known[i][string(a.ID)+kind].Version)
			switch {
			case fika.IsKind(err, fika.Conflict):
				continue
			case err != nil:
				return err
			}
			mu.Lock()
			written++
			mu.Unlock()
			done++
		}
		fresh, err := s.TextsSince(r.ctx, read)
		for _, x := range fresh {
			known[i][string(x.Agent)+x.Kind] = x
		}
		return err
	})
	r.count("texts written", written, Stores*each)
	all, err := r.stores[0].TextsSince(r.ctx, 0)
	r.check(err)
	for i, s := range r.stores {
		var newest int64
		for _, x := range known[i] {
			newest = max(newest, x.Version)
		}
		fresh, err := s.TextsSince(r.ctx, newest)
		r.check(err)
		for _, x := range fresh {
			known[i][string(x.Agent)+x.Kind] = x
		}
		for _, x := range all {
			if x.Agent == a.ID && known[i][string(x.Agent)+x.Kind] != x {
				r.Errorf("store %d knows %+v of %s, which is %+v", i, known[i][string(x.Agent)+x.Kind], x.Kind, x)
			}
		}
	}
}
