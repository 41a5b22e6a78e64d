package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/message"
	"fika/internal/store"
	"fika/internal/term"
)

// typing knows who is at work in a chat: the bus says at what, the store who
// still is. It may be used from many goroutines.
type typing struct {
	client *app.Client
	conv   fika.Conversation
	draw   func(string) // shows the line; may be nil

	mu   sync.Mutex
	busy map[string]string // agent → what it does
}

func newTyping(c *app.Client, conv fika.Conversation, draw func(string)) *typing {
	if draw == nil {
		draw = func(string) {}
	}
	return &typing{client: c, conv: conv, draw: draw, busy: map[string]string{}}
}

// listen follows the statuses of all agents until the function it gives is
// called.
func (t *typing) listen() (func(), error) {
	sub, err := t.client.Bus.Subscribe(t.client.Subjects.Status("*"), t.status)
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Close() }, nil
}

func (t *typing) status(m bus.Msg) {
	var s message.Status
	if json.Unmarshal(m.Data, &s) != nil || s.ConversationID != string(t.conv.Name) {
		return
	}
	t.change(func() {
		switch s.Status {
		case "processing":
			t.busy[s.AgentName] = "is thinking"
		case "streaming":
			t.busy[s.AgentName] = "is writing"
		case "tool_call":
			t.busy[s.AgentName] = "runs " + s.Data.ToolName
		case "completed", "error":
			delete(t.busy, s.AgentName)
		}
	})
}

// refresh asks the store who has a running turn: those who began before
// anybody listened, and not those whose process has gone without a word.
func (t *typing) refresh(ctx context.Context) {
	list, err := t.client.Store.ListRequests(ctx, store.RequestFilter{Conversation: t.conv.ID, States: []fika.RequestState{fika.Running}})
	if err != nil {
		return
	}
	t.change(func() {
		was := t.busy
		t.busy = map[string]string{}
		for _, r := range list {
			what := was[string(r.AgentName)]
			if what == "" {
				what = "is thinking"
			}
			t.busy[string(r.AgentName)] = what
		}
	})
}

func (t *typing) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.words()
	f()
	if line := t.words(); line != before {
		t.draw(line)
	}
}

// line says who is at work; empty: nobody.
func (t *typing) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.words()
}

func (t *typing) words() string {
	var parts []string
	for a, what := range t.busy {
		parts = append(parts, "@"+a+" "+what)
	}
	sort.Strings(parts)
	line := strings.Join(parts, " · ")
	if line != "" {
		line += " …"
	}
	return line
}

// footer is a line that stays below what is printed.
type footer struct {
	w     io.Writer
	style term.Style

	mu   sync.Mutex
	line string
}

const eraseLine = "\r\x1b[K"

// set shows another line; empty: none.
func (f *footer) set(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.line != "" {
		fmt.Fprint(f.w, eraseLine)
	}
	f.line = line
	f.show()
}

// above runs what prints, with the line out of the way.
func (f *footer) above(print func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.line != "" {
		fmt.Fprint(f.w, eraseLine)
	}
	err := print()
	f.show()
	return err
}

func (f *footer) show() {
	if f.line != "" {
		fmt.Fprint(f.w, f.style.Dim(term.Truncate(term.CleanLine(f.line), 78)))
	}
}
