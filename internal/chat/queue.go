package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

// Place is the state of a piece of work in the queue.
type Place string

// The places, in the order in which they are shown.
const (
	PlaceRunning Place = "running" // an agent is working it
	PlaceWaiting Place = "waiting" // it goes on by itself
	PlaceHeld    Place = "held"    // something has to change before it goes on
	PlaceDead    Place = "dead"    // it failed but can be retried
	PlaceDropped Place = "dropped" // it will not be worked
)

var places = [...]Place{PlaceRunning, PlaceWaiting, PlaceHeld, PlaceDead, PlaceDropped}

// Item is one piece of work in a chat: a request, or the notifications that wait for
// one agent.
type Item struct {
	Chat    fika.ConversationName
	Agent   fika.AgentName
	Place   Place
	Why     string // a single word, for programs
	Text    string // the same, for people
	Request fika.RequestID
	Seqs    []int64 // of the messages that it concerns, ascending
	Since   time.Time
	Until   time.Time // when it goes on at the latest; zero: unknown
	Stuck   bool      // it waits for a person
}

// IsOver reports whether nothing more comes of the item by itself.
func (i Item) IsOver() bool { return i.Place == PlaceDead || i.Place == PlaceDropped }

// IsRunning reports whether an agent is working the item.
func (i Item) IsRunning() bool { return i.Place == PlaceRunning }

// WaitsForHub reports whether the item waits for a hub that would start the agent.
func (i Item) WaitsForHub() bool { return i.Why == whyNoHub }

// Presence is what is known about an agent's process.
type Presence struct {
	Alive  bool   // the agent has one
	Wakes  bool   // the hub starts one if there is work
	Hub    bool   // a hub runs
	InUse  bool   // a prompt on a terminal uses its context
	Failed string // why the agent has been given up; empty: it has not
	// Rests is the limit that makes the agent begin nothing for a while, as in "20
	// turns an hour", and Until is the end of that; empty: it does not rest.
	Rests string
	Until time.Time
}

// QueueItems lists the work in chats: what runs, what waits and why, what failed or
// was dropped. It calls presence once for each agent for which something waits.
func QueueItems(a store.Activity, agents []fika.Agent, presence func(fika.Agent) Presence, now time.Time) []Item {
	q := &queue{all: a, agents: map[fika.AgentID]fika.Agent{}, chats: map[fika.ConversationID]fika.Conversation{},
		ask: presence, known: map[fika.AgentID]Presence{}, now: now}
	for _, x := range agents {
		q.agents[x.ID] = x
	}
	for _, c := range a.Conversations {
		if c.Kind == fika.Chat {
			q.chats[c.ID] = c
		}
	}
	q.listRequests()
	q.listNotifications()
	slices.SortStableFunc(q.items, func(x, y Item) int {
		return cmp.Or(cmp.Compare(x.Chat, y.Chat), cmp.Compare(slices.Index(places[:], x.Place), slices.Index(places[:], y.Place)))
	})
	return q.items
}

type queue struct {
	all    store.Activity
	agents map[fika.AgentID]fika.Agent
	chats  map[fika.ConversationID]fika.Conversation
	ask    func(fika.Agent) Presence
	known  map[fika.AgentID]Presence
	now    time.Time
	items  []Item
}

// listRequests lists the unfinished requests with the messages that they cover.
func (q *queue) listRequests() {
	covered := map[fika.RequestID][]int64{}
	for _, n := range q.all.Notifications {
		if n.State == fika.NotificationClaimed {
			covered[n.Request] = append(covered[n.Request], n.Seq)
		}
	}
	for _, r := range q.all.Requests {
		c, ok := q.chats[r.Conversation]
		if !ok {
			continue
		}
		slices.Sort(covered[r.ID])
		i := Item{Chat: c.Name, Agent: r.AgentName, Request: r.ID, Seqs: covered[r.ID], Since: r.CreatedAt}
		switch r.State {
		case fika.Running:
			q.explainRunning(&i, r)
		case fika.Waiting:
			q.explainWaiting(&i, r, c)
		default:
			q.explainPending(&i, c, r.Agent)
		}
		q.items = append(q.items, i)
	}
}

