package service

import (
	"context"
	"time"

	"fika"
	"fika/internal/store"
)

// Family is a request with the request that it works for and those that it has
// delegated.
type Family struct {
	RequestInfo
	Parent   *RequestInfo // nil: nobody waits for it
	Children []Family     // in the order of the steps that made them
	// Approval is the number of the first question to a person that it waits for, also while
	// it runs; 0: there is none.
	Approval int64
}

// Family reads a request, its parent, and all its descendants. It returns Denied if an
// agent asks through a command in one of its tools and may not see the request. Of a
// parent or descendant that it may not see, only the id, agent, kind and state are there.
func (s *Requests) Family(ctx context.Context, id fika.RequestID) (Family, error) {
	info, err := s.c.store.Request(ctx, id)
	if err == nil {
		err = s.c.mayRequest(ctx, "request.family", info)
	}
	if err != nil {
		return Family{}, err
	}
	v := s.c.sight()
	f, err := s.family(ctx, v, info)
	if !info.State.Terminal() {
		f.Approval = s.c.openApproval(ctx, id)
	}
	if err != nil || info.Parent == "" {
		return f, err
	}
	parent, err := s.c.store.Request(ctx, info.Parent)
	if fika.IsKind(err, fika.NotFound) { // deleted
		parent, err = RequestInfo{Request: fika.Request{ID: info.Parent}}, nil
	}
	if err == nil && parent.State != "" {
		parent, err = v.veil(ctx, parent)
	}
	f.Parent = &parent
	return f, err
}

func (s *Requests) family(ctx context.Context, v *sight, info RequestInfo) (Family, error) {
	f := Family{RequestInfo: info}
	children, err := s.c.store.Children(ctx, info.ID)
	if err != nil {
		return f, err
	}
	if store.StandsForRun(info.Request) {
		if children, err = s.stepsOf(ctx, info.ID); err != nil {
			return f, err
		}
	}
	for _, k := range children {
		info, err := v.veil(ctx, k.RequestInfo)
		if err != nil {
			return f, err
		}
		below, err := s.family(ctx, v, info)
		if err != nil {
			return f, err
		}
		f.Children = append(f.Children, below)
	}
	return f, nil
}

// stepsOf returns the requests of the steps of a run, by the request that stands for it.
func (s *Requests) stepsOf(ctx context.Context, id fika.RequestID) (out []store.Child, err error) {
	run, err := s.c.store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	steps, err := s.c.store.RunSteps(ctx, run.ID, time.Time{})
	if err != nil {
		return nil, err
	}
	for _, st := range steps {
		if st.Request == "" {
			continue
		}
		info, err := s.c.store.Request(ctx, st.Request)
		if fika.IsKind(err, fika.NotFound) { // deleted
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Parent == id { // not of an earlier try
			out = append(out, store.Child{RequestInfo: info})
		}
	}
	return out, nil
}

// walk visits all descendants.
func (f Family) walk(visit func(Family)) {
	for _, k := range f.Children {
		visit(k)
		k.walk(visit)
	}
}

// Usage returns what the request and all its descendants have used, without those that
// are still at work.
func (f Family) Usage() fika.Usage {
	u := f.Outcome.Usage
	f.walk(func(k Family) { u = u.Add(k.Outcome.Usage) })
	return u
}

// Count returns the number of descendants.
func (f Family) Count() int {
	n := 0
	f.walk(func(Family) { n++ })
	return n
}
