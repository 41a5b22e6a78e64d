package daemon

import (
	"context"
	"errors"
	"strings"

	"fika"
	"fika/internal/bus/message"
)

// controlPool carries out a control message to a pool: it cancels a request, whichever
// agent works it, or tells all members to leave. It refuses actions on a single
// conversation, and names the members. Error kinds: Invalid, NotFound, Storage.
func (h hubHome) controlPool(ctx context.Context, members []fika.AgentName, c message.Control) error {
	switch c.Action {
	case "cancel":
		id, err := c.ToCancel()
		if err == nil {
			_, err = h.store.Cancel(ctx, id, "cancelled by a control message")
		}
		return err
	case "shutdown":
		want, err := c.Desired()
		if err != nil {
			return err
		}
		var wrong []error
		for _, name := range members {
			row, err := h.store.Agent(ctx, name)
			if fika.IsKind(err, fika.NotFound) { // no host has taken it
				continue
			}
			if err == nil {
				err = h.store.SetDesired(ctx, row.ID, want)
			}
			wrong = append(wrong, err)
		}
		return errors.Join(wrong...)
	case "reset", "switch", "compact", "summarise":
		var names []string
		for _, name := range members {
			names = append(names, string(name))
		}
		return fika.Errorf(fika.Invalid, "control", "this is a pool, and each of its members has a conversation of its own: send %s to one of %s", c.Action, strings.Join(names, ", "))
	}
	return c.UnknownAction()
}