func (q *queue) explainRunning(i *Item, r store.Underway) {
	i.Place, i.Why, i.Text, i.Since = PlaceRunning, "model", "asks the model", r.StartedAt
	if r.Calls > 0 {
		i.Text = fmt.Sprintf("asks the model, call %d", r.Calls+1)
	}
	if r.Tool != "" {
		i.Why, i.Text = "tool", "runs "+r.Tool
	}
	switch p := q.presenceOf(r.Agent); {
	case !r.CancelAt.IsZero():
		i.Why, i.Text = "stopping", i.Text+"; asked to stop"
	case !p.Alive && r.Origin == fika.Queued:
		// Its process is gone, so it waits to be taken up again as an open request
		// does.
		c := q.chats[r.Conversation]
		q.explainPending(i, c, r.Agent)
		i.Text = "its process is gone; " + i.Text
	}
}

func (q *queue) explainWaiting(i *Item, r store.Underway, c fika.Conversation) {
	i.Place, i.Why, i.Since, i.Until = PlaceWaiting, r.Reason, r.Touched, r.WaitUntil
	switch fika.WaitReason(r.Reason) {
	case fika.WaitPause, fika.WaitLimit:
		q.explainPending(i, c, r.Agent)
		if fika.WaitReason(r.Reason) == fika.WaitLimit && !i.Stuck && i.Why == "next" && r.WaitUntil.After(q.now) {
			i.Why, i.Text, i.Until = "budget", "waits for a budget (fika budget list)", r.WaitUntil
			return
		}
		i.Text = "in the middle of its turn; " + i.Text
	case fika.WaitChild:
		i.Text = "waits for what it delegated"
		if r.Child != "" {
			i.Text += " (request " + string(r.Child) + ")"
		}
	case fika.WaitApproval:
		i.Text, i.Stuck = "waits for a person's approval", true
	case fika.WaitProvider:
		i.Text = fmt.Sprintf("its model's provider fails; it is asked again at %s (fika request retry %s asks at once)", r.WaitUntil.Format("15:04:05"), r.ID)
	default:
		i.Text = "waits: " + r.Reason
	}
}

// explainPending says why work that could begin has not. Reasons come in the order in
// which they are best removed.
func (q *queue) explainPending(i *Item, c fika.Conversation, id fika.AgentID) {
	a := q.agents[id]
	hold := func(why, text string) {
		i.Place, i.Why, i.Text, i.Stuck = PlaceHeld, why, text, true
	}
	if q.all.PausedAll {
		hold("paused_all", "everything is paused (fika chat resume --all)")
		return
	}
	if c.Paused {
		hold("paused", fmt.Sprintf("%s (fika chat resume %s)", q.pausedBy(c), c.Name))
		return
	}
	why := Hindrance{}
	if a.Desired.Stopped() {
		why = WhyWaits(a, Presence{})
	} else if other := q.turnHere(*i, id); other != "" {
		why = Hindrance{Place: PlaceHeld, Why: "turn", Text: fmt.Sprintf("@%s has a turn here already (request %s)", a.Name, other)}
	} else if why = WhyWaits(a, q.presenceOf(id)); why.Why == "next" {
		if other := q.busyElsewhere(id, c.ID); other != "" {
			why.Why, why.Text = "busy", fmt.Sprintf("@%s works in %s first", a.Name, other)
		}
	}
	i.Place, i.Why, i.Text, i.Until, i.Stuck = why.Place, why.Why, why.Text, why.Until, why.Stuck
}

