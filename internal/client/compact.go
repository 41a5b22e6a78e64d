package client

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fika"
	"fika/internal/message"
)

// compactTime is how long an answer of an agent's process is waited for: it may
// have to finish a turn, and then asks a model.
const compactTime = 9 * time.Minute

// Compact lets the process of an agent compact its conversation, after the turns
// that run. model and rolling are as for a compaction by hand; undo takes the
// last one back. Error kinds: those of the compaction, Failed when there is no
// bus, Detached when the answer takes too long: it may still come to that.
func (s *Agents) Compact(ctx context.Context, name fika.AgentName, rolling, undo bool, model string) (message.Compacted, error) {
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
