package session

import (
	"context"
	"sync/atomic"

	"fika"
	"fika/internal/client"
)

// joinedChat is the chat that a person has joined. While they are in it, it may
// get another name, and another client that reads and writes it once a hub runs.
// Several goroutines may use it at once.
type joinedChat struct {
	conn *connection
	conv atomic.Pointer[fika.Conversation]
	as   client.Alias // under which the person speaks
}

func newJoinedChat(conn *connection, conv fika.Conversation, as client.Alias) *joinedChat {
	c := &joinedChat{conn: conn, as: as}
	c.conv.Store(&conv)
	return c
}

// conversation is the chat as it was when it was joined, with the name it has now.
func (c *joinedChat) conversation() fika.Conversation { return *c.conv.Load() }

// name is what the chat is called now.
func (c *joinedChat) name() string { return string(c.conversation().Name) }

// rename takes over the name that the chat has got.
func (c *joinedChat) rename(to fika.ConversationName) {
	conv := c.conversation()
	conv.Name = to
	c.conv.Store(&conv)
}

// client is what the chat is read and written by now.
func (c *joinedChat) client() *client.Client {
	now, _ := c.conn.now()
	return now
}

// isPaused reports whether the chat is paused now; one that cannot be read is not.
func (c *joinedChat) isPaused(ctx context.Context) bool {
	now, err := c.client().Chats.ByID(ctx, c.conversation().ID)
	return err == nil && now.Paused
}

// teamRuns are the runs of teams that were begun in the chat and go on.
func (c *joinedChat) teamRuns(ctx context.Context) ([]teamRun, error) {
	runs := c.client().Runs()
	list, err := runs.InChat(ctx, c.conversation())
	if err != nil {
		return nil, err
	}
	out := make([]teamRun, len(list))
	for i, r := range list {
		steps, err := runs.UnderWay(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		out[i] = teamRun{r, steps}
	}
	return out, nil
}