// pausedBy says in a sentence who has paused a chat.
func (q *queue) pausedBy(c fika.Conversation) string {
	var owners []string
	for _, b := range q.all.Pauses {
		switch {
		case b.Conversation != c.ID:
		case b.Owner == "":
			return "the chat is paused"
		default:
			owners = append(owners, b.Owner)
		}
	}
	if len(owners) == 0 {
		return "the chat is paused"
	}
	return "the chat is held by " + strings.Join(owners, " and by ") + ", until they leave it"
}

func (q *queue) presenceOf(id fika.AgentID) Presence {
	p, ok := q.known[id]
	if !ok {
		p = q.ask(q.agents[id])
		q.known[id] = p
	}
	return p
}

// turnHere returns another request of the agent that is under way in the chat.
func (q *queue) turnHere(i Item, id fika.AgentID) fika.RequestID {
	for _, r := range q.all.Requests {
		if r.Agent == id && r.ConversationName == i.Chat && r.ID != i.Request && (r.State == fika.Running || r.State == fika.Waiting) {
			return r.ID
		}
	}
	return ""
}

// busyElsewhere returns the conversation that keeps an agent busy.
func (q *queue) busyElsewhere(id fika.AgentID, here fika.ConversationID) fika.ConversationName {
	for _, r := range q.all.Requests {
		if r.Agent == id && r.Conversation != here && r.State == fika.Running {
			return r.ConversationName
		}
	}
	return ""
}

// listNotifications lists the notifications that no request has taken and those that
// died or were dropped, grouped by the text shown for them.
func (q *queue) listNotifications() {
	at := map[string]int{}
	for _, n := range q.all.Notifications {
		c, ok := q.chats[n.Conversation]
		if !ok || n.State == fika.NotificationClaimed {
			continue // its request is listed instead
		}
		i := Item{Chat: c.Name, Agent: n.AgentName, Since: n.CreatedAt}
		switch n.State {
		case fika.NotificationPending:
			q.explainPending(&i, c, n.Agent)
		case fika.NotificationDead:
			i.Place, i.Why, i.Request = PlaceDead, n.Reason, n.Request
			i.Text = fmt.Sprintf("%s (fika chat retry %s %s)", endedAs(n.Reason), c.Name, n.AgentName)
		default:
			i.Place, i.Why, i.Request, i.Text = PlaceDropped, n.Reason, n.Request, DroppedFor(n.Reason, c.Name)
		}
		key := fmt.Sprint(c.ID, "\x00", n.Agent, "\x00", i.Place, i.Why, i.Text, i.Request)
		if k, ok := at[key]; ok {
			q.items[k].Seqs = append(q.items[k].Seqs, n.Seq)
			continue
		}
		i.Seqs = []int64{n.Seq}
		at[key] = len(q.items)
		q.items = append(q.items, i)
	}
}

func endedAs(reason string) string {
	switch fika.RequestState(reason) {
	case fika.RequestFailed:
		return "the turn failed"
	case fika.StateInterrupted:
		return "the turn was interrupted"
	case fika.Dead:
		return "the turn was begun three times and never got a step further"
	}
	return "the turn ended: " + reason
}

// DroppedFor says why a notification was dropped.
func DroppedFor(reason string, chat fika.ConversationName) string {
	switch reason {
	case "limit":
		return fmt.Sprintf("a limit ended the chain (fika chat continue %s)", chat)
	case "stopped":
		return "the chat was stopped"
	case "expired":
		return "the message had expired before anybody came to it"
	case string(fika.Cancelled):
		return "the turn was cancelled"
	}
	return reason
}

// IsIdle reports whether nothing runs and nothing waits. If something waits, but all
// of it for a person, stuck lists those items.
func IsIdle(items []Item) (idle bool, stuck []Item) {
	idle = true
	for _, i := range items {
		switch {
		case i.IsOver():
		case i.Stuck:
			idle, stuck = false, append(stuck, i)
		default:
			return false, nil
		}
	}
	return idle, stuck
}
