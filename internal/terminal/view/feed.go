package view

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"fika/internal/system/term"
	"fika/internal/terminal/markdown"
)

// Screen displays a Feed. Show prints whole lines that are never drawn again, and
// replaces the rows and the status, which are. Only one goroutine at a time calls it.
type Screen interface {
	Show(text string, rows func(width, height int) []string, status string)
}

// Options say how a Feed shows things.
type Options struct {
	Style     term.Style
	Links     bool
	Width     func() int                   // current columns of the terminal; nil: 80
	Person    func(name string) bool       // see markdown.Options
	Names     bool                         // show names beside the text
	Notes     io.Writer                    // for lines about the work; nil: the screen
	NoteStyle term.Style                   // of those lines, if they do not go to the screen
	Standing  func(busy []Worker) Standing // returns the status line for those at work; nil: only them
	Now       func() time.Time             // nil: time.Now
}

// Feed shows what several speakers say and do.
type Feed struct {
	o      Options
	screen Screen

	mu       sync.Mutex
	turns    map[string]*speech
	order    []string          // turns, in the order they began
	floor    string            // the turn that streams; empty: none
	printed  bool              // something was printed
	spoke    string            // the turn printed last
	todos    map[string][]todo // of each speaker, as last written
	out      strings.Builder
	drawn    time.Time
	standing string // the status line as last drawn
	thoughts bool   // the reasoning of models is shown
	timer    *time.Timer
	closed   bool
}

// speech is what one turn has said.
type speech struct {
	id      string
	name    string
	doing   string
	since   time.Time
	stream  *markdown.Stream
	text    strings.Builder // of this round, as received
	held    strings.Builder // an attempt after the first
	again   bool
	ready   strings.Builder // rendered and not yet printed
	gutter  int             // columns that its text is indented by
	calls   string          // a row of calls that another may join
	called  time.Time
	noted   string          // the last note about it
	thought strings.Builder // reasoning that has not been shown yet
	said    []string        // complete texts that Kept has not yet reported
	ended   bool            // it waits for the end of another speaker's code block
}

const (
	drawEvery = time.Second / 30
	second    = time.Second
)

// NewFeed returns a Feed that shows things on screen. The caller must close it.
func NewFeed(screen Screen, o Options) *Feed {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Width == nil {
		o.Width = func() int { return term.DefaultWidth }
	}
	if o.Notes == nil {
		o.NoteStyle = o.Style
	}
	return &Feed{o: o, screen: screen, turns: map[string]*speech{}, todos: map[string][]todo{}}
}

func (f *Feed) look() Look { return Look{Style: f.o.NoteStyle, Width: f.o.Width()} }

// change runs g under the lock, then shows the result.
func (f *Feed) change(g func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	g()
	f.settle()
	f.draw(false)
}

// settle prints what speakers other than the streaming one have completed, unless that
// would interrupt a code block, and lets the next speaker stream once the current one
// has ended.
func (f *Feed) settle() {
	if s := f.turns[f.floor]; s != nil {
		f.say(s)
		if s.stream.InCode() && !s.ended {
			return
		}
	}
	for _, id := range slices.Clone(f.order) {
		s := f.turns[id]
		if s.text.Len() == 0 {
			if s.ready.Len() > 0 {
				f.endCalls(id) // earlier calls come first
			}
			f.say(s)
		}
		if s.ended {
			delete(f.turns, id)
			f.order = slices.DeleteFunc(f.order, func(other string) bool { return other == id })
		}
	}
	if s := f.turns[f.floor]; s != nil && s.text.Len() > 0 {
		return
	}
	f.floor = ""
	for _, id := range f.order {
		if s := f.turns[id]; s.text.Len() > 0 {
			f.floor = id
			f.say(s)
			return
		}
	}
}

// endCalls prints the held calls of all turns except but.
func (f *Feed) endCalls(but string) {
	for _, id := range f.order {
		if s := f.turns[id]; id != but && s.calls != "" {
			s.endCalls()
			if s.text.Len() == 0 {
				f.say(s)
			}
		}
	}
}

// turn returns the speech of a turn, and creates it for a new turn.
func (f *Feed) turn(id, name string) *speech {
	if s := f.turns[id]; s != nil {
		return s
	}
	s := &speech{id: id, name: name, doing: "thinking", since: f.o.Now()}
	if f.o.Names {
		s.gutter = Indent
	}
	s.stream = markdown.NewStream(f.options(s))
	f.turns[id] = s
	f.order = append(f.order, id)
	return s
}

