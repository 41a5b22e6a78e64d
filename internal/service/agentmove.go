package service

import (
	"context"
	"time"

	"fika"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// Move has an agent go to the host of a name, and waits until it is there: the host that it
// is on lets it end what it does, and sends its texts along. leave says that the files in its
// workspace stay behind, and, if the host that it is on is down, its texts, too. Error kinds:
// those of [store.Hosts.MoveToHost], Denied if the host does not let it go, Detached if ctx
// ends first; then it goes nevertheless.
func (s *Agents) Move(ctx context.Context, row fika.Agent, host string, leave bool) error {
	if err := s.c.may("agent.move"); err != nil {
		return err
	}
	if !s.c.Hosts().Shared() {
		return fika.Errorf(fika.Invalid, "", "the database is a file of this home, so there are no other hosts")
	}
	gone, err := s.c.store.MoveToHost(ctx, row.ID, host, leave)
	s.c.wakeHub(ctx, row.Name)
	if err != nil || gone {
		return err
	}
	for {
		m, there, err := s.c.store.MoveOf(ctx, row.ID)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil && !there:
			return nil
		case m.Refused != "":
			return fika.WithHint(fika.Errorf(fika.Denied, "", "@%s does not go: %s", row.Name, m.Refused), hint.AgentMoveLeave.With(row.Name, host))
		}
		if sleep.For(ctx, moveLook) != nil {
			return fika.WithHint(fika.Errorf(fika.Detached, "", "you stopped waiting; @%s goes to %s when its work has ended", row.Name, host), hint.AgentList.With())
		}
	}
}

// moveLook is how often it is looked whether an agent has come to its new host.
const moveLook = 200 * time.Millisecond
