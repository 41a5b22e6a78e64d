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
	"fika/internal/bus/message"
	"fika/internal/text/hint"
	"fika/internal/worker"
)

// compactTime is how long to wait for the reply of an agent's process, which may have
// to finish a turn before it calls a model.
const compactTime = 9 * time.Minute

// Compaction says what is compacted, and Compacted what that did.
type (
	Compaction = worker.Compaction
	Compacted  = message.Compacted
)

// CompactionOrder is what a person asks for.
type CompactionOrder struct {
	Compaction
	Model string        // that writes the summary; empty: the agent's own
	Wait  time.Duration // for another command that holds the context
	// Busy is called before waiting for the turns of an agent's process; may be nil.
	Busy func(fika.AgentName)
	app.Person
}

// Compact compacts an agent's own conversation, or what it sees of a chat: here, or by its
// process after the running turns. Repeat says that it was done before, under this key.
// Error kinds: those of the compaction, Locked if a process holds it and there is no bus,
// Detached if the reply takes too long: the compaction may still happen.
func (s *Agents) Compact(ctx context.Context, name fika.AgentName, o CompactionOrder) (done message.Compacted, repeat bool, err error) {
	if err := s.c.may("agent.compact"); err != nil {
		return done, false, err
	}
	return s.c.compact(ctx, "agent.compact", name, o)
}

func (c *Service) compact(ctx context.Context, verb string, name fika.AgentName, o CompactionOrder) (done message.Compacted, repeat bool, err error) {
	body := []any{name, o.Chat, o.Rolling, o.Instructions, o.Model}
	repeat, err = c.changesWindow(ctx, verb, body, name, o.Chat, func() error {
		here := c.app.CloneUnopened() // an App is for one goroutine
		defer here.Close()
		flags := map[string]string{}
		if o.Model != "" {
			flags["model"] = o.Model
		}
		got, err := worker.Compact(ctx, here, worker.CompactOptions{Context: name, Compaction: o.Compaction, Wait: o.Wait, Flags: flags, Person: o.Person})
		done = got.Message()
		if worker.IsHeldByAgent(err) {
			if o.Busy != nil {
				o.Busy(name)
			}
			done, err = c.controlCompaction(ctx, name, message.Control{ConversationID: string(o.Chat), Rolling: o.Rolling, Instructions: o.Instructions, Model: o.Model})
		}
		return err
	})
	return done, repeat, err
}

// UndoCompaction undoes the last compaction of an agent's conversation and says what it
// was, with the error kinds of [Agents.Compact].
func (s *Agents) UndoCompaction(ctx context.Context, name fika.AgentName, o CompactionOrder) (undone string, repeat bool, err error) {
	if err := s.c.may("agent.compact"); err != nil {
		return "", false, err
	}
	repeat, err = s.c.changesWindow(ctx, "agent.compact", []any{name, "undo"}, name, "", func() error {
		here := s.c.app.CloneUnopened()
		defer here.Close()
		undone, err = worker.UndoCompaction(ctx, here, name, o.Wait, o.Warn)
		if worker.IsHeldByAgent(err) {
			var done message.Compacted
			done, err = s.c.controlCompaction(ctx, name, message.Control{Undo: true})
			undone = done.Undone
		}
		return err
	})
	return undone, repeat, err
}

// changesWindow does what appends a compaction to an agent's conversation, or to its view
// of a chat. With a key it is done once: one that was interrupted counts as done if there
// is another compaction than before.
func (c *Service) changesWindow(ctx context.Context, verb string, body []any, name fika.AgentName, chat fika.ConversationName, do func() error) (repeat bool, err error) {
	last := func() (any, error) {
		row, err := c.store.Agent(ctx, name)
		if fika.IsKind(err, fika.NotFound) {
			return 0, nil
		}
		conv, view := row.ActiveAsk, fika.AgentID("")
		if err == nil && chat != "" {
			var of fika.Conversation
			of, err = c.store.Conversation(ctx, chat)
			conv, view = of.ID, row.ID
		}
		if err != nil || conv == "" {
			return 0, err
		}
		entry, err := c.store.LastCompaction(ctx, conv, view, math.MaxInt64)
		if err != nil || entry == nil {
			return 0, err
		}
		return entry.Seq, nil
	}
	repeat = true
	err = c.intent(ctx, verb, body, wish{state: last, do: func() error {
		repeat = false
		return do()
	}})
	return repeat && err == nil, err
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
		return done, fika.Errorf(fika.Locked, "", "@%s runs and cannot be asked: no bus (%s starts one; %s frees the context)", name, hint.Up, hint.AgentStop.With(name))
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return done, fika.WithHint(fika.Errorf(fika.Detached, "", "you stopped waiting; @%s compacts when its turn has ended", name), hint.ContextShow.With(name))
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
	Repeat bool  // it was done before, under this key
	Err    error // why it was not compacted: Conflict if there is nothing to compact
}

// Compact compacts what agents see of a chat, one after the other: only one of them, or
// all that take part. The error says that nothing was tried; NotFound if no agent takes
// part.
func (s *ChatControl) Compact(ctx context.Context, conv fika.Conversation, only fika.AgentName, o CompactionOrder) ([]ChatCompacted, error) {
	if err := s.c.may("conversation.compact"); err != nil {
		return nil, err
	}
	if len(o.Instructions) > worker.MaxInstructions {
		return nil, fika.Errorf(fika.Invalid, "", "the instructions have %d bytes; at most %d are taken", len(o.Instructions), worker.MaxInstructions)
	}
	names, err := s.c.Chats.AgentsIn(ctx, conv)
	if only != "" {
		names = slices.DeleteFunc(names, func(n fika.AgentName) bool { return n != only })
	}
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0 && only != "":
		return nil, fika.Errorf(fika.NotFound, "", "@%s does not take part in %q", only, conv.Name)
	case len(names) == 0:
		return nil, fika.Errorf(fika.NotFound, "", "no agent takes part in %q", conv.Name)
	}
	o.Chat = conv.Name
	var out []ChatCompacted
	for _, name := range names {
		one := ChatCompacted{Agent: name}
		one.Compacted, one.Repeat, one.Err = s.c.compact(ctx, "conversation.compact", name, o)
		if one.Err == nil && !one.Repeat {
			s.showCompaction(ctx, conv, name)
		}
		out = append(out, one)
	}
	return out, nil
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
