package console

import (
	"strings"
	"unicode/utf8"

	"fika/internal/system/term"
)

// action is what a key asks for.
type action int

const (
	actNone action = iota
	actInsert
	actEnter
	actNewline
	actInterrupt
	actEOF // ctrl-d: delete, or the end of input on an empty line
	actTab
	actBackTab
	actLeft
	actRight
	actUp
	actDown
	actWordLeft
	actWordRight
	actHome
	actEnd
	actBackspace
	actDelete
	actKillEnd
	actKillStart
	actKillWordLeft
	actKillWordRight
	actRubWord // ctrl-w: back to white space
	actYank
	actRedraw
	actSuspend
	actQuit   // ctrl-\: quit with a stack dump
	actEscape // the escape key alone
	actSearch // ctrl-r: back through the history
	actEdit   // ctrl-x ctrl-e: edit the line in a program of its own
)

// key is one key press or paste; text is the text to insert.
type key struct {
	action action
	text   string
	pasted bool // not typed, as far as the terminal distinguishes them
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"

	maxPaste    = 8 << 20 // bytes of one paste that are kept
	maxSequence = 64      // bytes of an escape sequence; longer ones are noise
)

// decoder turns the bytes from a terminal into keys. Sequences may be split anywhere; an
// unfinished one waits for more.
type decoder struct {
	rest    []byte
	pasting bool
	paste   []byte
	cut     bool // the paste was longer than maxPaste
}

// waiting reports whether bytes are held back until more come.
func (d *decoder) waiting() bool { return len(d.rest) > 0 || d.pasting }

// prefixed reports whether ctrl-x was pressed, which waits for its second key.
func (d *decoder) prefixed() bool { return len(d.rest) > 0 && d.rest[0] == 'X'-64 }

// feed takes bytes as they arrive and returns the keys they complete.
func (d *decoder) feed(p []byte) []key {
	src := append(d.rest, p...)
	d.rest = nil
	var keys []key
	for len(src) > 0 {
		var n int
		if d.pasting {
			n = d.takePaste(src, &keys)
		} else {
			n = d.decodeKey(src, &keys)
		}
		if n == 0 {
			d.rest = append([]byte(nil), src...)
			break
		}
		src = src[n:]
	}
	return keys
}

// flush is called when nothing more came: an ESC alone is the escape key, and a paste
// without an end is complete.
func (d *decoder) flush() []key {
	var keys []key
	if d.pasting {
		d.paste = append(d.paste, d.rest...)
		d.endPaste(&keys)
	} else if len(d.rest) > 0 && strings.Trim(string(d.rest), "\x1b") == "" {
		keys = append(keys, key{action: actEscape})
	}
	d.rest = nil
	return keys
}

// decodeKey decodes one key at the start of src; it returns 0 if it needs more bytes.
func (d *decoder) decodeKey(src []byte, keys *[]key) int {
	if src[0] == 0x1b {
		return d.takeEscape(src, keys)
	}
	if src[0] == 'X'-64 {
		if len(src) < 2 {
			return 0
		}
		if src[1] == 'E'-64 {
			add(keys, actEdit)
			return 2
		}
		return 1
	}
	if src[0] < 0x20 || src[0] == 0x7f {
		if a := controlKeys[src[0]&0x7f]; a != actNone {
			*keys = append(*keys, key{action: a})
		}
		return 1
	}
	return takeText(src, keys)
}

// takeText decodes a run of ordinary text as one insertion.
func takeText(src []byte, keys *[]key) int {
	n := 0
	for n < len(src) && src[n] >= 0x20 && src[n] != 0x7f {
		if !utf8.FullRune(src[n:]) {
			break
		}
		_, size := utf8.DecodeRune(src[n:])
		n += size
	}
	if n > 0 {
		*keys = append(*keys, key{action: actInsert, text: string(src[:n])})
	}
	return n
}

// controlKeys maps the control characters that have a meaning to their actions.
var controlKeys = [128]action{
	'A' - 64: actHome, 'B' - 64: actLeft, 'C' - 64: actInterrupt, 'D' - 64: actEOF, 'E' - 64: actEnd,
	'F' - 64: actRight, 'H' - 64: actBackspace, 'I' - 64: actTab, 'J' - 64: actEnter, 'K' - 64: actKillEnd,
	'L' - 64: actRedraw, 'M' - 64: actEnter, 'N' - 64: actDown, 'P' - 64: actUp, 'R' - 64: actSearch, 'U' - 64: actKillStart,
	'W' - 64: actRubWord, 'Y' - 64: actYank, 'Z' - 64: actSuspend, '\\' - 64: actQuit, 0x7f: actBackspace,
}

