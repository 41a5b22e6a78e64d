package service

import (
	"context"

	"fika"
	"fika/internal/report/trace"
	"fika/internal/text/hint"
)

// Traced is a piece of work with how its time and money were spent.
type Traced struct {
	ID     fika.RequestID
	What   string // chain, request or run
	Hidden int    // number of requests left out because the caller may not see them
	trace.Trace
}

// Trace resolves an id or a unique prefix of it: a run of a workflow; a chain, by its
// root; otherwise a request with all that it delegated. The name of a conversation
// stands for the last chain in it. It returns NotFound for anything else.
func (c *Service) Trace(ctx context.Context, word string) (Traced, error) {
	t, list, err := c.traced(ctx, fika.RequestID(word))
	if err != nil {
		return t, err
	}
	v, all := c.sight(), len(list)
	if list, err = v.only(ctx, list); err != nil {
		return t, err
	}
	t.Hidden = all - len(list)
	if t.Hidden == all && all > 0 {
		return t, fika.Errorf(fika.Denied, "", "the %s %s is not readable by %s (readable_by; of a chat, only those who take part read it)", t.What, t.ID, c.who.Name)
	}
	rows, err := c.store.Trace(ctx, list)
	t.Trace = trace.SpansOf(rows, c.now())
	t.NoteUnpriced(c.CostKnown)
	return t, err
}

func (c *Service) traced(ctx context.Context, id fika.RequestID) (Traced, []RequestInfo, error) {
	r, err := c.store.Request(ctx, id)
	switch {
	case err == nil && OfRun(r):
		run, err := c.store.Run(ctx, r.ID)
		if err != nil {
			return Traced{}, nil, err
		}
		list, err := c.store.OfRun(ctx, run.ID)
		return Traced{ID: run.ID, What: "run"}, list, err
	case err == nil && r.Chain == r.ID:
		list, err := c.store.OfChain(ctx, r.ID)
		return Traced{ID: r.ID, What: "chain"}, list, err
	case err == nil:
		list, err := c.store.OfChain(ctx, r.Chain)
		return Traced{ID: r.ID, What: "request"}, below(r.ID, list), err
	case !fika.IsKind(err, fika.NotFound):
		return Traced{}, nil, err
	}
	if _, chainErr := c.store.Chain(ctx, id); chainErr == nil {
		list, err := c.store.OfChain(ctx, id)
		return Traced{ID: id, What: "chain"}, list, err
	}
	if conv, chatErr := c.Chats.FindAnyKind(ctx, string(id)); chatErr == nil {
		chains, err := c.store.Chains(ctx, conv.ID)
		if err != nil || len(chains) == 0 {
			return Traced{}, nil, orNothingDone(err, conv)
		}
		list, err := c.store.OfChain(ctx, chains[0].Root)
		return Traced{ID: chains[0].Root, What: "chain"}, list, err
	}
	return Traced{}, nil, fika.WithHint(fika.Errorf(fika.NotFound, "", "chain, request, run or conversation %q not found", id), hint.RequestList.With())
}

func orNothingDone(err error, conv fika.Conversation) error {
	if err != nil {
		return err
	}
	return fika.Errorf(fika.NotFound, "", "no agent has worked in %s yet", conv.Name)
}

// below returns a request and its descendants, from a list in which parents come first.
func below(id fika.RequestID, list []RequestInfo) []RequestInfo {
	in := map[fika.RequestID]bool{id: true}
	var out []RequestInfo
	for _, r := range list {
		if in[r.ID] || in[r.Parent] && r.Parent != "" {
			in[r.ID] = true
			out = append(out, r)
		}
	}
	return out
}
