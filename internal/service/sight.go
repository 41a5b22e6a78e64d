package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/chat/reading"
	"fika/internal/rights/authority"
	"fika/internal/store"
)

// sight is what a principal may see. Every list, search, count and sum of the service
// reads rows through it, and everything else that shows one thing asks it first: no
// other file of this package calls what reads many rows. A person and the system see
// everything; an agent what package reading allows; a program what it has asked for;
// nobody nothing. It caches what it has found out, and is for one operation.
type sight struct {
	c       *Service
	archive reading.Archive
	known   map[fika.ConversationID]bool
}

func (c *Service) sight() *sight {
	return &sight{c, c.app.Archive(c.store), map[fika.ConversationID]bool{}}
}

// full reports whether the principal sees everything.
func (v *sight) full() bool { return authority.SeesAll(v.c.who) }

// reader returns the agent that reads; "" for other principals.
func (v *sight) reader() reading.Reader { return app.ReaderOf(v.c.who) }

// agent reports whether the ongoing conversation of an agent may be seen.
func (v *sight) agent(ctx context.Context, name fika.AgentName) (bool, error) {
	if v.full() || v.c.who.Kind != api.Agent {
		return v.full(), nil
	}
	err := v.archive.CheckReader(ctx, v.reader(), name)
	if fika.IsKind(err, fika.Denied) {
		return false, nil
	}
	return err == nil, err
}

// conversation reports whether a conversation may be seen. A program sees those in
// which nothing was asked but by itself.
func (v *sight) conversation(ctx context.Context, id fika.ConversationID) (may bool, err error) {
	if v.full() || v.c.who.Kind == api.Nobody {
		return v.full(), nil
	}
	if may, known := v.known[id]; known {
		return may, nil
	}
	if v.c.who.Kind == api.Program {
		list, listErr := v.c.store.ListRequests(ctx, store.RequestFilter{Conversation: id})
		may, err = len(list) > 0, listErr
		for _, q := range list {
			may = may && v.asked(q)
		}
	} else {
		may, err = v.archive.MayConversation(ctx, v.reader(), id)
		if fika.IsKind(err, fika.NotFound) { // deleted meanwhile
			may, err = false, nil
		}
	}
	if err == nil {
		v.known[id] = may
	}
	return may, err
}

// board reports whether the tasks of the board may be seen: by agents that may use it.
func (v *sight) board(ctx context.Context) (bool, error) {
	if v.full() || v.c.who.Kind != api.Agent {
		return v.full(), nil
	}
	return v.c.app.MayUseBoard(ctx, v.reader())
}

// tasks lists tasks with read, as far as they may be seen.
func tasks[T any](ctx context.Context, v *sight, read func(context.Context, TaskFilter) (T, error), f TaskFilter) (none T, err error) {
	if v.c.who.Kind == api.Nobody {
		return none, errNobody()
	}
	if may, err := v.board(ctx); err != nil || !may {
		return none, err
	}
	return read(ctx, f)
}

// offers returns the offers that match, newest first: whoever does not see everything sees
// none.
func (v *sight) offers(ctx context.Context, f OfferFilter) ([]fika.Offer, error) {
	if v.c.who.Kind == api.Nobody {
		return nil, errNobody()
	}
	if !v.full() {
		return nil, nil
	}
	return v.c.store.ListOffers(ctx, f)
}

// asked reports whether the principal itself has made a request.
func (v *sight) asked(q RequestInfo) bool {
	switch who := v.c.who; who.Kind {
	case api.Agent:
		return q.Payload.Writer == fika.ByAgent && q.Payload.From == who.Name
	case api.Program:
		return q.Payload.Writer == fika.ByHuman && q.Payload.Sender == who.Name
	}
	return false
}

// request reports whether a request may be seen. Who asked for it and the agent that it
// belongs to may always see it. A run may be seen by those who may see everything that
// was done in it.
func (v *sight) request(ctx context.Context, q RequestInfo) (bool, error) {
	switch {
	case v.full(), v.asked(q), v.c.who.Kind == api.Agent && v.reader() == q.AgentName:
		return true, nil
	case OfRun(q):
		return v.run(ctx, q.ID)
	}
	return v.conversation(ctx, q.Conversation)
}

