package chat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/chat"
	"fika/internal/store"
)

// scene returns a chat in which something may go on.
func scene() (store.Activity, []fika.Agent) {
	conv := fika.Conversation{ID: "c", Name: "tale", Kind: fika.Chat}
	return store.Activity{Conversations: []fika.Conversation{conv}}, []fika.Agent{{ID: "a", Name: "arya"}, {ID: "g", Name: "gendry"}}
}

func request(id, agent, state, reason string) store.Underway {
	u := store.Underway{RequestInfo: store.RequestInfo{
		Request: fika.Request{ID: fika.RequestID(id), Agent: fika.AgentID(agent[:1]), Conversation: "c", State: fika.RequestState(state), Reason: reason, Origin: fika.Queued},
	}}
	u.AgentName, u.ConversationName = fika.AgentName(agent), "tale"
	return u
}

func notification(seq int64, agent, state, reason, request string) store.NotificationInfo {
	return store.NotificationInfo{AgentName: fika.AgentName(agent), Notification: fika.Notification{
		Conversation: "c", Seq: seq, Agent: fika.AgentID(agent[:1]), State: fika.NotificationState(state), Reason: reason, Request: fika.RequestID(request),
	}}
}

// TestQueue checks the place and reason of each piece of work, and whether a chat is
// idle.
func TestQueue(t *testing.T) {
	up := chat.Presence{Alive: true, Hub: true, Wakes: true}
	for name, tt := range map[string]struct {
		set      func(*store.Activity, []fika.Agent)
		presence chat.Presence
		want     string // place, why and messages of each item
		idle     bool
		stuck    int
	}{
		"nothing": {func(*store.Activity, []fika.Agent) {}, up, "", true, 0},
		"running, with what it covers": {func(a *store.Activity, _ []fika.Agent) {
			a.Requests = append(a.Requests, request("r", "arya", "running", ""))
			a.Notifications = append(a.Notifications, notification(2, "arya", "claimed", "", "r"), notification(1, "arya", "claimed", "", "r"))
		}, up, "running model [1 2]", false, 0},
		"in a tool": {func(a *store.Activity, _ []fika.Agent) {
			r := request("r", "arya", "running", "")
			r.Tool = "bash"
			a.Requests = append(a.Requests, r)
		}, up, "running tool []", false, 0},
		"two wait for the same": {func(a *store.Activity, _ []fika.Agent) {
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""), notification(3, "arya", "pending", "", ""))
		}, up, "waiting next [1 3]", false, 0},
		"its agent works elsewhere": {func(a *store.Activity, _ []fika.Agent) {
			r := request("r", "arya", "running", "")
			r.Conversation, r.ConversationName = "o", "other"
			a.Requests = append(a.Requests, r)
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, up, "waiting busy [1]", false, 0},
		"everything is paused": {func(a *store.Activity, _ []fika.Agent) {
			a.PausedAll = true
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, up, "held paused_all [1]", false, 1},
		"the chat is paused in the middle of a turn": {func(a *store.Activity, _ []fika.Agent) {
			a.Conversations[0].Paused = true
			a.Requests = append(a.Requests, request("r", "arya", "waiting", "pause"))
		}, up, "held paused []", false, 1},
		"paused, but still running": {func(a *store.Activity, _ []fika.Agent) {
			a.Conversations[0].Paused = true
			a.Requests = append(a.Requests, request("r", "arya", "running", ""))
			a.Notifications = append(a.Notifications, notification(1, "gendry", "pending", "", ""))
		}, up, "running model [], held paused [1]", false, 0},
		"stopped by hand": {func(a *store.Activity, agents []fika.Agent) {
			agents[0].Desired = fika.DesiredStopped
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, up, "held stopped [1]", false, 1},
		"behind its own turn": {func(a *store.Activity, _ []fika.Agent) {
			a.Requests = append(a.Requests, request("r", "arya", "waiting", "child"))
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, up, "waiting child [], held turn [1]", false, 0},
		"an approval is a person's": {func(a *store.Activity, _ []fika.Agent) {
			a.Requests = append(a.Requests, request("r", "arya", "waiting", "approval"))
		}, up, "waiting approval []", false, 1},
		"its program waits for a person": {func(a *store.Activity, _ []fika.Agent) {
			r := request("r", "arya", "running", "")
			r.Calls, r.Approval = 1, 3
			a.Requests = append(a.Requests, r)
		}, up, "waiting approval []", false, 1},
		"its program waited, and its process is gone": {func(a *store.Activity, _ []fika.Agent) {
			r := request("r", "arya", "running", "")
			r.Approval = 3
			a.Requests = append(a.Requests, r)
		}, chat.Presence{Wakes: true, Hub: true}, "waiting starting []", false, 0},
		"nobody starts it": {func(a *store.Activity, _ []fika.Agent) {
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, chat.Presence{Hub: true}, "held absent [1]", false, 1},
		"no hub": {func(a *store.Activity, _ []fika.Agent) {
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, chat.Presence{Wakes: true}, "held no_hub [1]", false, 1},
		"being started": {func(a *store.Activity, _ []fika.Agent) {
			a.Requests = append(a.Requests, request("r", "arya", "open", ""))
		}, chat.Presence{Wakes: true, Hub: true}, "waiting starting []", false, 0},
		"a prompt has its context": {func(a *store.Activity, _ []fika.Agent) {
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, chat.Presence{Hub: true, InUse: true}, "held in_use [1]", false, 0},
		"given up": {func(a *store.Activity, _ []fika.Agent) {
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, chat.Presence{Hub: true, Failed: "no key"}, "held failed [1]", false, 1},
		"it rests": {func(a *store.Activity, _ []fika.Agent) {
			a.Notifications = append(a.Notifications, notification(1, "arya", "pending", "", ""))
		}, chat.Presence{Alive: true, Rests: "60 turns this hour"}, "held limit [1]", false, 0},
		"its process is gone": {func(a *store.Activity, _ []fika.Agent) {
			a.Requests = append(a.Requests, request("r", "arya", "running", ""))
		}, chat.Presence{Wakes: true, Hub: true}, "waiting starting []", false, 0},
		"dead and dropped are over": {func(a *store.Activity, _ []fika.Agent) {
			a.Notifications = append(a.Notifications, notification(1, "arya", "dropped", "limit", ""),
				notification(2, "arya", "dead", "failed", "r"), notification(3, "arya", "dead", "failed", "r"), notification(4, "arya", "dead", "dead", "s"))
		}, up, "dead failed [2 3], dead dead [4], dropped limit [1]", true, 0},
	} {
		a, agents := scene()
		tt.set(&a, agents)
		items := chat.QueueItems(a, agents, func(fika.Agent) chat.Presence { return tt.presence }, time.Now())
		var got []string
		for _, i := range items {
			got = append(got, fmt.Sprint(i.Place, " ", i.Why(), " ", i.Seqs))
			if i.Status.IsClear() || i.Chat != "tale" {
				t.Errorf("%s: %+v", name, i)
			}
		}
		idle, stuck := chat.IsIdle(items)
		if strings.Join(got, ", ") != tt.want || idle != tt.idle || len(stuck) != tt.stuck {
			t.Errorf("%s: %s; idle %v, stuck %d", name, strings.Join(got, ", "), idle, len(stuck))
		}
	}
}
