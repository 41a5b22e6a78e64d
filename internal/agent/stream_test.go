package agent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/turn"
)

// told is one status and when it was published.
type told struct {
	message.Status
	at time.Time
}

// recorder is a bus that keeps the statuses published on it.
type recorder struct {
	bus.Nobody
	seen []told
}

func (r *recorder) Publish(_ string, data []byte) error {
	var s message.Status
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if len(data) > r.MaxPayload() {
		return fmt.Errorf("a status of %d bytes", len(data))
	}
	r.seen = append(r.seen, told{s, time.Now()})
	return nil
}

// texts joins the streamed text of a round.
func (r *recorder) texts(t *testing.T, round int, reasoning bool) string {
	t.Helper()
	var b strings.Builder
	for _, s := range r.seen {
		if s.Status.Status != "streaming" || s.Data.Step != round || s.Data.Reasoning != reasoning {
			continue
		}
		if s.Data.Restart {
			b.Reset()
			continue
		}
		if !reasoning && s.Data.Offset != b.Len() {
			t.Errorf("a piece of round %d is placed at %d, after %d bytes", round, s.Data.Offset, b.Len())
		}
		b.WriteString(s.Data.Chunk)
	}
	return b.String()
}

// recorded gives the statuses of a turn, within a bubble of virtual time.
func recorded() (*recorder, *statuses) {
	r := &recorder{}
	p := New(Options{Agent: fika.Agent{Name: "coder"}, Bus: r, Subjects: bus.Subjects{Prefix: "fika"}, Wake: func(...fika.AgentName) {}})
	return r, newStatuses(p, store.Claimed{Request: fika.Request{ID: "r-1"}})
}

// TestC6StatusesAreCoalesced: however many deltas a model streams, thirty
// statuses a second are published after the first, which waits for nothing,
// and together they hold every byte, in its place.
func TestC6StatusesAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := recorded()
		dice := rand.New(rand.NewPCG(1, 2))
		begun := time.Now()
		var texts, thoughts [3]strings.Builder
		for i := range 20_000 {
			round := i/8000 + 1
			delta := fmt.Sprintf("é%d ", i)
			if dice.IntN(3) == 0 {
				thoughts[round-1].WriteString(delta)
				s.Observe(turn.Event{Kind: turn.Reasoning, Round: round, Text: delta})
			} else {
				texts[round-1].WriteString(delta)
				s.Observe(turn.Event{Kind: turn.Text, Round: round, Text: delta})
			}
			if i == 0 && (len(r.seen) != 1 || r.seen[0].at != begun) {
				t.Fatal("the first delta was not published at once")
			}
			time.Sleep(time.Duration(dice.IntN(1000)) * time.Microsecond)
		}
		s.Observe(turn.Event{Kind: turn.Warning, Text: "the end"})
		for i := range texts {
			if got := r.texts(t, i+1, false); got != texts[i].String() {
				t.Errorf("round %d: %d bytes of %d were published", i+1, len(got), texts[i].Len())
			}
			if got := r.texts(t, i+1, true); got != thoughts[i].String() {
				t.Errorf("round %d: %d bytes of reasoning of %d were published", i+1, len(got), thoughts[i].Len())
			}
		}
		if last := r.seen[len(r.seen)-1]; last.Data.Message != "the end" {
			t.Errorf("the last status is %+v", last.Status)
		}
		seconds := time.Since(begun).Seconds()
		if n := float64(len(r.seen) - 2); n > seconds*30+4 {
			t.Errorf("%.0f statuses in %.1f s", n, seconds)
		}
		t.Logf("20,000 deltas, %d statuses in %.1f s", len(r.seen), seconds)
	})
}

// TestC6NothingIsKeptBack: a model that falls silent leaves nothing unsaid.
func TestC6NothingIsKeptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := recorded()
		for _, text := range []string{"I ", "think", " so"} {
			s.Observe(turn.Event{Kind: turn.Text, Round: 1, Text: text})
		}
		time.Sleep(time.Second / 30)
		synctest.Wait()
		if got := r.texts(t, 1, false); got != "I think so" || len(r.seen) != 2 {
			t.Errorf("%d statuses say %q", len(r.seen), got)
		}
		s.Observe(turn.Event{Kind: turn.Restarted, Round: 1})
		s.Observe(turn.Event{Kind: turn.Text, Round: 1, Text: "no"})
		s.Observe(turn.Event{Kind: turn.Ended, Outcome: &turn.Result{State: fika.Done}})
		if got := r.texts(t, 1, false); got != "no" {
			t.Errorf("after a restart: %q", got)
		}
	})
}

// The beginning of a turn is told before anything else of it, and soon even when
// nothing else comes.
func TestBeginningIsToldFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := recorded()
		begun := time.Now()
		s.Observe(turn.Event{Kind: turn.Started})
		time.Sleep(beginRest)
		synctest.Wait()
		if len(r.seen) != 1 || r.seen[0].Status.Status != "processing" || r.seen[0].at.Sub(begun) != beginRest {
			t.Errorf("told: %+v", r.seen)
		}
		r, s = recorded()
		s.Observe(turn.Event{Kind: turn.Started})
		s.Observe(turn.Event{Kind: turn.Text, Round: 1, Text: "hello"})
		time.Sleep(time.Second)
		synctest.Wait()
		if len(r.seen) != 2 || r.seen[0].Status.Status != "processing" || r.seen[1].Data.Chunk != "hello" {
			t.Errorf("told: %+v", r.seen)
		}
	})
}

// TestC6LargeDelta: a model that answers in one piece is not lost for being
// larger than a message.
func TestC6LargeDelta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := recorded()
		answer := strings.Repeat("\x01é", 500_000)
		s.Observe(turn.Event{Kind: turn.Text, Round: 1, Text: answer})
		if got := r.texts(t, 1, false); got != answer {
			t.Errorf("%d bytes of %d were published", len(got), len(answer))
		}
	})
}
