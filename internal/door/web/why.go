package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"fika/internal/api"
)

// whyMost is how many agents a page says it of.
const whyMost = 50

// whyPage says what one message of a chat has led to.
type whyPage struct {
	Item    logItem
	Chosen  string   // the only agent that it is about; empty: all
	Names   []string // that can be chosen
	Answers []whyAgent
	More    int // agents that are left out
}

// whyAgent is what a message has led to for one agent.
type whyAgent struct {
	Name  string
	Lines []api.Status
}

// why shows, for each agent or a chosen one, whether a message of a chat called it, and what
// came of that.
func why(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	name := r.PathValue("name")
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq < 1 {
		return view{}, &api.Error{Code: api.NotFound, Detail: "That is not the number of a message."}
	}
	list, err := to.Entries(ctx, name, api.Page{After: strconv.FormatInt(seq-1, 10), Limit: 1})
	if err == nil && (len(list.Items) == 0 || list.Items[0].Seq != seq) {
		err = &api.Error{Code: api.NotFound, Detail: fmt.Sprintf("There is not a message %d in %s.", seq, name)}
	}
	if err != nil {
		return view{}, err
	}
	agents, err := to.Agents(ctx, api.Page{Limit: api.MaxPage})
	if err != nil {
		return view{}, err
	}
	x := whyPage{Item: itemOf(list.Items[0], name), Chosen: r.FormValue("agent")}
	asked := []string{x.Chosen}
	for _, a := range agents.Items {
		x.Names = append(x.Names, a.Name)
	}
	if x.Chosen == "" {
		asked = x.Names[:min(whyMost, len(x.Names))]
		x.More = len(x.Names) - len(asked)
	}
	for _, a := range asked {
		lines, err := to.Why(ctx, name, seq, a)
		if err != nil {
			return view{}, err
		}
		x.Answers = append(x.Answers, whyAgent{a, lines})
	}
	return view{
		Title: fmt.Sprintf("Why: message %d of %s", seq, name), Nav: "chats", Live: fmt.Sprintf("/live/chats/%s/why/%d?%s", pathOf(name), seq, r.URL.RawQuery),
		scope: api.Scope{Conversations: []string{name}}, every: slowly, Parts: []part{{"why", "why", x}},
	}, nil
}
