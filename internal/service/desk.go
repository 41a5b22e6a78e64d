package service

import (
	"context"
	"sync"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/tool"
)

// Desk is what tools of agents in this process ask: it is a [board.Desk] and an
// [offer.Desk]. Who asks is the agent of a call. It is safe for concurrent use.
type Desk struct {
	open func(context.Context) (*Service, error)

	mu sync.Mutex
	c  *Service // nil: not opened yet
}

// DeskOf returns the desk for the tools of agents in this process. The service is opened
// when a tool is first called.
func DeskOf(open func(context.Context) (*Service, error)) *Desk { return &Desk{open: open} }

// as returns the service for the agent of a call. What it writes is refused once the
// request has ended, and a call that is run again writes once.
func (d *Desk) as(ctx context.Context, c tool.Call) (*Service, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c == nil {
		s, err := d.open(ctx)
		if err != nil {
			return nil, err
		}
		d.c = s
	}
	as := d.c.As(api.Principal{Kind: api.Agent, Name: string(c.Agent), Door: api.DoorTool, Request: string(c.Request), Step: c.Step})
	if c.Step != "" {
		as = as.With(api.Write{Key: c.Name})
	}
	return as, nil
}

// board returns the board for the agent of a call.
func (d *Desk) board(ctx context.Context, c tool.Call) (*Board, error) {
	as, err := d.as(ctx, c)
	if err != nil {
		return nil, err
	}
	b := &Board{c: as, call: &c}
	return b, b.may(ctx, "board.show")
}

// Offer implements [offer.Desk].
func (d *Desk) Offer(ctx context.Context, c tool.Call, summary string) (fika.Offer, error) {
	as, err := d.as(ctx, c)
	if err != nil {
		return fika.Offer{}, err
	}
	return (&Offers{c: as, call: &c}).Submit(ctx, summary)
}

// passedOn returns the rights that go with what an agent says, and what text from outside it
// has read: a call in this process knows both exactly.
func passedOn(call *tool.Call, speaker *app.Speaker) (*fika.Rights, string) {
	if call != nil {
		return call.Rights, call.Taint
	}
	return speaker.PassedOn()
}

// heldFor returns why something waits for a person that was added or changed by a turn that
// has read text from outside; "" if it does not.
func (c *Service) heldFor(taint, how string) string {
	if taint == "" || c.config().Board.Tainted != config.TaskAsks {
		return ""
	}
	return how + " by a turn that has read text from outside (" + taint + ")"
}
