package service

import (
	"context"
	"log/slog"
	"time"

	"fika"
	"fika/internal/store"
)

// What one member of the bus may have waiting or running at a time. More is refused, so
// that a program that floods its agents does not fill the home.
const (
	maxMemberRequests = 200
	maxMemberBytes    = 16 << 20 // of their messages
)

// memberLoad counts the unfinished requests of each member since the hub started. It
// belongs to the goroutine that takes requests in.
type memberLoad struct {
	store  *store.Store
	log    *slog.Logger
	now    func() time.Time
	open   map[string]map[fika.RequestID]int // bytes of each request
	looked map[string]time.Time              // when finished requests were last left out
}

func newMemberLoad(s *store.Store, log *slog.Logger, now func() time.Time) memberLoad {
	return memberLoad{store: s, log: log, now: now, open: map[string]map[fika.RequestID]int{}, looked: map[string]time.Time{}}
}

// admit returns an error of kind Limit if a member has too much unfinished work to send
// more. A repeat of a request is no more work.
func (l *memberLoad) admit(ctx context.Context, member string, id fika.RequestID, bytes int) error {
	if member == "" {
		return nil
	}
	if _, repeat := l.open[member][id]; repeat || l.fits(member, bytes) {
		return nil
	}
	if now := l.now(); now.Sub(l.looked[member]) >= time.Second { // looking costs a query for each request
		l.looked[member] = now
		for id := range l.open[member] {
			switch info, err := l.store.Request(ctx, id); {
			case fika.IsKind(err, fika.NotFound), err == nil && info.State.Terminal():
				delete(l.open[member], id)
			case err != nil:
				return err
			}
		}
		if l.fits(member, bytes) {
			return nil
		}
		l.log.Warn("member has too much unfinished work", "member", member, "requests", len(l.open[member]))
	}
	if _, err := l.store.Request(ctx, id); err == nil {
		return nil // what is known already is answered with what is known
	} else if !fika.IsKind(err, fika.NotFound) {
		return err
	}
	return fika.Errorf(fika.Limit, "", "%s has %d requests that are not finished; at most %d, of %d MiB together, are taken: wait for their responses", member, len(l.open[member]), maxMemberRequests, maxMemberBytes>>20)
}

func (l *memberLoad) fits(member string, bytes int) bool {
	for _, n := range l.open[member] {
		bytes += n
	}
	return len(l.open[member]) < maxMemberRequests && bytes <= maxMemberBytes
}

// admitted counts a request that was accepted.
func (l *memberLoad) admitted(member string, id fika.RequestID, bytes int) {
	if member == "" {
		return
	}
	if l.open[member] == nil {
		l.open[member] = map[fika.RequestID]int{}
	}
	l.open[member][id] = bytes
}
