package view

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"fika/internal/markdown"
	"fika/internal/term"
)

// Screen is where a Feed shows things. Show prints whole lines that are never
// drawn again, and replaces the rows and the status that are. It is called by
// one goroutine at a time.
type Screen interface {
	Show(text string, rows func(width, height int) []string, status string)
}

// Options say how a Feed shows things.
type Options struct {
	Style     term.Style
	Links     bool
	Width     func() int                   // columns of the terminal now; nil: 80
	Person    func(name string) bool       // see markdown.Options
	Names     bool                         // who speaks is written beside what they say
	Notes     io.Writer                    // where lines about the work go; nil: to the screen
	NoteStyle term.Style                   // of those lines, where they do not go to the screen
	Standing  func(busy []Worker) Standing // what the status line says, given who is at work; nil: only that
	Now       func() time.Time             // nil: time.Now
}

// Feed shows what several speakers say and do.
type Feed struct {
	o      Options
	screen Screen

	mu       sync.Mutex
	turns    map[string]*speech
	order    []string // of turns, as they began
	floor    string   // the turn that streams; empty: none does
	spoke    string   // the turn of what was printed last
	out      strings.Builder
	drawn    time.Time
	standing string // the status line as it was drawn
	timer    *time.Timer
	closed   bool
}

// speech is what one turn has said.
type speech struct {
	id     string
	name   string
	doing  string
	since  time.Time
	stream *markdown.Stream
	text   strings.Builder // of this round, as it came
	held   strings.Builder // of an attempt after the first
	again  bool
	ready  strings.Builder // what is rendered and not printed yet
	gutter int             // columns that are free for the name
	calls  string          // a row of calls that another one may stand beside
	called time.Time
	noted  string   // the last line about it
	said   []string // texts that are complete, and of which Kept has not told yet
	ended  bool     // it waits for the end of somebody else's code
}

const (
	drawEvery = time.Second / 30
	second    = time.Second
)

// NewFeed makes a Feed that shows things on screen. Close ends it.
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
	return &Feed{o: o, screen: screen, turns: map[string]*speech{}}
}

func (f *Feed) look() Look { return Look{Style: f.o.NoteStyle, Width: f.o.Width()} }

// change does g under the lock, then shows what came of it.
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

// settle prints what others than the streaming one have completed, unless that
// would come into the middle of code, and lets the next one stream when it has
// ended.
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
				f.endCalls(id) // what was done before comes before
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

// endCalls prints the calls of all turns but one that were held for others to come
// beside them.
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

// turn gives the speech of a turn, which begins with it if it is new.
func (f *Feed) turn(id, name string) *speech {
	if s := f.turns[id]; s != nil {
		return s
	}
	s := &speech{id: id, name: name, doing: "thinking", since: f.o.Now()}
	if f.o.Names {
		s.gutter = GutterWidth(name, f.o.Width())
	}
	s.stream = markdown.NewStream(f.options(s))
	f.turns[id] = s
	f.order = append(f.order, id)
	return s
}

func (f *Feed) options(s *speech) markdown.Options {
	return markdown.Options{Width: f.o.Width(), Indent: s.gutter, Style: f.o.Style, Links: f.o.Links, Person: f.o.Person}
}

// Busy says that somebody is at work on a turn, and with what.
func (f *Feed) Busy(id, name, doing string) {
	f.change(func() {
		if s := f.turn(id, name); s.doing != doing {
			s.doing, s.since = doing, f.o.Now()
		}
	})
}

