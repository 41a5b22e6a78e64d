package service

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fika"
	"fika/internal/message"
)

// compactTime is how long to wait for the reply of an agent's process, which may have
// to finish a turn before it calls a model.
const compactTime = 9 * time.Minute

// Compact makes the process of an agent compact its conversation after the running
// turns. model and rolling are as for a compaction by hand; undo reverts the last one.
// Error kinds: those of the compaction, Locked if there is no bus, Detached if the
// reply takes too long: the compaction may still happen.
func (s *Agents) Compact(ctx context.Context, name fika.AgentName, rolling, undo bool, model string) (message.Compacted, error) {
	if err := s.c.may("agent.compact"); err != nil {
		return message.Compacted{}, err
	}
	var done message.Compacted
	body, err := json.Marshal(message.Control{Action: "compact", Rolling: rolling, Undo: undo, Model: model})
	if err != nil {
		return done, err
	}
	waiting, cancel := context.WithTimeout(ctx, compactTime)
	defer cancel()
	data, err := s.c.bus.Request(waiting, s.c.subjects.Control(name), body)
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
