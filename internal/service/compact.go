package service

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/message"
	"fika/internal/worker"
)

// compactTime is how long to wait for the reply of an agent's process, which may have
// to finish a turn before it calls a model.
const compactTime = 9 * time.Minute

// Compaction is what a person asks for.
type Compaction = worker.Compaction

// Compact makes the process of an agent compact its conversation after the running
// turns; model writes the summary, empty: the agent's own. Error kinds: those of the
// compaction, Locked if there is no bus, Detached if the reply takes too long: the
// compaction may still happen.
func (s *Agents) Compact(ctx context.Context, name fika.AgentName, what Compaction, model string) (message.Compacted, error) {
	return s.askCompaction(ctx, name, message.Control{Rolling: what.Rolling, Instructions: what.Instructions, Model: model})
}

// UndoCompaction makes the process of an agent undo the last compaction of its
// conversation, with the error kinds of [Agents.Compact].
func (s *Agents) UndoCompaction(ctx context.Context, name fika.AgentName) (message.Compacted, error) {
	return s.askCompaction(ctx, name, message.Control{Undo: true})
}

func (s *Agents) askCompaction(ctx context.Context, name fika.AgentName, order message.Control) (message.Compacted, error) {
	if err := s.c.may("agent.compact"); err != nil {
		return message.Compacted{}, err
	}
	return s.c.controlCompaction(ctx, name, order)
}

// controlCompaction has the process of an agent carry out an order, and waits for that.
func (c *Service) controlCompaction(ctx context.Context, name fika.AgentName, order message.Control) (done message.Compacted, err error) {
	order.Action = "compact"
	body, err := json.Marshal(order)
	if err != nil {
		return done, err
	}
	waiting, cancel := context.WithTimeout(ctx, compactTime)
	defer cancel()
	data, err := c.bus.Request(waiting, c.subjects.Control(name), body)
	switch {
	case fika.IsKind(err, fika.NotFound):
		return done, fika.Errorf(fika.Locked, "", "@%s runs and cannot be asked: there is no bus (fika up starts one; fika agent stop %s frees the context)", name, name)
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return done, fika.Errorf(fika.Detached, "", "you stopped waiting; @%s compacts when its turn has ended (fika context show %s)", name, name)
	case err != nil:
		return done, err
	}
	var reply message.ControlReply
	if err := json.Unmarshal(data, &reply); err != nil {
		return done, fika.Wrap(fika.Failed, "compact", err)
	}
	if !reply.OK {
		kind := fika.Kind(reply.ErrorKind)
		if kind == "" {
			kind = fika.Failed
		}
		return done, fika.Errorf(kind, "", "%s", reply.Error)
	}
	return done, fika.Wrap(fika.Failed, "compact", json.Unmarshal(reply.Data, &done))
}

// ChatCompacted says what became of one agent's view of a chat.
type ChatCompacted struct {
	Agent fika.AgentName
	message.Compacted
	Err error // why it was not compacted: Conflict if there is nothing to compact
}

// ChatCompaction is a compaction of a chat.
type ChatCompaction struct {
	Only         fika.AgentName // whose view is compacted; empty: those of all agents that take part
	Instructions string
	// Busy is called before waiting for the turns of an agent; may be nil.
	Busy func(fika.AgentName)
	app.Person
}

// Compact compacts what agents see of a chat, one after the other: by their processes after
// their running turns, and here for those without one. The error says that nothing was
// tried; NotFound if no agent takes part.
func (s *ChatControl) Compact(ctx context.Context, conv fika.Conversation, o ChatCompaction) ([]ChatCompacted, error) {
	if err := s.c.may("conversation.compact"); err != nil {
		return nil, err
	}
	if len(o.Instructions) > worker.MaxInstructions {
		return nil, fika.Errorf(fika.Invalid, "", "the instructions have %d bytes; at most %d are taken", len(o.Instructions), worker.MaxInstructions)
	}
	names, err := s.c.Chats.AgentsIn(ctx, conv)
	if o.Only != "" {
		names = slices.DeleteFunc(names, func(n fika.AgentName) bool { return n != o.Only })
	}
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0 && o.Only != "":
		return nil, fika.Errorf(fika.NotFound, "", "@%s does not take part in %q", o.Only, conv.Name)
	case len(names) == 0:
		return nil, fika.Errorf(fika.NotFound, "", "no agent takes part in %q", conv.Name)
	}
	var out []ChatCompacted
	for _, name := range names {
		one := ChatCompacted{Agent: name}
		one.Compacted, one.Err = s.compactView(ctx, conv, name, o)
		if one.Err == nil {
			s.showCompaction(ctx, conv, name)
		}
		out = append(out, one)
	}
	return out, nil
}

// compactView compacts one agent's view of a chat.
func (s *ChatControl) compactView(ctx context.Context, conv fika.Conversation, name fika.AgentName, o ChatCompaction) (message.Compacted, error) {
	here := s.c.app.CloneUnopened() // an App is for one goroutine
	defer here.Close()
	what := Compaction{Chat: conv.Name, Instructions: o.Instructions}
	done, err := worker.Compact(ctx, here, worker.CompactOptions{Context: name, Compaction: what, Person: o.Person})
	if worker.IsHeldByAgent(err) {
		if o.Busy != nil {
			o.Busy(name)
		}
		return s.c.controlCompaction(ctx, name, message.Control{ConversationID: string(conv.Name), Instructions: o.Instructions})
	}
	return done.Message(), err
}

// showCompaction lets those who watch a chat know of its newest compaction.
func (s *ChatControl) showCompaction(ctx context.Context, conv fika.Conversation, name fika.AgentName) {
	row, err := s.c.store.Agent(ctx, name)
	if err != nil {
		return
	}
	if entry, err := s.c.store.LastCompaction(ctx, conv.ID, row.ID, math.MaxInt64); err == nil && entry != nil {
		s.c.waker.Show(conv, *entry)
		_ = s.c.bus.Flush(ctx)
	}
}
