package view

import (
	"slices"
	"strings"
	"time"

	"fika/internal/system/term"
)

// draw shows the current state at once, or a moment later if it was drawn just now.
func (f *Feed) draw(now bool) {
	if since := f.o.Now().Sub(f.drawn); !now && since < drawEvery && since >= 0 {
		f.arm(drawEvery - since)
		return
	}
	f.drawn = f.o.Now()
	text := f.out.String()
	f.out.Reset()
	status, queued := f.status(f.drawn)
	f.standing = status + strings.Join(queued, "\n")
	f.screen.Show(text, f.withQueued(f.rows(), queued), status)
	if slices.ContainsFunc(f.order, func(id string) bool { return f.turns[id].doing != "" }) {
		f.arm(second) // the seconds of a busy turn go on
	}
}

// rows returns what is drawn again: what the streaming speaker has not finished, and the
// todos of those at work.
func (f *Feed) rows() func(width, height int) []string {
	unfinished, todos := f.unfinished(), f.openTodos()
	if todos == nil {
		return unfinished
	}
	style := f.o.Style
	return func(width, height int) (rows []string) {
		if unfinished != nil {
			rows = unfinished(width, height)
		}
		for _, list := range todos {
			rows = append(rows, todosRow(list, style, width-1))
		}
		return rows
	}
}

// openTodos returns the todos of those at work, as far as any are open.
func (f *Feed) openTodos() (out [][]todo) {
	for _, id := range f.order {
		s := f.turns[id]
		list := f.todos[s.name]
		if s.doing != "" && slices.ContainsFunc(list, func(t todo) bool { return !t.done }) {
			out = append(out, list)
		}
	}
	return out
}

// unfinished returns the unfinished text of the streaming speaker, or calls that others
// may still join in their row.
func (f *Feed) unfinished() func(width, height int) []string {
	if s := f.turns[f.floor]; s != nil {
		if tail := s.stream.Tail(); !tail.Empty() {
			name, style, gap := f.nameOf(s), f.o.Style, f.gap()
			return func(width, height int) []string {
				rows := tail.Rows(width-1, max(1, height/3))
				if name != "" && len(rows) > 0 {
					rows = strings.Split(gap+WithName(style, name, strings.Join(rows, "\n")), "\n")
				}
				return rows
			}
		}
	}
	for _, id := range f.order {
		if s := f.turns[id]; s.calls != "" {
			row := IndentRows(s.calls, s.gutter)
			if name := f.nameOf(s); name != "" {
				row = f.gap() + WithName(f.o.Style, name, row)
			}
			return func(width, _ int) []string {
				var rows []string
				for _, r := range strings.Split(row, "\n") {
					rows = append(rows, term.Truncate(r, width-1))
				}
				return rows
			}
		}
	}
	return nil
}

// maxQueued bounds the rows of texts that wait for a turn.
const maxQueued = 5

// withQueued adds the rows of texts that wait for a turn to those that are drawn again.
func (f *Feed) withQueued(rows func(width, height int) []string, queued []string) func(width, height int) []string {
	if len(queued) == 0 {
		return rows
	}
	return func(width, height int) []string {
		var all []string
		if rows != nil {
			all = rows(width, height)
		}
		for _, q := range queued[max(0, len(queued)-maxQueued):] {
			all = append(all, f.o.Style.Dim(term.Truncate(term.CleanLine("  "+q), width-1)))
		}
		return all
	}
}

// nameOf returns the name to print before the next text of a speech; "" if the speech
// continues.
func (f *Feed) nameOf(s *speech) string {
	if !f.o.Names || f.spoke == s.id {
		return ""
	}
	return s.name
}

func (f *Feed) status(now time.Time) (line string, queued []string) {
	var s Standing
	for _, id := range f.order {
		t := f.turns[id]
		if t.doing == "" {
			continue
		}
		name := ""
		if f.o.Names {
			name = t.name
		}
		s.Workers = append(s.Workers, Worker{Name: name, Doing: t.doing, Since: t.since})
	}
	if f.o.Standing != nil {
		s = f.o.Standing(s.Workers)
	}
	if line = s.Line(now, f.o.Width()-2); line != "" && f.o.Names {
		line = " " + line
	}
	return line, s.Queued
}

// Refresh redraws the status line if it has changed.
func (f *Feed) Refresh() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if line, queued := f.status(f.o.Now()); !f.closed && line+strings.Join(queued, "\n") != f.standing {
		f.draw(false)
	}
}

// arm makes the timer draw after d.
func (f *Feed) arm(d time.Duration) {
	if f.timer == nil {
		f.timer = time.AfterFunc(d, f.tick)
		return
	}
	f.timer.Reset(d)
}

func (f *Feed) tick() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.draw(true)
	}
}
