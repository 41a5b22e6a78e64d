package app

import (
	"context"

	"fika"
	"fika/internal/api"
	"fika/internal/rights/caller"
	"fika/internal/rights/guard"
	"fika/internal/store"
)

// Speaker is an agent that speaks through a command in one of its tools, and the
// request that the tool runs for.
type Speaker struct {
	Agent   fika.AgentName
	Request fika.Request
}

// SpeakerOf returns the agent that a principal speaks as, or nil if it is none. It
// returns Denied for a tool whose agent or request is gone or belongs to another home,
// because its messages would have no chain.
func SpeakerOf(ctx context.Context, s *store.Store, p api.Principal) (*Speaker, error) {
	switch {
	case p.Kind == api.Nobody:
		return nil, fika.Errorf(fika.Denied, "", "nobody asks")
	case p.Kind != api.Agent:
		return nil, nil
	}
	if fika.IsJobMark(p.Step) {
		return nil, fika.Errorf(fika.Denied, "", "a background command cannot speak for its agent: it outlasts what its agent was asked")
	}
	if p.Name == caller.Unknown {
		who, err := markedSpeaker(ctx, s, fika.RequestID(p.Request))
		if err != nil {
			return nil, err
		}
		return who, who.goesOn(ctx, s)
	}
	name, err := fika.ParseAgentName(p.Name)
	if err != nil {
		return nil, fika.Errorf(fika.Denied, "", "@%s belongs to another home and cannot speak in this one", p.Name)
	}
	row, err := s.Agent(ctx, name)
	if err != nil {
		return nil, err
	}
	list, err := s.ListRequests(ctx, store.RequestFilter{Agent: row.ID, States: []fika.RequestState{fika.Running}})
	if err != nil {
		return nil, err
	}
	if r := chooseRequest(list, fika.RequestID(p.Request)); r != nil {
		who := &Speaker{Agent: row.Name, Request: *r}
		return who, who.goesOn(ctx, s)
	}
	return nil, fika.Errorf(fika.Denied, "", "@%s works on nothing any more: what a tool leaves running cannot speak for it", name)
}

// goesOn returns Limit if a limit has stopped the speaker's chain, so that a tool in a
// loop does not fill the chat.
func (s *Speaker) goesOn(ctx context.Context, from *store.Store) error {
	chain, err := from.Chain(ctx, s.Request.Chain)
	if fika.IsKind(err, fika.NotFound) {
		return nil
	}
	if err == nil && chain.LimitHit != "" {
		return fika.Errorf(fika.Limit, "", "limit reached (%s): @%s cannot start more work", chain.LimitHit, s.Agent)
	}
	return err
}

// chooseRequest returns the running request that a mark names, else the deepest one,
// which has the least left to spend.
func chooseRequest(list []store.RequestInfo, marked fika.RequestID) *fika.Request {
	var deepest *fika.Request
	for i := range list {
		r := &list[i].Request
		if r.ID == marked {
			return r
		}
		if deepest == nil || r.Depth > deepest.Depth {
			deepest = r
		}
	}
	return deepest
}

// markedSpeaker determines the speaker from FIKA_STEP alone.
func markedSpeaker(ctx context.Context, s *store.Store, id fika.RequestID) (*Speaker, error) {
	gone := fika.Errorf(fika.Denied, "", "FIKA_STEP says that a tool asks, but its request is not running: unset FIKA_STEP if you are a person")
	if id == "" {
		return nil, gone
	}
	info, err := s.Request(ctx, id)
	switch {
	case fika.IsKind(err, fika.NotFound), err == nil && info.State != fika.Running:
		return nil, gone
	case err != nil:
		return nil, err
	}
	return &Speaker{Agent: info.AgentName, Request: info.Request}, nil
}

// PassedOn returns the rights that go with what the agent causes, and the outside text
// it has read. The command of a tool that reaches the network may have read some just
// now.
func (s *Speaker) PassedOn() (*fika.Rights, string) {
	if s == nil {
		return nil, ""
	}
	r, taint := s.Request.Passes, s.Request.Taint
	if r == nil { // its turn has only begun
		r = s.Request.Rights
	}
	if taint == "" && r != nil && (r.Network || len(r.Reach) > 0) {
		taint = "a command with the network"
	}
	return r, taint
}

// MayCall returns an error if the caller may not ask an agent: the speaker, or a person
// if s is nil. It returns Denied if the agent does not allow it (callable_by).
func (r *Resolver) MayCall(ctx context.Context, s *Speaker, to fika.AgentName) error {
	who := guard.User
	if s != nil {
		who = string(s.Agent)
	}
	by, err := r.CallableBy(ctx, to)
	if err != nil {
		return err
	}
	if !r.Allows(ctx, by, who) {
		return fika.Errorf(fika.Denied, "", "%s; nothing was sent", guard.UncallableReason(by, to))
	}
	return nil
}

// SignRequest puts the agent, its chain and its depth into a request that it makes. It
// returns Limit if the chain has reached its greatest depth. A nil Speaker changes
// nothing.
func (s *Speaker) SignRequest(n store.NewRequest, l store.Limits) (store.NewRequest, error) {
	if s == nil {
		return n, nil
	}
	if err := s.CheckDepth(l); err != nil {
		return n, err
	}
	n.Payload.From, n.Payload.Writer = string(s.Agent), fika.ByAgent
	n.Chain, n.Depth = s.Request.Chain, s.Request.Depth+1
	n.Rights, n.Taint = s.PassedOn()
	return n, nil
}

// CheckDepth returns Limit if the agent's chain has reached its greatest depth.
func (s *Speaker) CheckDepth(l store.Limits) error {
	if l.MaxDepth > 0 && s.Request.Depth+1 >= l.MaxDepth {
		return fika.Errorf(fika.Limit, "", "limit of %d answers in a row reached: @%s cannot start more work", l.MaxDepth, s.Agent)
	}
	return nil
}
