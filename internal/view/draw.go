package view

import (
	"slices"
	"strings"
	"time"

	"fika/internal/term"
)

// draw shows what there is, at once or, when it was drawn just now, a moment
// later.
func (f *Feed) draw(now bool) {
	if since := f.o.Now().Sub(f.drawn); !now && since < drawEvery && since >= 0 {
		f.arm(drawEvery - since)
		return
	}
	f.drawn = f.o.Now()
	text := f.out.String()
	f.out.Reset()
	f.standing = f.status(f.drawn)
	f.screen.Show(text, f.rows(), f.standing)
	if slices.ContainsFunc(f.order, func(id string) bool { return f.turns[id].doing != "" }) {
		f.arm(second) // somebody's seconds go on
	}
}

// rows are what is drawn again: what the one who streams has not finished, or the
// calls of somebody beside which others may come.
func (f *Feed) rows() func(width, height int) []string {
	if s := f.turns[f.floor]; s != nil {
		if tail := s.stream.Tail(); !tail.Empty() {
			name, style := f.nameOf(s), f.o.Style
			return func(width, height int) []string {
				rows := tail.Rows(width-1, max(1, height/3))
				if name != "" && len(rows) > 0 {
					rows = strings.Split(WithName(style, name, strings.Join(rows, "\n"), width), "\n")
				}
				return rows
			}
		}
	}
	for _, id := range f.order {
		if s := f.turns[id]; s.calls != "" {
			row := IndentRows(s.calls, s.gutter)
			if name := f.nameOf(s); name != "" {
				row = WithName(f.o.Style, name, row, f.o.Width())
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

// nameOf is the name that what a speech says next is printed with; "" if it goes on.
func (f *Feed) nameOf(s *speech) string {
	if !f.o.Names || f.spoke == s.id {
		return ""
	}
	return s.name
}

func (f *Feed) status(now time.Time) string {
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
		s.Workers = append(s.Workers, Worker{name, t.doing, t.since})
	}
	if f.o.Standing != nil {
		s = f.o.Standing(s.Workers)
	}
	line := s.Line(now, f.o.Width()-2)
	if line != "" && f.o.Names {
		line = " " + line
	}
	return line
}

// Refresh draws the status line anew if it says something else now.
func (f *Feed) Refresh() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed && f.status(f.o.Now()) != f.standing {
		f.draw(false)
	}
}

// arm lets the timer draw after d, if not earlier.
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
