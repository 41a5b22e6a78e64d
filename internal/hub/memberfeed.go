package hub

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
)

// memberFeed passes on to each member of the bus what agents do and answer for it. A
// member may not listen to the agents themselves: it would hear their work for others.
// It is safe for concurrent use.
type memberFeed struct {
	intake   Intake // nil: nobody is served
	bus      bus.Bus
	subjects bus.Subjects

	subs []bus.Subscription // while there are members; of the hub's goroutine

	mu    sync.Mutex
	known map[string]string // request → who sent it; at most feedKnown
}

// feedKnown bounds the requests whose owner is remembered.
const feedKnown = 4096

// keep listens to the agents while there are members, and only then: a status comes for
// each piece of an answer.
func (f *memberFeed) keep(log *slog.Logger) {
	if f.intake == nil {
		return
	}
	wanted := len(f.intake.Members()) > 0
	if wanted == (f.subs != nil) {
		return
	}
	f.close()
	if !wanted {
		return
	}
	for subject, pass := range map[string]func(bus.Msg){f.subjects.Status("*"): f.passStatus, f.subjects.Response("*"): f.passResponse} {
		sub, err := f.bus.Subscribe(subject, pass)
		if err != nil {
			log.Warn("members of the bus do not hear of their work", "err", err)
			f.close() // all of it is tried again
			return
		}
		f.subs = append(f.subs, sub)
	}
}

func (f *memberFeed) close() {
	for _, s := range f.subs {
		_ = s.Close()
	}
	f.subs = nil
}

// passStatus passes on one status.
func (f *memberFeed) passStatus(m bus.Msg) {
	var s message.Status
	if len(f.intake.Members()) == 0 || json.Unmarshal(m.Data, &s) != nil {
		return
	}
	if member, agent := f.owner(s.RequestID, m.Subject); member != "" {
		_ = f.bus.Publish(f.subjects.MemberStatus(member, agent), m.Data) // for display only: the outcome counts
	}
}

// passResponse passes on one outcome. A rejection is passed on by who rejects: it is
// about a message, and the request of that id may be another's.
func (f *memberFeed) passResponse(m bus.Msg) {
	var r message.Response
	if len(f.intake.Members()) == 0 || json.Unmarshal(m.Data, &r) != nil || r.Type == message.TypeRejected {
		return
	}
	if member, agent := f.owner(r.RequestID, m.Subject); member != "" {
		_ = f.bus.Publish(f.subjects.MemberResponse(member, agent), m.Data)
	}
}

// feedTime bounds the look at a request.
const feedTime = 5 * time.Second

// owner returns the member that has made a request, if one has, and the agent that a
// subject names.
func (f *memberFeed) owner(id, subject string) (string, fika.AgentName) {
	agent, ok := f.subjects.AgentOf(subject)
	if !ok || id == "" {
		return "", ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	asker, known := f.known[id]
	if !known {
		ctx, cancel := context.WithTimeout(context.Background(), feedTime)
		defer cancel()
		var err error
		if asker, err = f.intake.Sender(ctx, fika.RequestID(id)); err != nil {
			return "", "" // the member reads the outcome when it repeats the request
		}
		if f.known == nil || len(f.known) >= feedKnown {
			f.known = map[string]string{}
		}
		f.known[id] = asker
	}
	if !slices.Contains(f.intake.Members(), asker) {
		return "", ""
	}
	return asker, agent
}
