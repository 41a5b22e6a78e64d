package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

// Family is a request with who it works for and what it has delegated.
type Family struct {
	store.RequestInfo
	Parent   *store.RequestInfo // nil: nobody waits for it
	Children []Family           // by the steps that made them
}

// Family reads a request, its parent, and all that descends from it.
func (c *Client) Family(ctx context.Context, id fika.RequestID) (Family, error) {
	info, err := c.Store.Request(ctx, id)
	if err != nil {
		return Family{}, err
	}
	f, err := c.family(ctx, info)
	if err != nil || info.Parent == "" {
		return f, err
	}
	parent, err := c.Store.Request(ctx, info.Parent)
	if fika.IsKind(err, fika.NotFound) { // deleted
		parent, err = store.RequestInfo{Request: fika.Request{ID: info.Parent}}, nil
	}
	f.Parent = &parent
	return f, err
}

func (c *Client) family(ctx context.Context, info store.RequestInfo) (Family, error) {
	f := Family{RequestInfo: info}
	children, err := c.Store.Children(ctx, info.ID)
	if err != nil {
		return f, err
	}
	for _, k := range children {
		below, err := c.family(ctx, k.RequestInfo)
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

// awaited says for whom an agent's suspended requests wait, and why one of
// those might be long in coming; empty: for nobody.
func (s *Agents) awaited(ctx context.Context, waiting []store.RequestInfo, now time.Time) string {
	var parts []string
	for _, r := range waiting {
		if fika.WaitReason(r.Reason) != fika.WaitChild {
			continue
		}
		children, err := s.Client.Store.Children(ctx, r.ID)
		if err != nil {
			continue
		}
		for _, k := range children {
			if !k.State.Terminal() {
				parts = append(parts, s.awaitedOne(ctx, k, now))
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return "waits for " + strings.Join(slices.Compact(parts), ", ")
}

func (s *Agents) awaitedOne(ctx context.Context, k store.Child, now time.Time) string {
	var notes []string
	if row, err := s.Client.Store.Agent(ctx, k.AgentName); err == nil {
		switch {
		case row.Desired.Stopped():
			notes = append(notes, "stopped by hand")
		case row.State == fika.AgentFailed:
			notes = append(notes, "failed")
		case k.State == fika.Open && s.config().Agent(k.AgentName) == nil && row.Owner == "":
			notes = append(notes, "nobody starts it: fika agent run "+string(k.AgentName))
		}
	}
	if left := k.Deadline.Sub(now); left > 0 {
		notes = append(notes, fmt.Sprintf("at most %s more", left.Round(time.Second)))
	}
	return fmt.Sprintf("@%s (%s)", k.AgentName, strings.Join(notes, ", "))
}
