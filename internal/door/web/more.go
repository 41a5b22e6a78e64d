package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"fika/internal/api"
)

// agents shows every agent.
func agents(ctx context.Context, to api.Service, _ *http.Request, _ int64) (view, error) {
	st, _, err := to.Look(ctx, api.Scope{})
	if err != nil {
		return view{}, err
	}
	spent, err := to.Spending(ctx, today(time.Now()), "agent")
	return view{Title: "Agents", Nav: "agents", Live: "/live/agents", Parts: []part{{"work", "work", atWork{st.Hosts, workersOf(st, spent)}}}}, err
}

// agentPage is what the page of one agent shows.
type agentPage struct {
	worker
	Requests []api.RequestInfo
	Next     string
	Budgets  []api.BudgetInfo // of the agent, and of the home
}

// agent shows one agent with its requests.
func agent(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	name := r.PathValue("name")
	scope := api.Scope{Agents: []string{name}}
	st, _, err := to.Look(ctx, scope)
	if err != nil {
		return view{}, err
	}
	spent, err := to.Spending(ctx, today(time.Now()), "agent")
	if err != nil {
		return view{}, err
	}
	list, err := to.Requests(ctx, scope, api.Page{After: r.FormValue("after"), Limit: 50})
	all := workersOf(st, spent)
	i := slices.IndexFunc(all, func(w worker) bool { return w.Name == name })
	if err == nil && i < 0 {
		err = &api.Error{Code: api.NotFound, Detail: "agent \"" + name + "\" not found"}
	}
	if err != nil {
		return view{}, err
	}
	budgets := slices.DeleteFunc(slices.Clone(spent.Budgets), func(b api.BudgetInfo) bool { return b.Scope != "agent:"+name && b.Scope != "home" })
	x := agentPage{all[i], list.Items, list.Next, budgets}
	return view{
		Title: "@" + name, Nav: "agents", Live: "/live/agents/" + pathOf(name) + "?" + r.URL.RawQuery, scope: scope,
		Parts: []part{{"agent", "agent", x}, {"asking", "askagent", name}, {"itswork", "itswork", x}},
	}, nil
}

// askAgent asks an agent something in its ongoing conversation, and returns the request.
func askAgent(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	text := strings.TrimSpace(r.PostFormValue("text"))
	if text == "" {
		return "", &api.Error{Code: api.Invalid, Field: "text", Detail: "There is nothing to ask."}
	}
	asked, err := to.Ask(ctx, api.Ask{Agent: r.PathValue("name"), Prompt: text, Detached: true}, w)
	return asked.Request, err
}

// Runs reports whether there is a process of an agent to stop; otherwise it can be started.
func (p agentPage) Runs() bool {
	return !slices.Contains([]string{"stopped", "stopping", "failed"}, p.State)
}

func startAgent(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	return "@" + r.PathValue("name") + " runs.", to.StartAgent(ctx, r.PathValue("name"), w)
}

// stopAgent stops an agent in the way that a form names. That it takes longer than a page
// waits is no failure.
func stopAgent(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	name := "@" + r.PathValue("name")
	err := to.StopAgent(ctx, r.PathValue("name"), r.PostFormValue("how"), w)
	if api.CodeOf(err) == api.Interrupted && ctx.Err() == nil {
		return name + " stops when its current work allows, and stays stopped.", nil
	}
	return name + " has stopped, and stays stopped.", err
}

// found is what a search has found.
type found struct {
	Words string
	List  []api.FoundInfo
	Next  string
}

// search finds messages.
func search(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	x := found{Words: strings.TrimSpace(r.FormValue("words"))}
	if x.Words != "" {
		list, err := to.Search(ctx, x.Words, api.Page{After: r.FormValue("after"), Limit: 50})
		if err != nil {
			return view{}, err
		}
		x.List, x.Next = list.Items, list.Next
	}
	return view{Title: "Search", Nav: "search", Parts: []part{{"found", "found", x}}}, nil
}

// waterfall is a trace as it is drawn.
type waterfall struct {
	api.Trace
	Rows  []traceRow
	Kinds []kindSum
}

// traceRow is a request, or one of its spans, with its bars in hundredths of the whole.
type traceRow struct {
	Label, Args string
	Head        bool
	Level       int
	Took        time.Duration
	Open        bool
	Spent       api.Spent
	Bars        []traceBar
}

type traceBar struct {
	Kind string
	X, W float64
}

type kindSum struct {
	Kind string
	Took time.Duration
}

// maxRows bounds how many spans a trace shows.
const maxRows = 2000

// trace shows where the time and the money of a piece of work went.
func trace(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	t, err := to.Trace(ctx, r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	x := waterfall{Trace: t}
	whole := max(float64(t.End.Sub(t.Start)), 1)
	at := func(s api.Span) traceBar {
		return traceBar{s.Kind, 100 * float64(s.Start.Sub(t.Start)) / whole, max(.15, 100*float64(s.Took)/whole)}
	}
	for _, q := range t.Requests {
		head := traceRow{Label: "@" + q.Agent + " " + q.Kind + " " + short(q.ID), Head: true, Level: min(q.Level, 6), Took: q.End.Sub(q.Start), Spent: q.Spent}
		if q.State != "done" {
			head.Label += " " + q.State
		}
		var rows []traceRow
		for _, s := range q.Spans {
			head.Bars = append(head.Bars, at(s))
			if s.Kind == "commit" || s.Kind == "wait" && s.Took < time.Millisecond {
				continue
			}
			label := s.Kind
			if s.Name != "" {
				label = cmp.Or(map[string]string{"tool": s.Name}[s.Kind], s.Kind+" "+s.Name)
			}
			rows = append(rows, traceRow{Label: label, Args: s.Args, Level: head.Level + 1, Took: s.Took, Open: s.Open, Spent: s.Spent, Bars: []traceBar{at(s)}})
		}
		if x.Rows = append(append(x.Rows, head), rows...); len(x.Rows) > maxRows {
			x.Rows = x.Rows[:maxRows]
			break
		}
	}
	for _, kind := range []string{"wait", "model", "tool", "compaction", "commit"} {
		if t.Took[kind] > 0 {
			x.Kinds = append(x.Kinds, kindSum{kind, t.Took[kind]})
		}
	}
	return view{Title: "Trace", Nav: "chats", Live: "/live/trace/" + pathOf(r.PathValue("id")), every: time.Second, Parts: []part{{"trace", "trace", x}}}, nil
}
