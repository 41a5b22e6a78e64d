package client

import (
	"context"

	"fika"
)

// Family is a request with who it works for and what it has delegated.
type Family struct {
	RequestInfo
	Parent   *RequestInfo // nil: nobody waits for it
	Children []Family     // by the steps that made them
}

// Family reads a request, its parent, and all that descends from it. Denied when an
// agent asks, through a command in one of its tools, that may not see it.
func (s *Requests) Family(ctx context.Context, id fika.RequestID) (Family, error) {
	info, err := s.c.store.Request(ctx, id)
	if err == nil {
		err = s.c.mayReadRequest(ctx, info)
	}
	if err != nil {
		return Family{}, err
	}
	f, err := s.family(ctx, info)
	if err != nil || info.Parent == "" {
		return f, err
	}
	parent, err := s.c.store.Request(ctx, info.Parent)
	if fika.IsKind(err, fika.NotFound) { // deleted
		parent, err = RequestInfo{Request: fika.Request{ID: info.Parent}}, nil
	}
	f.Parent = &parent
	return f, err
}

func (s *Requests) family(ctx context.Context, info RequestInfo) (Family, error) {
	f := Family{RequestInfo: info}
	children, err := s.c.store.Children(ctx, info.ID)
	if err != nil {
		return f, err
	}
	for _, k := range children {
		below, err := s.family(ctx, k.RequestInfo)
		if err != nil {
			return f, err
		}
		f.Children = append(f.Children, below)
	}
	return f, nil
}

// walk visits all that descends from it.
func (f Family) walk(visit func(Family)) {
	for _, k := range f.Children {
		visit(k)
		k.walk(visit)
	}
}

// Usage is what the request and all it delegated have used, those that are
// still at work left out.
func (f Family) Usage() fika.Usage {
	u := f.Outcome.Usage
	f.walk(func(k Family) { u = u.Add(k.Outcome.Usage) })
	return u
}

// Count is how many requests descend from it.
func (f Family) Count() int {
	n := 0
	f.walk(func(Family) { n++ })
	return n
}
