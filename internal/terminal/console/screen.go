package console

import (
	"io"
	"strconv"
	"strings"

	"fika/internal/system/term"
)

const (
	syncOn  = "\x1b[?2026h" // the terminal shows what follows in one step
	syncOff = "\x1b[?2026l"
	wrapOff = "\x1b[?7l"
	wrapOn  = "\x1b[?7h"
	pasteOn = "\x1b[?2004h"
	pasteNo = "\x1b[?2004l"
	// the title of the window and a notification, each ended by stringEnd
	titlePush = "\x1b[22;2t"
	titlePop  = "\x1b[23;2t"
	titleSet  = "\x1b]2;"
	notify    = "\x1b]9;"
	stringEnd = "\x1b\\"
	bell      = "\a"

	hide   = "\x1b[?25l"
	unhide = "\x1b[?25h"

	// clear erases everything from the beginning of this row on. It steps off the first
	// column because some terminals treat a clear from the top left corner as "scroll it
	// all away", and would keep the block for ever.
	clear = "\x1b[2K\x1b[C\x1b[J\r"
)

// screen knows which block is on the terminal and replaces it.
type screen struct {
	w       io.Writer
	cursor  bool // the cursor stays visible, although nobody types
	drawn   block
	visible bool
	err     error // the first failed write; nothing is written after it
}

// update erases the block, writes text (whole lines) in its place and draws next below
// it, in one write. width is the current width of the terminal, which may differ from
// that at the time the block was drawn.
func (s *screen) update(text string, next block, width int) {
	if s.err != nil || text == "" && !s.visible && len(next.rows) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString(syncOn)
	s.erase(&b, width)
	b.WriteString(text)
	s.draw(&b, next)
	b.WriteString(syncOff)
	_, s.err = io.WriteString(s.w, b.String())
}

// erase moves to the first row of the block and clears from there. If the cursor rests in
// the first row there is nothing to count: whatever the terminal did to the rows when its
// width changed, all of them are below. Otherwise the rows are counted as a terminal that
// became narrower has rewrapped them.
func (s *screen) erase(b *strings.Builder, width int) {
	if !s.visible {
		return
	}
	up := 0
	if !s.drawn.top {
		up = term.Width(s.drawn.before) / max(1, width)
		for _, r := range s.drawn.rows[:s.drawn.row] {
			up += 1 + max(0, term.Width(r)-1)/max(1, width)
		}
	}
	b.WriteByte('\r')
	if up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	b.WriteString(clear)
	s.visible = false
}

// draw writes the rows and positions the cursor by writing again what is before it: if
// the terminal and this program disagree about the width of a character, the terminal is
// right.
func (s *screen) draw(b *strings.Builder, next block) {
	if s.drawn.top && !next.top && !s.cursor {
		b.WriteString(unhide)
	}
	s.drawn = next
	if len(next.rows) == 0 {
		return
	}
	s.visible = true
	b.WriteString(wrapOff)
	if next.top && !s.cursor {
		b.WriteString(hide)
	}
	b.WriteString(strings.Join(next.rows, "\r\n"))
	if !next.top && next.row >= len(next.rows) { // nothing is being typed: wait below
		b.WriteString("\r\n")
	} else {
		if up := len(next.rows) - 1 - next.row; up > 0 {
			b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
		}
		b.WriteByte('\r')
		if !next.top {
			b.WriteString(next.before)
		}
	}
	b.WriteString(wrapOn)
}

// printed makes text ready to be written in raw mode: complete lines, safe.
func printed(text string) string { return rawLines(term.CleanStyled(text)) }

// printedLinked is printed for text that may contain links.
func printedLinked(text string) string { return rawLines(term.CleanLinked(text)) }

func rawLines(text string) string {
	text = strings.TrimSuffix(text, "\n")
	if strings.IndexByte(text, 0x1b) >= 0 {
		text += "\x1b[0m"
	}
	return strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"
}
