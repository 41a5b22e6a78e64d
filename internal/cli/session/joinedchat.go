package session

import (
	"context"
	"sync/atomic"

	"fika"
	"fika/internal/service"
)

// joinedChat is the chat that a person has joined. In the meantime it may be renamed,
// and another service may read and write it once a hub runs. It is safe for concurrent
// use.
type joinedChat struct {
	conn *connection
	conv atomic.Pointer[fika.Conversation]
	as   service.Alias // the name under which the person speaks
}

func newJoinedChat(conn *connection, conv fika.Conversation, as service.Alias) *joinedChat {
	c := &joinedChat{conn: conn, as: as}
	c.conv.Store(&conv)
	return c
}

// conversation returns the chat as it was when it was joined, with its present name.
func (c *joinedChat) conversation() fika.Conversation { return *c.conv.Load() }

// name returns the present name of the chat.
func (c *joinedChat) name() string { return string(c.conversation().Name) }

// rename stores the new name of the chat.
func (c *joinedChat) rename(to fika.ConversationName) {
	conv := c.conversation()
	conv.Name = to
	c.conv.Store(&conv)
}

// service returns the service that reads and writes the chat at present.
func (c *joinedChat) service() *service.Service {
	now, _ := c.conn.now()
	return now
}

// isPaused reports whether the chat is paused now; false if it cannot be read.
func (c *joinedChat) isPaused(ctx context.Context) bool {
	now, err := c.service().Chats.ByID(ctx, c.conversation().ID)
	return err == nil && now.Paused
}

// teamRuns returns the unfinished runs of teams that began in the chat.
func (c *joinedChat) teamRuns(ctx context.Context) ([]teamRun, error) {
	runs := c.service().Runs()
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
