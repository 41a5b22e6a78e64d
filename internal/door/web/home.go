package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"fika/internal/api"
	"fika/internal/report/inbox"
)

// homeTime is the least time between two updates of the first page.
const homeTime = 500 * time.Millisecond

// worker is an agent with what it works on.
type worker struct {
	api.AgentInfo
	Work  []api.RequestInfo
	Spent api.Spent // today
}

// atWork is who works, and on what machines.
type atWork struct {
	Hosts   []api.HostInfo // none if there are not several
	Workers []worker
}

// home shows what needs the person, and what everybody does.
func home(ctx context.Context, to api.Service, _ *http.Request, _ int64) (view, error) {
	st, _, err := to.Look(ctx, api.Scope{})
	if err != nil {
		return view{}, err
	}
	n, err := inbox.Of(ctx, to, st, time.Now())
	if err != nil {
		return view{}, err
	}
	spent, err := to.Spending(ctx, today(time.Now()), "agent")
	if err != nil {
		return view{}, err
	}
	workers := workersOf(st, spent)
	return view{Title: "Home", Nav: "home", Class: "home", Live: "/live/", every: homeTime, Parts: []part{
		{"needs", "needs", n},
		{"work", "work", atWork{st.Hosts, workers}},
		{"spent", "spent", spent},
		{"chats", "chats", lately(st.Conversations)},
	}}, nil
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
