package store

import (
	"context"
	"slices"

	"fika"
)

// Unannounced lists the finished queued requests whose response has not been
// published yet, oldest first. For an agent it lists only those that were addressed
// to it: the hub announces what the agent worked for another, on the other's subject.
func (s Requests) Unannounced(ctx context.Context, agent fika.AgentID, limit int) ([]RequestInfo, error) {
	all, err := many(ctx, s.r, scanRequestInfo, selectRequestInfo+` WHERE r.announced_at = 0 AND r.finished_at > 0 AND r.origin = 'queued'
AND (? = '' OR (r.agent = ? AND r.addressed = '')) ORDER BY r.finished_at LIMIT ?`, agent, agent, noLimit(limit))
	for i := 0; err == nil && i < len(all); i++ {
		err = s.withRunUsage(ctx, &all[i])
	}
	return all, s.explain("list unannounced", err)
}

// Announceable returns a request as its response tells of it: for one that stands for a
// run, with the usage of everything that came of the run.
func (s Requests) Announceable(ctx context.Context, id fika.RequestID) (RequestInfo, error) {
	r, err := s.Request(ctx, id)
	if err == nil {
		err = s.explain("read request", s.withRunUsage(ctx, &r))
	}
	return r, err
}

// withRunUsage sets the usage of a request that stands for a run to that of the run.
func (s Requests) withRunUsage(ctx context.Context, r *RequestInfo) (err error) {
	if !StandsForRun(r.Request) {
		return nil
	}
	r.Outcome.Usage, _, err = one(ctx, s.r, scanUsage, `SELECT `+usageSums+` FROM usage u JOIN requests r ON r.id = u.request
WHERE r.chain IN (SELECT x.chain FROM requests x JOIN conversations y ON y.id = x.conversation WHERE y.run = ?)
AND r.n >= COALESCE((SELECT q.n FROM requests q WHERE q.id = ?), 0)`, r.ID, r.ID)
	return err
}

// MarkAnnounced records that responses were published, in one round trip on a server:
// the time of publication is not needed more precisely than this process's clock
// knows it.
func (s Requests) MarkAnnounced(ctx context.Context, ids ...fika.RequestID) error {
	return s.writeWith(ctx, "mark announced", relaxed, func(ctx context.Context, t *tx) error {
		t.now = s.nowMS()
		for _, id := range slices.Sorted(slices.Values(ids)) {
			if err := t.put(ctx, `UPDATE requests SET announced_at = ? WHERE id = ? AND announced_at = 0`, t.now, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// What is kept of messages that were refused: a program may send them without end.
const (
	maxParked     = 1000     // the newest
	maxParkedBody = 16 << 10 // bytes of each
)

// ParkMessage keeps a bus message that could not be understood, with the reason: the
// beginning of it, for as long as few others follow.
func (s Requests) ParkMessage(ctx context.Context, subject string, body []byte, reason string) error {
	if body == nil {
		body = []byte{}
	}
	return s.write(ctx, "park message", func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, `INSERT INTO parked (at, subject, body, reason) VALUES (?, ?, ?, ?)`, t.now, subject, body[:min(len(body), maxParkedBody)], reason); err != nil {
			return err
		}
		_, err := t.exec(ctx, `DELETE FROM parked WHERE id <= (SELECT max(id) FROM parked) - ?`, maxParked)
		return err
	})
}
