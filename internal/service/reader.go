package service

import (
	"context"

	"fika"
	"fika/internal/app"
	"fika/internal/reading"
)

// reader is the caller, with a cache of what they may see: a person sees everything, an
// agent that asks through a command in one of its tools sees what package reading
// allows.
type reader struct {
	c       *Service
	agent   reading.Reader // empty for a person
	archive reading.Archive
	known   map[fika.ConversationID]bool
}

func (c *Service) newReader() (*reader, error) {
	return &reader{c, app.ReaderOf(c.who), c.app.Archive(c.store), map[fika.ConversationID]bool{}}, nil
}

// conversation reports whether a conversation may be seen.
func (r *reader) conversation(ctx context.Context, id fika.ConversationID) (bool, error) {
	may, known := r.known[id]
	if known || r.agent == "" {
		return may || r.agent == "", nil
	}
	may, err := r.archive.MayConversation(ctx, r.agent, id)
	if err == nil {
		r.known[id] = may
	}
	return may, err
}

// request reports whether a request may be seen. The agent that asked for it and the
// agent that it belongs to may always see it. A run may be seen by those who may see
// everything that was done in it.
func (r *reader) request(ctx context.Context, q RequestInfo) (bool, error) {
	switch {
	case r.agent == "", r.agent == q.AgentName, q.Payload.Writer == fika.ByAgent && q.Payload.From == string(r.agent):
		return true, nil
	case OfRun(q):
		return r.run(ctx, q.ID)
	}
	return r.conversation(ctx, q.Conversation)
}

func (r *reader) run(ctx context.Context, id fika.RequestID) (bool, error) {
	if r.agent == "" {
		return true, nil
	}
	run, err := r.c.store.Run(ctx, id)
	if err != nil {
		return false, err
	}
	may, known := r.known[run.Conversation]
	if known {
		return may, nil
	}
	list, err := r.c.store.OfRun(ctx, run.ID)
	if err != nil {
		return false, err
	}
	_, hidden, err := r.readable(ctx, list)
	if err == nil {
		r.known[run.Conversation] = hidden == 0
	}
	return hidden == 0, err
}

// readable returns the requests that may be seen; hidden counts the others.
func (r *reader) readable(ctx context.Context, list []RequestInfo) (out []RequestInfo, hidden int, err error) {
	if r.agent == "" {
		return list, 0, nil
	}
	for _, q := range list {
		may, err := r.request(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		if may {
			out = append(out, q)
		} else {
			hidden++
		}
	}
	return out, hidden, nil
}

// mayRead returns Denied to an agent that may not see a conversation.
func (c *Service) mayRead(ctx context.Context, id fika.ConversationID) error {
	r, err := c.newReader()
	if err != nil {
		return err
	}
	may, err := r.conversation(ctx, id)
	if err == nil && !may {
		err = fika.Errorf(fika.Denied, "", "this conversation is not readable by %s (readable_by; of a chat, only those who take part read it)", r.agent)
	}
	return err
}

// mayReadRequest returns Denied to an agent that may not see a request.
func (c *Service) mayReadRequest(ctx context.Context, q RequestInfo) error {
	r, err := c.newReader()
	if err != nil {
		return err
	}
	may, err := r.request(ctx, q)
	if err == nil && !may {
		err = fika.Errorf(fika.Denied, "", "request %s is not readable by %s (readable_by; of a chat, only those who take part read it)", q.ID, r.agent)
	}
	return err
}

// mayReadAgent returns Denied to an agent that may not see what another agent shows.
func (c *Service) mayReadAgent(name fika.AgentName) error {
	r, err := c.newReader()
	if err != nil {
		return err
	}
	return r.archive.CheckReader(r.agent, name)
}
