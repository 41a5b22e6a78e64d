package app

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/clock"
	"fika/internal/folder"
)

// deletePatience is how long the deletion of a chat waits for what runs in it:
// longer than a tool that ignores its end is allowed to.
const deletePatience = 5 * time.Second

// DeleteChat stops what goes on in a chat, waits until it has stopped, and
// deletes the chat with everything in it. It gives the agents that were at work
// there and had not stopped in time; whatever they do has no chat any more.
func (c *Client) DeleteChat(ctx context.Context, conv fika.Conversation) (busy []fika.AgentName, err error) {
	stopped, err := c.Store.StopChat(ctx, conv.ID)
	if err != nil {
		return nil, err
	}
	for _, id := range stopped.Requests {
		c.RingStopped(ctx, id)
	}
	_ = c.Bus.Flush(ctx)
	if busy, err = c.awaitStopped(ctx, stopped.Requests); err != nil {
		return busy, err
	}
	return busy, c.Store.DeleteConversation(ctx, conv.ID)
}

// awaitStopped waits until requests have ended, and names the agents of those
// that have not after a while. A request whose agent has no process, or one
// that is stopped, is not waited for: nobody works on it.
func (c *Client) awaitStopped(ctx context.Context, ids []fika.RequestID) ([]fika.AgentName, error) {
	waiting, cancel := context.WithTimeout(ctx, deletePatience)
	defer cancel()
	for {
		var busy []fika.AgentName
		for _, id := range ids {
			r, err := c.Store.Request(ctx, id)
			if fika.IsKind(err, fika.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if r.State == fika.Running && c.works(r.AgentName) && !slices.Contains(busy, r.AgentName) {
				busy = append(busy, r.AgentName)
			}
		}
		if len(busy) == 0 || clock.Sleep(waiting, lookEvery) != nil {
			return busy, ctx.Err()
		}
	}
}

// works reports whether an agent has a process that can do anything.
func (c *Client) works(name fika.AgentName) bool {
	lock, err := c.home.Folder(name).Inspect()
	return err == nil && lock.Held && lock.Info.Kind == folder.LockAgent && agentStuck(name, lock) == ""
}
