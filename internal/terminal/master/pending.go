package master

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/system/term"
)

// pendingRequest is a request whose outcome the console is waiting for.
type pendingRequest struct {
	id     fika.RequestID
	run    fika.RequestID // of a team; empty if it is not a run
	team   string         // names of the team
	agent  fika.AgentName // empty: worked here
	kind   fika.RequestKind
	prompt string
	from   time.Time
	cancel context.CancelFunc // for a request that is worked here
}

// workerName names the agent or team that worked the request.
func (e *pendingRequest) workerName() string {
	switch {
	case e.team != "":
		return e.team
	case e.agent == teamAgent:
		return "the team"
	case e.agent == "":
		return "done here"
	}
	return "@" + string(e.agent)
}

// teamAgent is the agent of the requests that stand for runs.
const teamAgent = fika.WorkflowAgent

// aboutLine describes a request, for the line below its outcome.
func (e *pendingRequest) aboutLine() string {
	kind, id := string(e.kind), shortID(e.id)
	if e.agent == "" {
		kind, id = "here", ""
	}
	return strings.TrimRight("  "+strings.TrimSpace(kind+" "+id)+ofRequest(e.prompt), " ")
}

// pendingList holds the requests a console is waiting for, in the order in which they
// were sent. Their ids are kept beyond its end, for the next console.
type pendingList struct {
	memory   Memory
	requests []*pendingRequest
	earlier  []fika.RequestID // of earlier consoles, kept unchanged by a piped one
}

// add adds a request; its id has been saved when add returns.
func (l *pendingList) add(e *pendingRequest) error {
	l.requests = append(l.requests, e)
	return l.keepIfStored(e)
}

// drop removes a request that is no longer waited for.
func (l *pendingList) drop(e *pendingRequest) error {
	l.requests = slices.DeleteFunc(l.requests, func(x *pendingRequest) bool { return x == e })
	return l.keepIfStored(e)
}

// keepIfStored calls keep after a change of e, unless e has no id because it is not in
// the store.
func (l *pendingList) keepIfStored(e *pendingRequest) error {
	if e.id == "" {
		return nil
	}
	return l.keep()
}

// keep saves the ids of the pending requests.
func (l *pendingList) keep() error {
	ids := append([]fika.RequestID{}, l.earlier...)
	for _, e := range l.stored() {
		ids = append(ids, e.id)
	}
	return l.memory.Save(ids)
}

// stored returns the requests that have an id; the others are worked here.
func (l *pendingList) stored() []*pendingRequest {
	return slices.DeleteFunc(slices.Clone(l.requests), func(e *pendingRequest) bool { return e.id == "" })
}

// newest returns the request that was sent last, or nil if there is none.
func (l *pendingList) newest() *pendingRequest {
	if len(l.requests) == 0 {
		return nil
	}
	return l.requests[len(l.requests)-1]
}

// startingWith returns the requests whose ids begin with id.
func (l *pendingList) startingWith(id string) []*pendingRequest {
	return slices.DeleteFunc(slices.Clone(l.requests), func(e *pendingRequest) bool { return !strings.HasPrefix(string(e.id), id) })
}

// shortID returns the beginning of an id, long enough to distinguish it from others.
func shortID(id fika.RequestID) string { return string(id[:min(len(id), 13)]) }

// ofRequest names the request that an outcome belongs to.
func ofRequest(prompt string) string {
	return ": " + term.Truncate(term.CleanLine(strings.TrimSpace(prompt)), 60)
}
