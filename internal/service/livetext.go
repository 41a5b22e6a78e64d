package service

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
)

const (
	// maxDeltas and maxWaiting are how much live text waits for a watcher, in pieces and in
	// bytes. More is lost: the offset of what follows tells, and the entry has it all.
	maxDeltas  = 4096
	maxWaiting = 4 << 20
	// liveTime bounds the wait for what an agent has streamed so far.
	liveTime = 2 * time.Second
	// maxEnded is how many requests are remembered whose late text is thrown away.
	maxEnded = 1024
)

// liveText is the live text of the requests in a scope, for one watcher. What was streamed
// before it began comes first.
type liveText struct {
	c     *Service
	scope api.Scope
	sees  *eventSight
	some  chan struct{} // capacity 1: something waits

	mu      sync.Mutex
	pending []api.Event
	waiting int             // bytes of text in pending
	family  map[string]bool // requests that those of the scope have caused

	// Of the goroutine that gives.
	at    map[string]*streamPlace // by request
	ended map[string]bool
}

// streamPlace is how far the text of a request has been given.
type streamPlace struct {
	attempt int64
	round   int
	end     map[api.DeltaKind]int // bytes
	said    int                   // the last round whose entry was given: its text is void
}

// begin listens to agents until the returned function is called, and asks those at work in
// the scope what they have streamed so far.
func (l *liveText) begin(ctx context.Context) (func(), error) {
	sub, err := l.c.bus.Subscribe(l.c.subjects.Status("*"), func(m bus.Msg) {
		var s message.Status
		if json.Unmarshal(m.Data, &s) == nil {
			l.add(deltasOf(s)...)
		}
	})
	if err != nil {
		return nil, err
	}
	stop := func() { _ = sub.Close() }
	running, err := l.c.Requests.List(ctx, RequestFilter{States: []fika.RequestState{fika.Running}})
	if err != nil {
		stop()
		return nil, err
	}
	first := make([][]api.Event, len(running))
	var asking sync.WaitGroup
	for i, r := range running {
		if inScope(l.scope, string(r.ConversationName), string(r.AgentName), string(r.ID)) {
			asking.Go(func() { first[i] = l.ask(ctx, r) })
		}
	}
	asking.Wait()
	l.mu.Lock()
	l.pending = slices.Concat(append(first, l.pending)...) // joined by offset
	l.mu.Unlock()
	l.ring()
	return stop, nil
}

// ask returns what an agent has streamed of a request so far; nothing if it does not say.
func (l *liveText) ask(ctx context.Context, r RequestInfo) []api.Event {
	now, ok := l.c.streamed(ctx, r)
	if !ok {
		return nil
	}
	return []api.Event{{
		At: l.c.now(), Kind: api.DeltaEvent, Conversation: string(r.ConversationName), Request: string(r.ID), Agent: string(r.AgentName),
		Delta: &api.Delta{Kind: api.TextDelta, Attempt: int64(now.Epoch), Round: now.Round, CallID: now.CallID, Offset: now.Offset, Text: now.Text},
	}}
}

// streamed asks an agent what it has streamed of a request so far. ok is false if it does
// not say, or has said nothing.
func (c *Service) streamed(ctx context.Context, r RequestInfo) (now message.Live, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, liveTime)
	defer cancel()
	body, err := json.Marshal(message.LiveRequest{Request: string(r.ID)})
	if err != nil {
		return now, false
	}
	data, err := c.bus.Request(ctx, c.subjects.Live(r.AgentName), body)
	if err == nil {
		err = json.Unmarshal(data, &now)
	}
	return now, err == nil && now.Request == string(r.ID) && now.Text != ""
}

// Streaming returns what the agent of a running request has streamed of its model call so
// far, as a status; ok is false if it does not say, has said nothing, or the caller may not read it.
func (s *Requests) Streaming(ctx context.Context, r RequestInfo) (status message.Status, ok bool) {
	if s.mayLook(ctx, "request.rounds", r.ID) != nil {
		return message.Status{}, false
	}
	now, ok := s.c.streamed(ctx, r)
	return message.Status{
		RequestID: string(r.ID), AgentName: string(r.AgentName), ConversationID: string(r.ConversationName), Status: "streaming",
		Data: message.StatusData{Chunk: now.Text, Offset: now.Offset, Step: now.Round, Round: now.Round, Epoch: now.Epoch},
	}, ok
}