// run reports whether all of a run may be seen.
func (v *sight) run(ctx context.Context, id fika.RequestID) (bool, error) {
	if v.full() {
		return true, nil
	}
	run, err := v.c.store.Run(ctx, id)
	if err != nil {
		return false, err
	}
	may, known := v.known[run.Conversation]
	if known {
		return may, nil
	}
	list, err := v.c.store.OfRun(ctx, run.ID)
	if err != nil {
		return false, err
	}
	seen, err := v.only(ctx, list)
	may = err == nil && len(seen) == len(list) && len(list) > 0
	v.known[run.Conversation] = may
	return may, err
}

// check refuses (Denied) what authority refuses: a verb to an object that is rel to the
// principal. what names the object in the error.
func (v *sight) check(verb string, rel authority.Relation, what string) error {
	declared, ok := api.Find(verb)
	if !ok {
		return fika.Errorf(fika.Failed, "", "%s is not a verb", verb)
	}
	switch authority.Check(v.c.who, declared, rel) {
	case authority.None:
		return nil
	case authority.NotSeen:
		return fika.Errorf(fika.Denied, "", "%s is not readable by %s (readable_by; of a chat, only those who take part read it)", what, v.c.who.Name)
	case authority.Unknown:
		return errNobody()
	}
	return fika.Errorf(fika.Denied, "", "%s may not %s", v.c.who.Name, verb)
}

func errNobody() error { return fika.Errorf(fika.Denied, "", "nobody asks") }

// relation turns whether something may be seen into its relation.
func relation(seen bool) authority.Relation {
	if seen {
		return authority.Seen
	}
	return authority.Foreign
}

// mayConversation refuses a verb about a conversation that may not be seen.
func (c *Service) mayConversation(ctx context.Context, verb string, id fika.ConversationID) error {
	v := c.sight()
	seen, err := v.conversation(ctx, id)
	if err != nil {
		return err
	}
	return v.check(verb, relation(seen), "this conversation")
}

// mayRequest refuses a verb about a request that may not be seen.
func (c *Service) mayRequest(ctx context.Context, verb string, q RequestInfo) error {
	v := c.sight()
	seen, err := v.request(ctx, q)
	if err != nil {
		return err
	}
	return v.check(verb, relation(seen), "request "+string(q.ID))
}

// mayRun refuses a verb about a run that may not be seen as a whole.
func (c *Service) mayRun(ctx context.Context, verb string, id fika.RequestID) error {
	v := c.sight()
	seen, err := v.run(ctx, id)
	if err != nil {
		return err
	}
	return v.check(verb, relation(seen), "run "+string(id))
}

// mayAgent refuses a verb about an agent that may not be seen.
func (c *Service) mayAgent(ctx context.Context, verb string, name fika.AgentName) error {
	v := c.sight()
	seen, err := v.agent(ctx, name)
	if err != nil {
		return err
	}
	rel := relation(seen)
	if v.reader() == name || v.full() {
		rel = authority.Own
	}
	return v.check(verb, rel, string(name))
}

// may refuses a verb about the home, or a change whose object everybody may know.
// A program that does not see everything changes nothing but what it asks for itself.
func (c *Service) may(verb string) error {
	v := c.sight()
	return v.check(verb, relation(v.full() || c.who.Kind != api.Program), verb)
}

// only returns the requests that may be seen.
func (v *sight) only(ctx context.Context, list []RequestInfo) (out []RequestInfo, err error) {
	if v.full() {
		return list, nil
	}
	for _, q := range list {
		may, err := v.request(ctx, q)
		if err != nil {
			return nil, err
		}
		if may {
			out = append(out, q)
		}
	}
	return out, nil
}

// veil removes from a request what may not be seen with it: everything but whose it is
// and how it stands.
func (v *sight) veil(ctx context.Context, q RequestInfo) (RequestInfo, error) {
	may, err := v.request(ctx, q)
	if may || err != nil {
		return q, err
	}
	return RequestInfo{AgentName: q.AgentName, Request: fika.Request{ID: q.ID, Parent: q.Parent, Kind: q.Kind, State: q.State, Agent: q.Agent}}, nil
}

