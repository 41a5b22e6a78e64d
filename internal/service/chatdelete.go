package service

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/sleep"
)

// deletePatience is how long the deletion of a chat waits for its running work: longer
// than a tool may take that ignores the request to end.
const deletePatience = 15 * time.Second

// Delete stops the work in a chat, waits until it has stopped, and deletes the chat
// with everything in it. It returns the agents that were at work there and had not
// stopped in time; what they still do no longer has a chat.
func (s *Chats) Delete(ctx context.Context, conv fika.Conversation) (busy []fika.AgentName, err error) {
	if err := s.c.may("conversation.delete"); err != nil {
		return nil, err
	}
	return once(ctx, s.c, "conversation.delete", []any{conv.ID}, func(to *store.Store) ([]fika.AgentName, error) {
		stopped, err := s.c.ChatControl.stop(ctx, s.c.store, conv)
		if err != nil {
			return nil, err
		}
		busy, err := s.awaitStopped(ctx, stopped.Requests)
		if err != nil {
			return busy, err
		}
		return busy, to.DeleteConversation(ctx, conv.ID)
	}, func(*store.Repeated) ([]fika.AgentName, error) { return nil, nil })
}

// awaitStopped waits until requests have ended, and returns the agents of those that
// have not ended within deletePatience. It does not wait for requests whose agent has
// no process or a suspended one: nobody works on them.
func (s *Chats) awaitStopped(ctx context.Context, ids []fika.RequestID) ([]fika.AgentName, error) {
	waiting, cancel := context.WithTimeout(ctx, deletePatience)
	defer cancel()
	for {
		var busy []fika.AgentName
		for _, id := range ids {
			r, err := s.c.store.Request(ctx, id)
			if fika.IsKind(err, fika.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if r.State == fika.Running && s.c.canWork(r.AgentName) && !slices.Contains(busy, r.AgentName) {
				busy = append(busy, r.AgentName)
			}
		}
		if len(busy) == 0 || sleep.For(waiting, lookEvery) != nil {
			return busy, ctx.Err()
		}
	}
}

// canWork reports whether an agent has a process that is able to work.
func (c *Service) canWork(name fika.AgentName) bool {
	lock, err := c.home.Folder(name).Inspect()
	return err == nil && lock.Held && lock.Info.Kind == folder.LockAgent && stuckHolder(name, lock).IsClear()
}
