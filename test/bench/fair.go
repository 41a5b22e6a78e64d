package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"fika"
	"fika/internal/llm/llmtest"
)

const (
	fairChats  = 100
	fairAgents = 20
	fairHops   = 10
	fairLimit  = 2 * time.Minute
)

// fair runs a hundred chats at once over twenty agents, each a chain of ten hops
// through agents drawn at random. All first messages are sent while everything is
// paused; resuming starts the chats.
func fair(ctx context.Context, l *lab) ([]result, error) {
	d := &dealer{over: make(chan struct{})}
	srv, err := serve(d.answer)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	var names []string
	for i := range fairAgents {
		names = append(names, fairAgent(i))
	}
	h, err := l.home("fair", srv.URL(), agents(names...))
	if err != nil {
		return nil, err
	}
	if _, _, err := h.start(ctx); err != nil {
		return nil, err
	}
	defer h.down()
	if err := h.deal(ctx); err != nil {
		return nil, err
	}
	if _, _, err := h.run(ctx, "chat", "resume", "--all"); err != nil {
		return nil, err
	}
	select {
	case <-d.over:
	case <-time.After(fairLimit):
		return nil, fmt.Errorf("%d of %d chats are through after %v", d.through(), fairChats, fairLimit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return judge(srv.Requests())
}

func fairAgent(i int) string { return fmt.Sprintf("agent%02d", i) }

// draw returns the agent that answers a hop of a chat: any but the one before. The
// draw is the same in every run.
func draw(chat, hop int) int {
	n := uint64(chat)*2654435761 + 12345
	at := -1
	for range hop + 1 {
		n = n*6364136223846793005 + 1442695040888963407
		next := int((n >> 33) % fairAgents)
		if next == at {
			next = (next + 1) % fairAgents
		}
		at = next
	}
	return at
}

// deal makes the chats and sends each its first message, all held back.
func (h *home) deal(ctx context.Context) error {
	s, err := h.store(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, _, err := h.run(ctx, "chat", "pause", "--all"); err != nil {
		return err
	}
	for chat := range fairChats {
		name := fmt.Sprintf("table%02d", chat)
		if _, err := s.CreateChat(ctx, fika.ConversationName(name)); err != nil {
			return err
		}
		if _, _, err := h.run(ctx, "chat", "send", name, words(chat, 0)); err != nil {
			return err
		}
	}
	return nil
}

// words returns the text that calls the agent of a hop.
func words(chat, hop int) string {
	return fmt.Sprintf("table %d, word %d, to you, @%s", chat, hop, fairAgent(draw(chat, hop)))
}

var wordOf = regexp.MustCompile(`table (\d+), word (\d+), to you`)

// place finds which word of which chat a request is to answer: the last message of its
// window.
func place(r llmtest.Request) (chat, hop int, err error) {
	if len(r.Messages) == 0 {
		return 0, 0, fmt.Errorf("an empty window")
	}
	m := wordOf.FindStringSubmatch(r.Messages[len(r.Messages)-1].Text)
	if m == nil {
		return 0, 0, fmt.Errorf("the window ends with %q", r.Messages[len(r.Messages)-1].Text)
	}
	chat, _ = strconv.Atoi(m[1])
	hop, _ = strconv.Atoi(m[2])
	return chat, hop, nil
}

// dealer answers for all models.
type dealer struct {
	mu   sync.Mutex
	done int
	over chan struct{} // closed when every chat has reached its last word
}

func (d *dealer) through() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

func (d *dealer) answer(r llmtest.Request) llmtest.Script {
	chat, hop, err := place(r)
	switch {
	case err != nil:
		return llmtest.Script{llmtest.Status(400, err.Error(), 0)}
	case hop < fairHops:
		return llmtest.Script{llmtest.Text(words(chat, hop+1))}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done++; d.done == fairChats {
		close(d.over)
	}
	return llmtest.Script{llmtest.Text("that was the last")}
}

// judge computes how long each hop took, from the end of an answer to the next
// request, and how evenly that was distributed among the chats.
func judge(records []llmtest.Record) ([]result, error) {
	var at [fairChats][fairHops + 1]llmtest.Record
	first, last := time.Time{}, time.Time{}
	for _, r := range records {
		chat, hop, err := place(r.Request)
		if err != nil {
			return nil, err
		}
		if !at[chat][hop].Received.IsZero() {
			return nil, fmt.Errorf("word %d of chat %d was answered twice", hop, chat)
		}
		at[chat][hop] = r
		if first.IsZero() || r.Received.Before(first) {
			first = r.Received
		}
		if r.Received.After(last) {
			last = r.Received
		}
	}
	var all, medians, rate series
	for chat := range at {
		var one series
		for hop := range fairHops {
			took := at[chat][hop+1].Received.Sub(at[chat][hop].Leaving)
			one.took(took)
			all.took(took)
		}
		medians.took(time.Duration(one.median() * 1e6))
	}
	rate.unit = "hops/s"
	rate.add(float64(len(all.all)) / last.Sub(first).Seconds())
	waits := bound("median hop wait of a chat", &medians, 0)
	largest := slices.Max(medians.all)
	waits.Ratio = largest / medians.median()
	waits.goal("the largest <= 3 x the median of them", waits.Ratio <= 3)
	waits.note("the largest is %.1f ms, %.2f x the median", largest, waits.Ratio)
	return []result{bound("hops per second, all chats together", &rate, 0), bound("one hop among them", &all, 0), waits}, nil
}