func (d *decoder) takeEscape(src []byte, keys *[]key) int {
	if len(src) < 2 {
		return 0
	}
	switch c := src[1]; c {
	case '[':
		return d.takeCSI(src, keys)
	case 'O':
		if len(src) < 3 {
			return 0
		}
		add(keys, finalKey(src[2], false))
		return 3
	case 0x1b: // two escapes: the first was a key of its own
		if len(src) < 3 {
			return 0
		}
		if src[2] != '[' && src[2] != 'O' { // else it is part of a key: alt with another
			add(keys, actEscape)
		}
		return 1
	default:
		add(keys, altKey(c))
		if c >= 0x80 {
			return 1
		}
		return 2
	}
}

func add(keys *[]key, a action) {
	if a != actNone {
		*keys = append(*keys, key{action: a})
	}
}

func altKey(c byte) action {
	switch c {
	case 'b', 'B':
		return actWordLeft
	case 'f', 'F':
		return actWordRight
	case 'd', 'D':
		return actKillWordRight
	case 0x7f, 0x08:
		return actKillWordLeft
	case '\r', '\n':
		return actNewline
	}
	return actNone
}

// takeCSI decodes ESC [ parameters final.
func (d *decoder) takeCSI(src []byte, keys *[]key) int {
	n := 2
	for n < len(src) && src[n] >= 0x20 && src[n] <= 0x3f {
		n++
	}
	if n > maxSequence {
		return n
	}
	if n == len(src) {
		return 0
	}
	if src[n] < 0x40 || src[n] > 0x7e { // broken off: what follows was typed
		return n
	}
	params, final := string(src[2:n]), src[n]
	n++
	if string(src[:n]) == pasteStart {
		d.pasting = true
		return n
	}
	add(keys, csiKey(params, final))
	return n
}

func csiKey(params string, final byte) action {
	first, mod, _ := strings.Cut(params, ";")
	switch final {
	case '~':
		switch first {
		case "1", "7":
			return actHome
		case "4", "8":
			return actEnd
		case "3":
			if mod != "" {
				return actKillWordRight
			}
			return actDelete
		case "27": // modifyOtherKeys: 27;modifier;code
			if strings.HasSuffix(mod, ";13") {
				return actNewline
			}
		}
		return actNone
	case 'u': // code;modifier
		if first == "13" && mod != "" && mod != "1" {
			return actNewline
		}
		return actNone
	}
	return finalKey(final, mod != "" && mod != "1" && mod != "2")
}

// finalKey returns the action of a key named by a letter; word says that a modifier makes
// the arrows move by words.
func finalKey(c byte, word bool) action {
	switch c {
	case 'A':
		return actUp
	case 'B':
		return actDown
	case 'C':
		if word {
			return actWordRight
		}
		return actRight
	case 'D':
		if word {
			return actWordLeft
		}
		return actLeft
	case 'H':
		return actHome
	case 'F':
		return actEnd
	case 'M':
		return actEnter
	case 'Z':
		return actBackTab
	}
	return actNone
}

// takePaste collects a bracketed paste up to its end.
func (d *decoder) takePaste(src []byte, keys *[]key) int {
	end := strings.Index(string(src), pasteEnd)
	if end >= 0 {
		d.paste = append(d.paste, src[:end]...)
		d.endPaste(keys)
		return end + len(pasteEnd)
	}
	n := len(src) // keep what may be the beginning of the end mark
	for k := min(len(pasteEnd)-1, len(src)); k > 0; k-- {
		if strings.HasPrefix(pasteEnd, string(src[len(src)-k:])) {
			n = len(src) - k
			break
		}
	}
	d.paste = append(d.paste, src[:n]...)
	if len(d.paste) > maxPaste {
		d.paste, d.cut = d.paste[:maxPaste], true
	}
	return n
}

func (d *decoder) endPaste(keys *[]key) {
	text := string(d.paste)
	d.pasting, d.paste = false, nil
	if text != "" {
		*keys = append(*keys, key{action: actInsert, text: text, pasted: true})
	}
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// typed makes text from a terminal fit for the line: one kind of newline, no control
// characters.
func typed(text string) string { return term.Clean(lineEnds.Replace(text)) }