// listAhead is how many times more rows are read when some of them may not be seen, and
// mostAhead how many rows are in memory at most.
const (
	listAhead = 4
	mostAhead = 1000
)

// atMost returns up to want rows (0: all) that read returns and may accepts. read is
// given how many rows to read, how many were read before, and the last of those; it is
// called again while too few may be seen.
func atMost[T any](v *sight, want int, read func(limit, skip int, last T) ([]T, error), may func(T) (bool, error)) (out []T, err error) {
	var last T
	switch {
	case v.full():
		return read(want, 0, last)
	case v.c.who.Kind == api.Nobody:
		return nil, errNobody()
	}
	for limit, skip := min(want*listAhead, mostAhead), 0; ; limit = min(limit*listAhead, mostAhead) {
		rows, err := read(limit, skip, last)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			ok, err := may(row)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, row)
			}
			if want > 0 && len(out) == want {
				return out, nil
			}
		}
		if limit == 0 || len(rows) < limit {
			return out, nil
		}
		skip, last = skip+len(rows), rows[len(rows)-1]
	}
}

// requests returns the requests that match and may be seen, newest first.
func (v *sight) requests(ctx context.Context, f RequestFilter) ([]RequestInfo, error) {
	return atMost(v, f.Limit, func(limit, _ int, last RequestInfo) ([]RequestInfo, error) {
		f.Limit, f.Before = limit, last.ID
		return v.c.store.ListRequests(ctx, f)
	}, func(q RequestInfo) (bool, error) { return v.request(ctx, q) })
}

