package outcome_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/report/outcome"
	"fika/internal/store"
)

// rows is the part of a store that knows what is not announced.
type rows struct {
	list   []store.RequestInfo
	marked []fika.RequestID
}

func (r *rows) Unannounced(context.Context, fika.AgentID, int) ([]store.RequestInfo, error) {
	return r.list, nil
}

func (r *rows) MarkAnnounced(_ context.Context, ids ...fika.RequestID) error {
	r.marked = append(r.marked, ids...)
	return nil
}

// wire records what is published and fails where it is told to.
type wire struct {
	bus.Nobody
	sent  []string
	after int // publishing fails after so many; 0: never
	flush error
}

func (w *wire) MaxPayload() int { return 4096 }

func (w *wire) Publish(subject string, data []byte) error {
	if w.after > 0 && len(w.sent) >= w.after {
		return errors.New("gone")
	}
	w.sent = append(w.sent, subject)
	return nil
}

func (w *wire) Flush(context.Context) error { return w.flush }

func done(id fika.RequestID, agent fika.AgentName, answer string) store.RequestInfo {
	return store.RequestInfo{
		Request:   fika.Request{ID: id, State: fika.Done, Outcome: fika.Outcome{Answer: answer}},
		AgentName: agent,
	}
}

func TestAnnounce(t *testing.T) {
	subjects := bus.Subjects{Prefix: "fika"}
	list := []store.RequestInfo{done("r1", "arya", "a"), done("r2", "sam", "b"), done("r3", "arya", "c")}
	for name, test := range map[string]struct {
		wire   wire
		leave  func(store.RequestInfo) bool
		sent   int
		marked []fika.RequestID
	}{
		"all":                         {wire{}, nil, 3, []fika.RequestID{"r1", "r2", "r3"}},
		"what was sent before a loss": {wire{after: 2}, nil, 2, []fika.RequestID{"r1", "r2"}},
		"nothing unconfirmed":         {wire{flush: errors.New("gone")}, nil, 3, nil},
		"not what is another's": {
			wire{}, func(r store.RequestInfo) bool { return r.AgentName == "arya" }, 1, []fika.RequestID{"r2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &rows{list: list}
			outcome.Announce(t.Context(), s, &test.wire, subjects, "", test.leave)
			if len(test.wire.sent) != test.sent || !slices.Equal(s.marked, test.marked) {
				t.Errorf("sent %v, marked %v; want %d and %v", test.wire.sent, s.marked, test.sent, test.marked)
			}
		})
	}
}

func TestResponseFits(t *testing.T) {
	const limit = 4096
	for _, answer := range []string{"short", strings.Repeat("ä", 5000), strings.Repeat("\x01", 5000), strings.Repeat("<&>", 5000)} {
		data := outcome.ResponseBody(done("r1", "arya", answer), limit)
		var body message.Response
		if err := json.Unmarshal(data, &body); err != nil || len(data) > limit {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		whole := body.Result.Content == answer
		if whole != (len(answer) < 100) || !utf8.ValidString(body.Result.Content) {
			t.Errorf("%.20q… of %d bytes became %.60q", answer, len(answer), body.Result.Content)
		}
		if !whole && !strings.Contains(body.Result.Content, "fika request show r1") {
			t.Errorf("does not say where the whole is: %.80q", body.Result.Content)
		}
	}
}