func (f *Feed) options(s *speech) markdown.Options {
	return markdown.Options{Width: f.o.Width(), Indent: s.gutter, Style: f.o.Style, Links: f.o.Links, Person: f.o.Person}
}

// Busy says that somebody is working on a turn, and at what.
func (f *Feed) Busy(id, name, doing string) {
	f.change(func() {
		if s := f.turn(id, name); s.doing != doing {
			s.doing, s.since = doing, f.o.Now()
		}
	})
}

// Text adds the next piece of text of a turn.
func (f *Feed) Text(id, name, piece string) {
	if piece == "" {
		return
	}
	f.change(func() {
		s := f.turn(id, name)
		if s.doing != "writing" {
			s.doing, s.since = "writing", f.o.Now()
		}
		f.endThought(s)
		if f.floor == "" {
			f.floor = id
		}
		if !s.again {
			s.pass(piece)
			return
		}
		s.held.WriteString(piece)
		if s.held.Len() > s.text.Len() {
			f.accept(s)
		}
	})
}

// Restart says that a turn's answer begins again. Text that repeats what was shown is
// not shown twice.
func (f *Feed) Restart(id, name string) {
	f.change(func() {
		s := f.turn(id, name)
		s.again = true
		s.held.Reset()
	})
}

// accept makes the held attempt the answer.
func (f *Feed) accept(s *speech) {
	held := s.held.String()
	if !s.again || held == "" {
		s.again = false
		return
	}
	s.again = false
	s.held.Reset()
	rest, same := strings.CutPrefix(held, s.text.String())
	if !same {
		s.complete()
		s.put(f.dim("the answer was started again"))
		rest = held
	}
	s.pass(rest)
}

// pass renders new text.
func (s *speech) pass(piece string) {
	s.text.WriteString(piece)
	s.write(s.stream.Add(piece))
}

// write adds rendered rows.
func (s *speech) write(rows string) {
	if rows != "" {
		s.endCalls()
		s.ready.WriteString(rows)
	}
}

// put adds lines that are not indented yet.
func (s *speech) put(lines string) { s.write(IndentRows(lines, s.gutter) + "\n") }

// endCalls prints the held calls, because no other call joins their row.
func (s *speech) endCalls() {
	if s.calls != "" {
		s.ready.WriteString(IndentRows(s.calls, s.gutter) + "\n")
		s.calls = ""
	}
}

// complete renders the rest of the text so far, so that what follows begins a new
// block.
func (s *speech) complete() {
	s.write(s.stream.End())
	if text := strings.TrimSpace(s.text.String()); text != "" {
		s.said = append(s.said, text)
	}
	s.text.Reset()
}

// say prints the rendered text of a speech, under the speaker's name.
func (f *Feed) say(s *speech) {
	text := s.ready.String()
	s.ready.Reset()
	if text == "" {
		return
	}
	if f.o.Names && f.spoke != s.id {
		text = f.gap() + WithName(f.o.Style, s.name, text)
	}
	f.spoke, f.printed = s.id, true
	f.out.WriteString(text)
}

// gap returns what sets a speaker apart from what was printed before.
func (f *Feed) gap() string {
	if f.printed {
		return "\n"
	}
	return ""
}

// Round says that the text of a turn is complete for now: another call of the model, or
// a tool, follows.
func (f *Feed) Round(id, name string) {
	f.change(func() {
		s := f.turn(id, name)
		f.endThought(s)
		f.accept(s)
		s.complete()
	})
}

// Calls says that a turn calls a tool.
func (f *Feed) Calls(id, name string, c Call) {
	f.change(func() {
		s := f.turn(id, name)
		f.endThought(s)
		f.accept(s)
		s.complete()
		s.doing, s.since, s.called = c.Title(), f.o.Now(), f.o.Now()
		if c.Tool == todosTool {
			s.doing = "writing todos"
		}
	})
}

// Called shows a call that has ended. If the call has no duration, the time since the
// turn's last Calls is used.
func (f *Feed) Called(id, name string, c Call) {
	f.change(func() {
		s := f.turn(id, name)
		f.accept(s) // a refused call has not been announced before
		s.complete()
		if c.Took == 0 && !s.called.IsZero() {
			c.Took = f.o.Now().Sub(s.called)
		}
		s.doing, s.since = "thinking", f.o.Now()
		if list, ok := todosOf(c); ok && f.o.Names {
			f.todos[s.name] = list
			return
		}
		look := f.look()
		look.Width -= s.gutter
		lines := strings.Join(c.Lines(look), "\n")
		if row, ok := CallRow(s.calls, lines, look.Width); ok && f.o.Names && !c.Failed && !c.Denied {
			s.calls = row
			return
		}
		s.endCalls()
		if row, ok := CallRow("", lines, look.Width); ok && f.o.Names && !c.Failed && !c.Denied {
			s.calls = row
			return
		}
		f.note(s, lines)
	})
}

