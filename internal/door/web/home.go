package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"fika/internal/api"
)

const (
	// failedFor is how long failed work stands among what needs a person.
	failedFor = 24 * time.Hour
	// failedMost bounds how much of it is shown.
	failedMost = 20
	// needsMost bounds how much of each other kind is shown.
	needsMost = 20
	// homeTime is the least time between two updates of the first page.
	homeTime = 500 * time.Millisecond
)

// needs is what a person has to do something about.
type needs struct {
	Approvals []api.ApprovalInfo
	Failed    []api.RequestInfo
	Limited   []api.ConversationInfo
	Troubled  []api.AgentInfo
	Mentions  []api.FoundInfo // of the person, that nothing has followed
	Held      []api.TaskInfo
	MoreHeld  bool
	Offers    []api.OfferInfo // that go on only when a person says so
	Landing   api.Landing
	Paused    bool // everything is
}

// Count returns how many things those are.
func (n needs) Count() int {
	count := len(n.Approvals) + len(n.Mentions) + len(n.Failed) + len(n.Held) + len(n.Offers) + len(n.Limited) + len(n.Troubled)
	if n.Landing.Commits > 0 {
		count++
	}
	return count
}

// worker is an agent with what it works on.
type worker struct {
	api.AgentInfo
	Work  []api.RequestInfo
	Spent api.Spent // today
}

// home shows what needs the person, and what everybody does.
func home(ctx context.Context, to api.Service, _ *http.Request, _ int64) (view, error) {
	st, _, err := to.Look(ctx, api.Scope{})
	if err != nil {
		return view{}, err
	}
	n := needs{Approvals: st.Approvals, Paused: st.Paused}
	if n.Failed, err = failed(ctx, to); err != nil {
		return view{}, err
	}
	if err := n.ofWork(ctx, to); err != nil {
		return view{}, err
	}
	for _, a := range st.Agents {
		if a.Trouble.NeedsPerson {
			n.Troubled = append(n.Troubled, a)
		}
	}
	for _, c := range st.Conversations {
		if c.Limit != "" {
			n.Limited = append(n.Limited, c)
		}
	}
	spent, err := to.Spending(ctx, today(time.Now()), "agent")
	if err != nil {
		return view{}, err
	}
	workers := workersOf(st, spent)
	return view{Title: "Home", Nav: "home", Class: "home", Live: "/live/", every: homeTime, Parts: []part{
		{"needs", "needs", n},
		{"work", "work", workers},
		{"spent", "spent", spent},
		{"chats", "chats", lately(st.Conversations)},
	}}, nil
}

// ofWork adds what the board, the landing and what agents have said need.
func (n *needs) ofWork(ctx context.Context, to api.Service) (err error) {
	if n.Mentions, err = to.Mentions(ctx, time.Now().Add(-failedFor)); err != nil {
		return err
	}
	held, err := to.Tasks(ctx, "held", api.Page{Limit: needsMost})
	if err != nil {
		return err
	}
	n.Held, n.MoreHeld = held.Items, held.Next != ""
	offers, err := to.Offers(ctx, api.Page{Limit: api.DefaultPage})
	if err != nil || len(offers.Items) == 0 {
		return err
	}
	for _, o := range offers.Items {
		lately := time.Since(o.Updated) < failedFor || o.State == "asks" || o.State == "held"
		if needsPerson(o) && lately && len(n.Offers) < needsMost {
			n.Offers = append(n.Offers, o)
		}
	}
	if n.Landing, err = to.Landing(ctx); api.CodeOf(err) == api.Invalid { // nothing lands here any more
		return nil
	}
	return err
}

// lately returns the chats with the latest activity.
func lately(list []api.ConversationInfo) []api.ConversationInfo {
	list = slices.DeleteFunc(slices.Clone(list), func(c api.ConversationInfo) bool { return c.Kind != "chat" })
	return list[:min(len(list), 12)]
}

// today returns when the day of this machine's clock began.
func today(now time.Time) time.Time {
	y, m, d := now.Local().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}

// failed returns the work that has failed lately and that nothing has followed: whoever
// asked again in its conversation has seen to it.
func failed(ctx context.Context, to api.Service) (out []api.RequestInfo, err error) {
	list, err := to.Requests(ctx, api.Scope{}, api.Page{Limit: 200})
	followed := map[[2]string]bool{}
	if err != nil {
		return nil, err
	}
	known, err := to.Runs(ctx, api.Page{Limit: 200})
	runs := map[string]bool{} // their steps are seen to with them
	for _, r := range known.Items {
		runs[r.ID] = true
	}
	for _, r := range list.Items { // newest first
		in := [2]string{r.Agent, r.Conversation}
		// Of a task the board tells: others try it again, or it is held.
		bad := r.Task == 0 && slices.Contains([]string{"failed", "interrupted", "dead"}, r.State)
		if bad && !followed[in] && !runs[r.Parent] && time.Since(r.Ended) < failedFor && len(out) < failedMost {
			out = append(out, r)
		}
		followed[in] = true
	}
	return out, err
}

// isRun reports whether a request is a run of a workflow, which has a page of its own.
func isRun(r api.RequestInfo) bool { return r.Kind == "workflow" }

// workersOf returns the agents, those at work first.
func workersOf(st api.State, spent api.Spending) []worker {
	out := make([]worker, len(st.Agents))
	for i, a := range st.Agents {
		out[i].AgentInfo = a
		for _, r := range st.Requests {
			if r.Agent == a.Name && r.State != "open" {
				out[i].Work = append(out[i].Work, r)
			}
		}
		for _, s := range spent.Lines {
			if s.Agent == a.Name {
				out[i].Spent = s
			}
		}
	}
	slices.SortStableFunc(out, func(a, b worker) int {
		return cmp.Or(cmp.Compare(min(1, len(b.Work)), min(1, len(a.Work))), cmp.Compare(a.Name, b.Name))
	})
	return out
}
