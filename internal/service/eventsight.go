package service

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/settings/config"
	"fika/internal/store"
)

// eventSight is what a principal may see of a stream of events and live text. It remembers
// what it has found out until something happens that may change it: somebody joins a
// conversation, something new is asked, or the settings change. It is safe for concurrent
// use.
type eventSight struct {
	c   *Service
	all bool // the principal sees everything

	mu       sync.Mutex
	v        *sight // nil: nothing is remembered
	requests map[fika.RequestID]bool
	settings *config.Config
	began    time.Time
}

// sightTime is how long a watcher may at most still see what it may not any more.
const sightTime = time.Second

// note forgets what an event may have changed.
func (s *eventSight) note(e store.Event) {
	if e.Kind == store.AccessEvent || e.Kind == store.RequestEvent && e.State == string(fika.Open) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.v = nil
	}
}

// current returns what is remembered. The caller holds mu.
func (s *eventSight) current() *sight {
	if settings := s.c.config(); s.v == nil || s.settings != settings || time.Since(s.began) > sightTime {
		s.v, s.requests, s.settings, s.began = s.c.sight(), map[fika.RequestID]bool{}, settings, time.Now()
	}
	return s.v
}

// event reports whether an event may be seen: with its conversation, or with its request.
// A pause of everything is for all to see; what happens to an agent, for those who may
// read it or, if they are programs, reach it.
func (s *eventSight) event(ctx context.Context, e store.Event) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.current()
	if e.Kind == store.TaskEvent {
		return v.board(ctx)
	}
	if e.Conversation != "" {
		if may, err := v.conversation(ctx, e.Conversation); may || err != nil {
			return may, err
		}
	}
	switch {
	case e.Request != "":
		return s.request(ctx, v, e.Request)
	case e.Kind == store.AgentEvent:
		return s.agent(ctx, v, e.Agent)
	}
	return e.Kind == store.PauseEvent && e.Conversation == "", nil
}

// text reports whether the live text of a request may be seen.
func (s *eventSight) text(ctx context.Context, id fika.RequestID) (bool, error) {
	if s.all {
		return true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.request(ctx, s.current(), id)
}

func (s *eventSight) request(ctx context.Context, v *sight, id fika.RequestID) (bool, error) {
	if may, known := s.requests[id]; known {
		return may, nil
	}
	q, err := s.c.store.Request(ctx, id)
	if fika.IsKind(err, fika.NotFound) { // deleted meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	may, err := v.request(ctx, q)
	if err == nil {
		s.requests[id] = may
	}
	return may, err
}

func (s *eventSight) agent(ctx context.Context, v *sight, id fika.AgentID) (bool, error) {
	list, err := s.c.store.ListAgents(ctx)
	if err != nil {
		return false, err
	}
	for _, a := range list {
		switch {
		case a.ID != id:
		case s.c.who.Kind == api.Program:
			return s.c.who.Reaches(string(a.Name)), nil
		default:
			return v.agent(ctx, a.Name)
		}
	}
	return false, nil
}

// parent returns the request that caused the one that an event is about; "" if none did.
func parent(e store.Event) fika.RequestID {
	var d store.EventData
	if e.Kind != store.RequestEvent || e.Data == nil || json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	return d.Parent
}
