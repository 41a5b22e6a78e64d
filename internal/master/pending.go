package master

import (
	"context"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/term"
)

// pendingRequest is a request whose outcome is waited for.
type pendingRequest struct {
	id     fika.RequestID
	run    fika.RequestID // of a team's; empty: it is no run
	team   string         // who works at it
	agent  fika.AgentName // empty: worked here
	kind   fika.RequestKind
	prompt string
	from   time.Time
	cancel context.CancelFunc // of one that is worked here
}

// workerName names whoever worked at a request.
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

// aboutLine names a request below its outcome.
func (e *pendingRequest) aboutLine() string {
	kind, id := string(e.kind), shortID(e.id)
	if e.agent == "" {
		kind, id = "here", ""
	}
	return strings.TrimRight("  "+strings.TrimSpace(kind+" "+id)+ofRequest(e.prompt), " ")
}

// pendingList is what a console waits for, in the order of its sending. The ids are
// kept beyond its end, for the next console.
type pendingList struct {
	memory   Memory
	requests []*pendingRequest
	earlier  []fika.RequestID // of consoles before this one, which is piped and leaves them alone
}

// add adds a request; its id is kept when add returns.
func (l *pendingList) add(e *pendingRequest) error {
	l.requests = append(l.requests, e)
	return l.keepIfStored(e)
}

// drop removes a request that is not waited for any more.
func (l *pendingList) drop(e *pendingRequest) error {
	l.requests = slices.DeleteFunc(l.requests, func(x *pendingRequest) bool { return x == e })
	return l.keepIfStored(e)
}

// keepIfStored is keep after a change of e, which has an id only if it is in the
// store.
func (l *pendingList) keepIfStored(e *pendingRequest) error {
	if e.id == "" {
		return nil
	}
	return l.keep()
}

// keep stores which ids are waited for.
func (l *pendingList) keep() error {
	ids := append([]fika.RequestID{}, l.earlier...)
	for _, e := range l.stored() {
		ids = append(ids, e.id)
	}
	return l.memory.Save(ids)
}

// stored are the requests that have an id; the others are worked here.
func (l *pendingList) stored() []*pendingRequest {
	return slices.DeleteFunc(slices.Clone(l.requests), func(e *pendingRequest) bool { return e.id == "" })
}

// newest is the request that was sent last; nil: nothing is waited for.
func (l *pendingList) newest() *pendingRequest {
	if len(l.requests) == 0 {
		return nil
	}
	return l.requests[len(l.requests)-1]
}

// startingWith are the requests whose ids begin so.
func (l *pendingList) startingWith(id string) []*pendingRequest {
	return slices.DeleteFunc(slices.Clone(l.requests), func(e *pendingRequest) bool { return !strings.HasPrefix(string(e.id), id) })
}

// shortID is the beginning of an id that tells it from others.
func shortID(id fika.RequestID) string { return string(id[:min(len(id), 13)]) }

// ofRequest names the request that an outcome belongs to.
func ofRequest(prompt string) string {
	return ": " + term.Truncate(term.CleanLine(strings.TrimSpace(prompt)), 60)
}
