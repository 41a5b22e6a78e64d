// Package offer holds the tool with which an agent offers the work in its own worktree for
// landing. An agent has it if its tool_permissions name it.
//
// The tool decides nothing: a [Desk] does, which knows from the call whose work it is.
//
// Read first: [Desk], [New]. The tool owns nothing and is safe for concurrent use.
package offer

import (
	"context"
	"encoding/json"
	"fmt"

	"fika"
	"fika/internal/tool"
)

// Name is the name of the tool.
const Name = "offer"

// Desk takes the work of the agent of a call. A call that is repeated because of a crash
// takes effect once.
type Desk interface {
	// Offer offers all that is in the agent's worktree now.
	Offer(ctx context.Context, c tool.Call, summary string) (fika.Offer, error)
}

// New returns the tool. Without a desk it has a name but is not offered.
func New(d Desk) tool.Tool {
	type arguments struct {
		Summary string `json:"summary"`
	}
	return tool.Func[arguments]{
		About: tool.Spec{
			Name: Name, Description: "Offer all work in your worktree, committed or not, for the project's branch. It is checked and lands later; you are told if it comes back. summary: the commit message.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"}},"required":["summary"]}`),
			Checked:    true, ByName: true, Hidden: d == nil, Effect: fika.Idempotent,
		},
		Do: func(ctx context.Context, c tool.Call, args arguments) (tool.Result, error) {
			o, err := d.Offer(ctx, c, args.Summary)
			switch {
			case ctx.Err() != nil:
				return tool.Result{}, fika.Wrap(fika.Interrupted, Name, ctx.Err())
			case err != nil:
				return tool.Refusal(err), nil
			}
			return tool.Result{Text: said(o)}, nil
		},
	}
}

// said tells the agent what becomes of an offer.
func said(o fika.Offer) string {
	text := fmt.Sprintf("Offer %d of %.12s for %s ", o.Number, o.Tip, o.Into)
	switch {
	case o.State == fika.OfferHeld:
		return text + "waits for a person: " + o.Reason
	case o.State.Ended():
		return text + "is " + string(o.State)
	}
	return text + "is in the queue. If it comes back, you get a message; change what is wrong then, and offer again."
}