// Note shows a line about a turn. A line that repeats the previous one is not shown.
func (f *Feed) Note(id, name, text string) {
	f.change(func() {
		s := f.turn(id, name)
		if text = term.CleanLine(text); text == s.noted {
			return
		}
		s.noted = text
		f.note(s, f.o.NoteStyle.Dim(term.Wrap(text, f.o.Width()-1-s.gutter)))
	})
}

func (f *Feed) dim(text string) string { return f.o.Style.Dim(text) }

func (f *Feed) note(s *speech, text string) {
	if f.o.Notes != nil {
		f.settle()
		f.draw(true) // earlier text comes first
		_, _ = io.WriteString(f.o.Notes, text+"\n")
		return
	}
	s.put(text)
}

// Print shows whole lines that belong to no turn.
func (f *Feed) Print(text string) {
	f.change(func() {
		if text != "" {
			f.endCalls("")
			f.settle()
			f.out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
			f.spoke, f.printed = "", true
		}
	})
}

// End says that a turn has ended. final, if not empty, is its last text as stored: if
// only part of it was streamed, the rest is shown; if something else was, all of it.
func (f *Feed) End(id, name, final string) {
	f.change(func() {
		if f.turns[id] == nil && final == "" {
			return
		}
		s := f.turn(id, name)
		f.endThought(s)
		f.accept(s)
		if final = strings.TrimSpace(final); final != "" && !slices.Contains(s.said, final) {
			rest, ok := s.rest(final)
			if last := len(s.said) - 1; !ok || last >= 0 && s.text.Len() == 0 && strings.HasPrefix(final, s.said[last]) {
				s.complete()
				s.put(f.dim("the answer as it was kept:"))
				rest = final
			}
			s.pass(rest)
		}
		s.complete()
		s.endCalls()
		s.ended = true
	})
}

// Kept reports a stored message of a turn: the part that was not streamed is shown,
// with note below it. last says that the turn has ended.
func (f *Feed) Kept(id, name, content, note string, last bool) {
	f.change(func() {
		s := f.turn(id, name)
		f.accept(s)
		content = strings.TrimSpace(content)
		rest, ok := s.rest(content)
		switch at := slices.Index(s.said, content); {
		case at >= 0:
			s.said = slices.Delete(s.said, at, at+1)
		case ok:
			s.pass(rest)
			s.complete()
			s.said = s.said[:max(0, len(s.said)-1)]
		default:
			s.write(markdown.Render(content, f.options(s)))
		}
		if note != "" {
			s.put(f.dim(note))
		}
		if last {
			s.endCalls()
			s.ended = true
		}
	})
}

// rest returns the part of a whole text that has not been said yet; false if the texts
// differ. Spaces at either end are ignored.
func (s *speech) rest(whole string) (string, bool) {
	text := s.text.String()
	rest, ok := strings.CutPrefix(whole, strings.TrimSpace(text))
	return strings.TrimPrefix(rest, text[len(strings.TrimRight(text, " \n")):]), ok
}

// Over says that nobody works on a turn any more, whatever its outcome.
func (f *Feed) Over(id string) {
	f.change(func() {
		if s := f.turns[id]; s != nil {
			f.accept(s)
			s.complete()
			s.endCalls()
			s.doing = ""
		}
	})
}

// Flush draws at once what waits to be drawn, before something else is written.
func (f *Feed) Flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed && (f.out.Len() > 0 || len(f.turns) > 0) {
		f.settle()
		f.draw(true)
	}
}

// Close shows what is left of all turns. Nothing is shown after it.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	if f.timer != nil {
		f.timer.Stop()
	}
	for _, id := range slices.Clone(f.order) {
		s := f.turns[id]
		f.accept(s)
		s.write(s.stream.End())
		s.endCalls()
		f.say(s)
	}
	f.turns, f.order, f.floor = map[string]*speech{}, nil, ""
	f.screen.Show(f.out.String(), nil, "")
}
