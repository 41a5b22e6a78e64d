package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/cli/input"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/view"
)

// inputs are the texts that wait for turns of the chat, as of the last look. It is safe for
// concurrent use.
type inputs struct {
	mu    sync.Mutex
	list  []service.Input
	typed map[fika.EntryID]input.Typed // the lines of those that were entered here
}

func (q *inputs) set(list []service.Input) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = list
}

// add notes that a line was entered here that waits.
func (q *inputs) add(in service.Input, line input.Typed) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.typed == nil {
		q.typed = map[fika.EntryID]input.Typed{}
	}
	q.typed[in.ID] = line
	if !slices.ContainsFunc(q.list, func(x service.Input) bool { return x.ID == in.ID }) {
		q.list = append(q.list, in)
	}
}

// newest returns what a person entered last of what waits, and its line.
func (q *inputs) newest(from string) (in service.Input, line input.Typed, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, in := range slices.Backward(q.list) {
		if in.From != from {
			continue
		}
		if line, ok = q.typed[in.ID]; !ok {
			line = input.Typed{Text: in.Content}
		}
		return in, line, true
	}
	return in, line, false
}

// remove forgets what does not wait any more.
func (q *inputs) remove(id fika.EntryID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = slices.DeleteFunc(slices.Clone(q.list), func(x service.Input) bool { return x.ID == id })
}

// rows returns a row for each text that waits: when its agent has it, given who is at work.
// The one that me can take back says so.
func (q *inputs) rows(me string, busy []view.Worker) []string {
	last, _, mine := q.newest(me)
	q.mu.Lock()
	defer q.mu.Unlock()
	var rows []string
	for _, in := range q.list {
		row := fmt.Sprintf("queued  %q  %s", term.Truncate(oneLine(q.text(in)), 60), when(in, busy))
		if mine && in.ID == last.ID {
			row += " · ↑ takes it back"
		}
		rows = append(rows, row)
	}
	return rows
}

// text returns what was typed of an input. The caller holds mu.
func (q *inputs) text(in service.Input) string {
	if line, ok := q.typed[in.ID]; ok {
		return line.Text
	}
	return in.Content
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// when says when the agent of a text has it.
func when(in service.Input, busy []view.Worker) string {
	name := string(in.AgentName)
	for _, w := range busy {
		switch {
		case w.Name != name || w.Doing == "":
		case w.Doing == "writing":
			return "after this answer of " + name
		case w.Doing == "thinking":
			return "with the next step of " + name
		default:
			return "after this tool call of " + name
		}
	}
	return "when " + name + " continues"
}

// takeBack withdraws what the person entered last of what waits, and returns its line.
func (v *visit) takeBack() (input.Typed, bool) {
	in, line, ok := v.queued.newest(v.desk.Person)
	if !ok {
		return input.Typed{}, false
	}
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	now, err := v.chat.service().Chats.Withdraw(ctx, in.ID)
	if err != nil {
		v.screen.Note("— not taken back: " + err.Error())
		return input.Typed{}, false
	}
	v.queued.remove(in.ID)
	v.screen.Refresh()
	if now.State != service.InputWithdrawn {
		v.screen.Note("— too late: @" + string(in.AgentName) + " has it already")
		return input.Typed{}, false
	}
	return line, true
}

// showQueue carries out /queue: it shows the texts that wait for turns.
func (v *visit) showQueue(ctx context.Context, _ input.Line) error {
	list, err := v.chat.service().Chats.Inputs(ctx, v.chat.conversation())
	if err != nil {
		return err
	}
	v.queued.set(list)
	if len(list) == 0 {
		v.screen.Note("— nothing is queued")
	}
	for _, in := range list {
		v.screen.Note(fmt.Sprintf("— for @%s, from %s %s: %s", in.AgentName, in.From, term.Ago(in.Created, v.Now()), oneLine(in.Content)))
	}
	return nil
}
