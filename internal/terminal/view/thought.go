package view

import (
	"strings"

	"fika/internal/system/term"
)

// maxThought bounds a line of reasoning that has no end, in bytes.
const maxThought = 4 << 10

// ShowThoughts says whether the reasoning of models is shown from now on. It is not at
// first.
func (f *Feed) ShowThoughts(show bool) {
	f.change(func() { f.thoughts = show })
}

// Thought adds the next piece of the reasoning of a turn, which is shown, dimmed, if a person
// wants it.
func (f *Feed) Thought(id, name, piece string) {
	f.change(func() {
		s := f.turn(id, name)
		if s.doing != "thinking" {
			s.doing, s.since = "thinking", f.o.Now()
		}
		if !f.thoughts || s.text.Len() > 0 { // not in the middle of what it says
			return
		}
		s.thought.WriteString(piece)
		text := s.thought.String()
		end := strings.LastIndexByte(text, '\n') + 1
		if len(text)-end > maxThought {
			end = len(text)
		}
		s.thought.Reset()
		s.thought.WriteString(text[end:])
		f.putThought(s, text[:end])
	})
}

// endThought shows the last line of the reasoning before something else follows.
func (f *Feed) endThought(s *speech) {
	text := s.thought.String()
	s.thought.Reset()
	f.putThought(s, text)
}

func (f *Feed) putThought(s *speech, text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(term.Clean(line)); line != "" {
			s.put(f.dim(term.Wrap(line, f.o.Width()-1-s.gutter)))
		}
	}
}