// deltasOf returns what a status shows beside what is committed.
func deltasOf(s message.Status) []api.Event {
	d := api.Delta{Attempt: int64(s.Data.Epoch), Round: s.Data.Round, Offset: s.Data.Offset, Restart: s.Data.Restart}
	switch {
	case s.Data.Chunk != "" && s.Data.Reasoning:
		d.Kind, d.Text = api.ReasoningDelta, s.Data.Chunk
	case s.Data.Chunk != "" || d.Restart:
		d.Kind, d.Text = api.TextDelta, s.Data.Chunk
	case s.Status != "processing":
		return nil // an event says it
	case s.Data.Message != "":
		d.Kind, d.Text = api.NoteDelta, s.Data.Message
	default:
		d.Kind = api.TypingDelta
	}
	at, _ := time.Parse(time.RFC3339Nano, s.Timestamp) // zero if nobody can say
	return []api.Event{{At: at, Kind: api.DeltaEvent, Conversation: s.ConversationID, Request: s.RequestID, Agent: s.AgentName, Delta: &d}}
}

// add keeps what is in the scope for the watcher.
func (l *liveText) add(list ...api.Event) {
	l.mu.Lock()
	for _, e := range list {
		if len(l.pending) < maxDeltas && l.waiting+len(e.Delta.Text) <= maxWaiting && l.wants(e) {
			l.pending, l.waiting = append(l.pending, e), l.waiting+len(e.Delta.Text)
		}
	}
	l.mu.Unlock()
	l.ring()
}

func (l *liveText) ring() {
	select {
	case l.some <- struct{}{}:
	default:
	}
}

// wants reports whether live text is in the scope, or of a request that one of the scope
// has caused. The caller holds mu.
func (l *liveText) wants(e api.Event) bool {
	return l.family[e.Request] || inScope(l.scope, e.Conversation, e.Agent, e.Request)
}

// note learns from an event which requests those of the scope have caused.
func (l *liveText) note(e store.Event) {
	if !l.scope.Deltas || !l.scope.Tree {
		return
	}
	by := string(parent(e))
	l.mu.Lock()
	defer l.mu.Unlock()
	if by == "" || !slices.Contains(l.scope.Requests, by) && !l.family[by] {
		return
	}
	if l.family == nil {
		l.family = map[string]bool{}
	}
	l.family[string(e.Request)] = true
}

// give yields what waits. It reports whether the stream goes on.
func (l *liveText) give(ctx context.Context, yield func(api.Event, error) bool) (bool, error) {
	l.mu.Lock()
	list := l.pending
	l.pending, l.waiting = nil, 0
	l.mu.Unlock()
	for _, e := range list {
		if !l.joins(&e) {
			continue
		}
		may, err := l.sees.text(ctx, fika.RequestID(e.Request))
		if err != nil {
			return false, err
		}
		if may && !yield(e, nil) {
			return false, nil
		}
	}
	return true, nil
}

// place returns how far the text of a request has been given.
func (l *liveText) place(request string) *streamPlace {
	at := l.at[request]
	if at == nil {
		if l.at == nil {
			l.at = map[string]*streamPlace{}
		}
		at = &streamPlace{attempt: -1, end: map[api.DeltaKind]int{}}
		l.at[request] = at
	}
	return at
}

// joins reports whether live text is more than was given before, and cuts off what is not:
// text of an earlier attempt or round, of a round whose entry was given, or of a request that
// has ended, is void.
func (l *liveText) joins(e *api.Event) bool {
	d := *e.Delta
	e.Delta = &d
	if l.ended[e.Request] {
		return false
	}
	at := l.place(e.Request)
	switch {
	case (d.Kind == api.TextDelta || d.Kind == api.ReasoningDelta) && d.Round <= at.said:
		return false
	case d.Attempt > at.attempt, d.Attempt == at.attempt && (d.Round > at.round || d.Restart && d.Round == at.round):
		at.attempt, at.round, at.end = d.Attempt, d.Round, map[api.DeltaKind]int{}
	case d.Kind != api.TextDelta && d.Kind != api.ReasoningDelta:
		return d.Attempt == at.attempt // it belongs to no round
	case d.Attempt < at.attempt, d.Round < at.round:
		return false
	}
	if d.Restart || d.Text == "" {
		return true
	}
	end := at.end[d.Kind]
	if d.Offset+len(d.Text) <= end {
		return false
	}
	if over := end - d.Offset; over > 0 {
		d.Text, d.Offset = d.Text[over:], end
	}
	at.end[d.Kind] = d.Offset + len(d.Text)
	return true
}

// committed learns from an event that was given which text is void from now on: that of a
// model call whose entry is there, and that of a request that has ended.
func (l *liveText) committed(e store.Event) {
	if !l.scope.Deltas {
		return
	}
	if e.Kind == store.EntryEvent && e.Request != "" && !l.ended[string(e.Request)] {
		var d store.EventData
		if json.Unmarshal(e.Data, &d) == nil && d.Round > 0 {
			at := l.place(string(e.Request))
			at.said = max(at.said, d.Round)
		}
	}
	if e.Kind != store.RequestEvent || !fika.RequestState(e.State).Terminal() {
		return
	}
	if len(l.ended) >= maxEnded || l.ended == nil {
		l.ended = map[string]bool{}
	}
	l.ended[string(e.Request)] = true
	delete(l.at, string(e.Request))
}