// requestsIn returns up to want requests of a scope that match and may be seen, newest
// first.
func (v *sight) requestsIn(ctx context.Context, scope api.Scope, f RequestFilter, want int) (out []api.RequestInfo, err error) {
	if v.c.who.Kind == api.Nobody {
		return nil, errNobody()
	}
	for f.Limit = want; ; f.Limit = min(listAhead*f.Limit, api.MaxPage) {
		rows, err := v.c.store.ListRequests(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, q := range rows {
			f.Before = q.ID
			if !inScope(scope, string(q.ConversationName), string(q.AgentName), string(q.ID)) {
				continue
			}
			may, err := v.request(ctx, q)
			if err != nil {
				return nil, err
			}
			if !may {
				continue
			}
			if out = append(out, requestInfo(store.Underway{RequestInfo: q})); len(out) == want {
				return out, nil
			}
		}
		if len(rows) < f.Limit {
			return out, nil
		}
	}
}

// conversations returns the conversations that match and may be seen, newest first.
func (v *sight) conversations(ctx context.Context, f ConversationFilter) ([]ConversationInfo, error) {
	return atMost(v, f.Limit, func(limit, skip int, _ ConversationInfo) ([]ConversationInfo, error) {
		f.Limit, f.Skip = limit, skip
		return v.c.store.ListConversations(ctx, f)
	}, func(c ConversationInfo) (bool, error) { return v.conversation(ctx, c.ID) })
}

// mostFound is how many entries a search returns that sets no limit.
const mostFound = 50

// search returns the entries that match and may be seen, newest first.
func (v *sight) search(ctx context.Context, words string, f ConversationFilter) ([]Found, error) {
	if f.Limit <= 0 {
		f.Limit = mostFound
	}
	return atMost(v, f.Limit, func(limit, _ int, last Found) ([]Found, error) {
		f.Limit, f.Before = limit, last.N
		return v.c.store.Search(ctx, words, f)
	}, func(x Found) (bool, error) { return v.conversation(ctx, x.Conversation) })
}

// runs returns the runs that may be seen, newest first; all, or the unfinished ones.
func (v *sight) runs(ctx context.Context, going bool, limit int) ([]Run, error) {
	return atMost(v, limit, func(limit, skip int, _ Run) ([]Run, error) { return v.c.store.Runs(ctx, going, limit, skip) },
		func(r Run) (bool, error) { return v.run(ctx, r.ID) })
}

// approvals returns the open questions that may be seen: an agent sees its own.
func (v *sight) approvals(ctx context.Context) ([]OpenApproval, error) {
	return atMost(v, 0, func(int, int, OpenApproval) ([]OpenApproval, error) { return v.c.store.OpenApprovals(ctx) },
		func(a OpenApproval) (bool, error) { return v.approval(a), nil })
}

// approval reports whether a question may be seen.
func (v *sight) approval(a OpenApproval) bool {
	return v.full() || v.c.who.Kind == api.Agent && v.reader() == a.Agent
}

// schedules returns the schedules that may be seen: an agent sees those that ask it,
// and those that speak in a chat that it takes part in.
func (v *sight) schedules(ctx context.Context, list []Schedule) (out []Schedule, err error) {
	return atMost(v, 0, func(int, int, Schedule) ([]Schedule, error) { return list, nil }, func(s Schedule) (bool, error) {
		if s.Schedule.Chat == "" || v.c.who.Kind != api.Agent {
			return v.c.who.Kind == api.Agent && s.Schedule.Agent == string(v.reader()), nil
		}
		conv, err := v.c.store.Conversation(ctx, fika.ConversationName(s.Schedule.Chat))
		if fika.IsKind(err, fika.NotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return v.conversation(ctx, conv.ID)
	})
}

// tokens returns the tokens, if the principal sees everything, and none otherwise.
func (v *sight) tokens(ctx context.Context) ([]Token, error) {
	return atMost(v, 0, func(int, int, Token) ([]Token, error) { return v.c.store.ListTokens(ctx) }, func(Token) (bool, error) { return false, nil })
}

// activity returns the work under way that may be seen.
func (v *sight) activity(ctx context.Context, q store.ActivityQuery) (store.Activity, error) {
	if v.c.who.Kind == api.Nobody {
		return store.Activity{}, errNobody()
	}
	a, err := v.c.store.Activity(ctx, q)
	if err != nil || v.full() {
		return a, err
	}
	in := store.Activity{PausedAll: a.PausedAll}
	for _, x := range a.Conversations {
		if may, err := v.conversation(ctx, x.ID); err != nil {
			return in, err
		} else if may {
			in.Conversations = append(in.Conversations, x)
		}
	}
	for _, x := range a.Pauses {
		if may, err := v.conversation(ctx, x.Conversation); err != nil {
			return in, err
		} else if may {
			in.Pauses = append(in.Pauses, x)
		}
	}
	for _, x := range a.Requests {
		if may, err := v.request(ctx, x.RequestInfo); err != nil {
			return in, err
		} else if may {
			in.Requests = append(in.Requests, x)
		}
	}
	for _, x := range a.Notifications {
		if may, err := v.conversation(ctx, x.Conversation); err != nil {
			return in, err
		} else if may {
			in.Notifications = append(in.Notifications, x)
		}
	}
	return in, nil
}

// spending calls show with the usage since a time of the requests that may be seen.
func (v *sight) spending(ctx context.Context, since time.Time, show func(store.Spending)) error {
	if v.full() {
		return v.c.store.SpendingSince(ctx, since, show)
	}
	if v.c.who.Kind == api.Nobody {
		return errNobody()
	}
	var all []store.Spending // the rows are read to the end before others are
	if err := v.c.store.SpendingSince(ctx, since, func(p store.Spending) { all = append(all, p) }); err != nil {
		return err
	}
	known := map[fika.RequestID]bool{}
	for _, p := range all {
		may, asked := known[p.Request]
		if !asked {
			q, err := v.c.store.Request(ctx, p.Request)
			if err == nil {
				may, err = v.request(ctx, q)
			}
			if err != nil && !fika.IsKind(err, fika.NotFound) {
				return err
			}
			known[p.Request] = may
		}
		if may {
			show(p)
		}
	}
	return nil
}

// usage returns the usage since a time of the requests that may be seen, by agent and
// model.
func (v *sight) usage(ctx context.Context, since time.Time) ([]UsageRow, error) {
	if v.full() {
		return v.c.store.UsageSince(ctx, since)
	}
	lines, _, err := v.c.Spending(ctx, since, "")
	var rows []UsageRow
	for _, l := range lines {
		rows = append(rows, UsageRow{Agent: l.Agent, Model: l.Model, Requests: l.Requests, Usage: l.Usage})
	}
	slices.SortFunc(rows, func(a, b UsageRow) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return rows, err
}