// Text takes the next piece of what a turn says.
func (f *Feed) Text(id, name, piece string) {
	if piece == "" {
		return
	}
	f.change(func() {
		s := f.turn(id, name)
		if s.doing != "writing" {
			s.doing, s.since = "writing", f.o.Now()
		}
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

// Restart says that a turn's answer is begun again: what repeats what was shown
// is not shown twice.
func (f *Feed) Restart(id, name string) {
	f.change(func() {
		s := f.turn(id, name)
		s.again = true
		s.held.Reset()
	})
}

// accept takes the held attempt for the answer.
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
		s.put(f.dim("the answer was begun anew"))
		rest = held
	}
	s.pass(rest)
}

// pass renders what is new of the text.
func (s *speech) pass(piece string) {
	s.text.WriteString(piece)
	s.write(s.stream.Add(piece))
}

// write takes rows that are rendered.
func (s *speech) write(rows string) {
	if rows != "" {
		s.endCalls()
		s.ready.WriteString(rows)
	}
}

// put takes lines that are not indented yet.
func (s *speech) put(lines string) { s.write(IndentRows(lines, s.gutter) + "\n") }

// endCalls says that no other call comes beside those that were held for it.
func (s *speech) endCalls() {
	if s.calls != "" {
		s.ready.WriteString(IndentRows(s.calls, s.gutter) + "\n")
		s.calls = ""
	}
}

// complete renders the rest of what was said so far, so that what follows
// begins a block of its own.
func (s *speech) complete() {
	s.write(s.stream.End())
	if text := strings.TrimSpace(s.text.String()); text != "" {
		s.said = append(s.said, text)
	}
	s.text.Reset()
}

// say prints what is ready of a speech, under the name of who says it.
func (f *Feed) say(s *speech) {
	text := s.ready.String()
	s.ready.Reset()
	if text == "" {
		return
	}
	if f.o.Names && f.spoke != s.id {
		text = WithName(f.o.Style, s.name, text, f.o.Width())
	}
	f.spoke = s.id
	f.out.WriteString(text)
}

// Round says that what a turn said is complete as far as it goes: another call
// of the model, or a tool, follows.
func (f *Feed) Round(id, name string) {
	f.change(func() {
		s := f.turn(id, name)
		f.accept(s)
		s.complete()
	})
}

// Calls says that a turn calls a tool.
func (f *Feed) Calls(id, name string, c Call) {
	f.change(func() {
		s := f.turn(id, name)
		f.accept(s)
		s.complete()
		s.doing, s.since, s.called = c.Title(), f.o.Now(), f.o.Now()
	})
}

// Called shows a call that has ended. When it does not say how long it took,
// that is the time since the last Calls of the turn.
func (f *Feed) Called(id, name string, c Call) {
	f.change(func() {
		s := f.turn(id, name)
		f.accept(s) // a call that was refused has not been told of before
		s.complete()
		if c.Took == 0 && !s.called.IsZero() {
			c.Took = f.o.Now().Sub(s.called)
		}
		s.doing, s.since = "thinking", f.o.Now()
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

// Note shows a line about a turn. One that repeats the line before says nothing
// new and is not shown.
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
		f.draw(true) // what was said before comes before it
		_, _ = io.WriteString(f.o.Notes, text+"\n")
		return
	}
	s.put(text)
}

// Print shows whole lines that nobody of the turns said.
func (f *Feed) Print(text string) {
	f.change(func() {
		if text != "" {
			f.endCalls("")
			f.settle()
			f.out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
			f.spoke = ""
		}
	})
}

// End says that a turn has ended. final, if not empty, is what it said last, as
// it was kept: where less of it was streamed the rest is shown, where something
// else was, all of it.
func (f *Feed) End(id, name, final string) {
	f.change(func() {
		if f.turns[id] == nil && final == "" {
			return
		}
		s := f.turn(id, name)
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

// Kept tells of a message that a turn has said, as it was kept: what of it was
// not streamed is shown, and note below it. last says that the turn has ended.
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

// rest gives what of a whole text was not said yet; false when it is another
// text. Spaces at either end make no difference.
func (s *speech) rest(whole string) (string, bool) {
	text := s.text.String()
	rest, ok := strings.CutPrefix(whole, strings.TrimSpace(text))
	return strings.TrimPrefix(rest, text[len(strings.TrimRight(text, " \n")):]), ok
}

// Over says that nobody works on a turn any more, whatever came of it.
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

// Flush shows at once what waits to be drawn: before something else is written.
func (f *Feed) Flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed && (f.out.Len() > 0 || len(f.turns) > 0) {
		f.settle()
		f.draw(true)
	}
}

// Close shows what is left of all turns, and nothing after it.
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
