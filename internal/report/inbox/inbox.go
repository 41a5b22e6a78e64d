// Package inbox collects what needs a person: what goes on only when they do something, and
// what failed or was said to them lately and nothing has followed. It asks what every door
// may ask.
//
// Read first: [Of].
package inbox

import (
	"context"
	"slices"
	"time"

	"fika/internal/api"
)

const (
	// lately is how long failed work, messages and offers that came back stand in the inbox.
	lately = 24 * time.Hour
	// most bounds how much of each kind there is.
	most = 20
	// looked is how many of the newest requests and runs are looked at.
	looked = 200
)

// Needs is what needs a person, each kind in the order in which it is listed elsewhere.
type Needs struct {
	Approvals []api.ApprovalInfo
	Failed    []api.RequestInfo      // newest first
	Limited   []api.ConversationInfo // chats that a limit has stopped
	Troubled  []api.AgentInfo        // but those that only wait for their host
	Hosts     []Host                 // that are down while work waits for them
	Mentions  []api.FoundInfo        // of the person, that nothing has followed
	Held      []api.TaskInfo
	MoreHeld  bool            // than are listed
	Offers    []api.OfferInfo // that [NeedsPerson] reports
	Landing   api.Landing     // what has landed and is not in the person's files
	Paused    bool            // everything is
}

// Host is a host that is down, with what waits for it.
type Host struct {
	api.HostInfo
	Agents []api.AgentInfo // for which something waits
	Offers []api.OfferInfo
}

// Of returns what needs a person now. The state is that of [api.Watcher.Look] without
// bounds.
func Of(ctx context.Context, to api.Service, st api.State, now time.Time) (n Needs, err error) {
	n.Approvals, n.Paused = st.Approvals, st.Paused
	for _, a := range st.Agents {
		if a.Trouble.NeedsPerson && a.Trouble.Code != api.AgentHostDown {
			n.Troubled = append(n.Troubled, a)
		}
	}
	for _, c := range st.Conversations {
		if c.Limit != "" {
			n.Limited = append(n.Limited, c)
		}
	}
	if n.Failed, err = failed(ctx, to, now); err != nil {
		return n, err
	}
	if n.Mentions, err = to.Mentions(ctx, now.Add(-lately)); err != nil {
		return n, err
	}
	held, err := to.Tasks(ctx, "held", api.Page{Limit: most})
	if err != nil {
		return n, err
	}
	n.Held, n.MoreHeld = held.Items, held.Next != ""
	offers, err := to.Offers(ctx, api.Page{Limit: api.DefaultPage})
	n.Hosts = down(st, offers.Items)
	if err != nil || len(offers.Items) == 0 {
		return n, err
	}
	told := map[string]bool{} // what was to be pushed together is told once
	for _, o := range offers.Items {
		if o.Unpushed != "" && told[o.Unpushed] {
			continue
		}
		told[o.Unpushed] = true
		stands := now.Sub(o.Updated) < lately || o.State == "asks" || o.State == "held" || o.Waits != "" || o.Unpushed != ""
		if NeedsPerson(o) && stands && len(n.Offers) < most {
			n.Offers = append(n.Offers, o)
		}
	}
	if n.Landing, err = to.Landing(ctx); api.CodeOf(err) == api.Invalid { // nothing lands here any more
		return n, nil
	}
	return n, err
}

// Count returns how many things those are.
func (n Needs) Count() int {
	count := len(n.Approvals) + len(n.Mentions) + len(n.Failed) + len(n.Held) + len(n.Offers) + len(n.Limited) + len(n.Troubled) + len(n.Hosts)
	if n.Landing.Commits > 0 {
		count++
	}
	return count
}

// NeedsPerson reports whether an offer goes on only when a person does something, or has landed
// and is not pushed. What waits for a host that is down does not.
func NeedsPerson(o api.OfferInfo) bool {
	return slices.Contains([]string{"asks", "held", "back", "refused"}, o.State) || o.State == "waiting" && o.Reason != "" || o.Waits != "" && o.Host == "" || o.Unpushed != ""
}

// down returns the hosts that are down and for which something waits.
func down(st api.State, offers []api.OfferInfo) (out []Host) {
	for _, h := range st.Hosts {
		if h.Up {
			continue
		}
		x := Host{HostInfo: h}
		for _, a := range st.Agents {
			if a.Host == h.Name && a.Waiting > 0 && a.Trouble.Code == api.AgentHostDown {
				x.Agents = append(x.Agents, a)
			}
		}
		for _, o := range offers {
			if o.Host == h.Name && o.Waits != "" {
				x.Offers = append(x.Offers, o)
			}
		}
		if len(x.Agents)+len(x.Offers) > 0 {
			out = append(out, x)
		}
	}
	return out
}

// failed returns the work that has failed lately and that nothing has followed: whoever
// asked again in its conversation has seen to it.
func failed(ctx context.Context, to api.Service, now time.Time) (out []api.RequestInfo, err error) {
	list, err := to.Requests(ctx, api.Scope{}, api.Page{Limit: looked})
	if err != nil {
		return nil, err
	}
	known, err := to.Runs(ctx, api.Page{Limit: looked})
	runs := map[string]bool{} // their steps are seen to with them
	for _, r := range known.Items {
		runs[r.ID] = true
	}
	followed := map[[2]string]bool{}
	for _, r := range list.Items {
		in := [2]string{r.Agent, r.Conversation}
		// Of a task the board tells: others try it again, or it is held.
		bad := r.Task == 0 && slices.Contains([]string{"failed", "interrupted", "dead"}, r.State)
		if bad && !followed[in] && !runs[r.Parent] && now.Sub(r.Ended) < lately && len(out) < most {
			out = append(out, r)
		}
		followed[in] = true
	}
	return out, err
}
