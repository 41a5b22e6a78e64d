package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
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
	Before  api.Status // how far it has got; clear: it has not begun, or Status says so
	Status  api.Status // what it does, what it waits for, or what became of it
	Request fika.RequestID
	Seqs    []int64 // of the messages that it concerns, ascending
	Since   time.Time
}

// Why returns the reason as one word, for programs.
func (i Item) Why() string {
	switch i.Status.Code {
	case api.WaitingOther, api.TurnEnded, api.DroppedOther:
		return i.Status.Args["reason"]
	}
	return i.Status.Code.Word()
}

// Standing returns what there is to say about the item: [Item.Before], if it is not
// clear, and [Item.Status].
func (i Item) Standing() []api.Status {
	if i.Before.IsClear() {
		return []api.Status{i.Status}
	}
	return []api.Status{i.Before, i.Status}
}

// Stuck reports whether the item waits for a person.
func (i Item) Stuck() bool { return !i.IsOver() && i.Status.NeedsPerson }

// IsOver reports whether nothing more comes of the item by itself.
func (i Item) IsOver() bool { return i.Place == PlaceDead || i.Place == PlaceDropped }

// IsRunning reports whether an agent is working the item.
func (i Item) IsRunning() bool { return i.Place == PlaceRunning }

// WaitsForHub reports whether the item waits for a hub that would start the agent.
func (i Item) WaitsForHub() bool { return i.Status.Code == api.AgentNoHub }

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
	i.Place, i.Since, i.Status = PlaceRunning, r.StartedAt, api.Stands(api.WorkModel)
	switch {
	case r.Approval != 0: // its process waits with it
		i.Place, i.Since, i.Status = PlaceWaiting, r.Asked, suspended(r, fika.WaitApproval)
	case r.Tool != "":
		i.Status = api.Stands(api.WorkTool, "tool", r.Tool)
	case r.Calls > 0:
		i.Status = api.Stands(api.WorkModel, "call", strconv.Itoa(r.Calls+1))
	}
	switch p := q.presenceOf(r.Agent); {
	case !r.CancelAt.IsZero():
		i.Before, i.Status = i.Status, api.Stands(api.WorkStopping)
	case !p.Alive && r.Origin == fika.Queued:
		// Its process is gone, so it waits to be taken up again as an open request
		// does.
		i.Before = api.Stands(api.WorkOrphaned)
		q.explainPending(i, q.chats[r.Conversation], r.Agent)
	}
}

func (q *queue) explainWaiting(i *Item, r store.Underway, c fika.Conversation) {
	i.Place, i.Since = PlaceWaiting, r.Touched
	reason := fika.WaitReason(r.Reason)
	if reason != fika.WaitPause && reason != fika.WaitLimit {
		i.Status = suspended(r, reason).At(r.WaitUntil)
		return
	}
	q.explainPending(i, c, r.Agent)
	if reason == fika.WaitLimit && i.Status.Code == api.AgentNext && r.WaitUntil.After(q.now) {
		i.Status = suspended(r, reason).At(r.WaitUntil)
		return
	}
	i.Before = api.Stands(api.WorkMidway)
}

// suspended says what a request waits for, by a reason.
func suspended(r store.Underway, reason fika.WaitReason) api.Status {
	return api.Suspended{Reason: reason, Agent: r.AgentName, Request: r.ID, Child: r.Child, Approval: r.Approval}.Status()
}

// explainPending says why work that could begin has not. Reasons come in the order in
// which they are best removed.
func (q *queue) explainPending(i *Item, c fika.Conversation, id fika.AgentID) {
	a := q.agents[id]
	i.Place = PlaceHeld
	switch {
	case q.all.PausedAll:
		i.Status = api.Stands(api.WaitingPausedAll)
		return
	case c.Paused:
		i.Status = api.Stands(api.WaitingPaused, "chat", string(c.Name), "owners", strings.Join(q.holders(c), " and by "))
		return
	case a.Desired.Stopped():
		i.Status = WhyWaits(a, Presence{})
		return
	}
	if other := q.turnHere(*i, id); other != "" {
		i.Status = api.Stands(api.WaitingTurn, "agent", string(a.Name), "request", string(other))
		return
	}
	if i.Status = WhyWaits(a, q.presenceOf(id)); goesOnAlone(i.Status) {
		i.Place = PlaceWaiting
	}
	if other := q.busyElsewhere(id, c.ID); other != "" && i.Status.Code == api.AgentNext {
		i.Status = api.Stands(api.WaitingBusy, "agent", string(a.Name), "chat", string(other))
	}
}

// holders returns who holds a chat paused until they leave it; none if somebody has
// paused it for good.
func (q *queue) holders(c fika.Conversation) []string {
	var owners []string
	for _, b := range q.all.Pauses {
		switch {
		case b.Conversation != c.ID:
		case b.Owner == "":
			return nil
		default:
			owners = append(owners, b.Owner)
		}
	}
	return owners
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
			i.Place, i.Request, i.Status = PlaceDead, n.Request, endedAs(n.Reason, c.Name, n.AgentName)
		default:
			i.Place, i.Request, i.Status = PlaceDropped, n.Request, DroppedFor(n.Reason, c.Name)
		}
		key := fmt.Sprint(c.ID, "\x00", n.Agent, "\x00", i.Place, i.Status.Code, i.Status.Args, i.Request)
		if k, ok := at[key]; ok {
			q.items[k].Seqs = append(q.items[k].Seqs, n.Seq)
			continue
		}
		i.Seqs = []int64{n.Seq}
		at[key] = len(q.items)
		q.items = append(q.items, i)
	}
}

// endedAs says how the turn of a dead notification ended.
func endedAs(reason string, chat fika.ConversationName, agent fika.AgentName) api.Status {
	code, why := api.TurnEnded, reason
	switch fika.RequestState(reason) {
	case fika.RequestFailed:
		code, why = api.TurnFailed, ""
	case fika.StateInterrupted:
		code, why = api.TurnInterrupted, ""
	case fika.Dead:
		code, why = api.TurnDead, ""
	}
	return api.Stands(code, "chat", string(chat), "agent", string(agent), "reason", why)
}

// DroppedFor says why a notification was dropped.
func DroppedFor(reason string, chat fika.ConversationName) api.Status {
	switch reason {
	case "limit":
		return api.Stands(api.DroppedLimit, "chat", string(chat))
	case "stopped":
		return api.Stands(api.DroppedStopped)
	case "expired":
		return api.Stands(api.DroppedExpired)
	case string(fika.Cancelled):
		return api.Stands(api.DroppedCancelled)
	}
	return api.Stands(api.DroppedOther, "reason", reason)
}

// IsIdle reports whether nothing runs and nothing waits. If something waits, but all
// of it for a person, stuck lists those items.
func IsIdle(items []Item) (idle bool, stuck []Item) {
	idle = true
	for _, i := range items {
		switch {
		case i.IsOver():
		case i.Stuck():
			idle, stuck = false, append(stuck, i)
		default:
			return false, nil
		}
	}
	return idle, stuck
}
