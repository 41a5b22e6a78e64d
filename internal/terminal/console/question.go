package console

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Question is answered with one key. It stands above the line being typed; once it has
// been read, the line is put aside, and comes back when nothing is asked any more.
//
// Keys answer a question only when no key was pressed for [Options.readingTime] since it
// is on the screen: what is being typed when it appears goes on into the line. Neither
// does anything that arrives as more than one character, such as a paste. Any other key
// takes the line back; the question is then answered after escape, or when the line is
// empty. A line that is only the word of an answer is not entered, but taken
// for a wish to answer: the key is then asked for.
type Question struct {
	// Rows returns what is shown, in at most height rows; its last row names the keys. It
	// is called while the console is locked and must not use it.
	Rows func(width, height int) []string

	// Keys are the characters that answer; those of Worded are followed by a line of
	// text, typed after the prompt WordsPrompt.
	Keys, Worded, WordsPrompt string

	// Enter and Escape are what the enter key, in an empty line, and the escape key answer; 0:
	// they do not.
	Enter, Escape rune

	// Answer is called with each key, in the goroutine that OnInterrupt is called in. The
	// question stays until Ask is called again, and can be answered again only after
	// Answer has returned.
	Answer func(key rune, words string)
}

// asking is the state of a question. The console's mutex guards it.
type asking struct {
	q     *Question
	state askState
	why   rune   // the key whose words are typed
	line  editor // the line put aside meanwhile
}

type askState int

const (
	askNothing  askState = iota
	askShown             // keys still go into the line
	askArmed             // keys answer
	askTyping            // the person types on
	askWords             // the words of an answer are typed
	askAnswered          // Answer has not returned yet
)

// answerWords are what people type to answer a question that is not asked with a key.
var answerWords = []string{"y", "yes", "n", "no", "a", "always", "v"}

// Ask shows a question in place of the present one; nil shows none. Without a terminal it
// does nothing.
func (c *Console) Ask(q *Question) {
	c.change(func() {
		if c.ask.q == nil && q == nil {
			return
		}
		if c.ask.state == askWords {
			c.edit = c.ask.line
		}
		c.ask = asking{q: q}
		if q != nil {
			c.ask.state = askShown
		}
	})
	c.delayAnswer()
}

// delayAnswer lets the keys answer only after another while without keys.
func (c *Console) delayAnswer() {
	select {
	case c.asked <- struct{}{}:
	default:
	}
}

func (s *asking) armed() bool { return s.state == askArmed || s.state == askAnswered }

// arm is called when nothing was typed for a while.
func (s *asking) arm() {
	if s.state == askShown {
		s.state = askArmed
	}
}

// show puts the question into what is drawn.
func (s *asking) show(v *view) {
	if s.q == nil {
		return
	}
	v.question, v.aside = s.q.Rows, s.armed() && v.reading
	switch {
	case s.state == askWords:
		v.prompt = oneRow(s.q.WordsPrompt)
	case s.state == askTyping:
		v.status = "esc goes back to the question"
	}
}

// answer reports whether a key belongs to the question, and acts on it then.
func (a *actor) answer(k key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.ask.q == nil {
		return false
	}
	switch s := &a.ask; s.state {
	case askShown:
		a.delayAnswer()
	case askArmed:
		return a.answerArmed(k)
	case askAnswered:
		return k.action != actInterrupt && k.action != actEscape && k.action != actEOF && k.action != actSuspend && k.action != actQuit
	case askTyping:
		if k.action == actEscape {
			s.state = askShown
			a.delayAnswer()
			a.redraw("")
			return true
		}
	case askWords:
		return a.answerWords(k)
	}
	return false
}

// askAgain lets keys answer again once the line that was typed on is empty. The caller
// holds mu.
func (a *actor) askAgain() {
	if a.ask.state == askTyping && a.edit.text == "" {
		a.ask.state = askShown
		a.delayAnswer()
	}
}

// answerArmed takes a key while keys answer. The caller holds mu.
func (a *actor) answerArmed(k key) bool {
	s := &a.ask
	switch {
	case k.action == actEnter && s.q.Enter != 0 && a.edit.text == "":
		a.give(s.q.Enter, "")
		a.redraw("")
		return true
	case k.action == actEscape && s.q.Escape != 0:
		a.give(s.q.Escape, "")
		a.redraw("")
		return true
	case k.action == actEnter, k.action == actEOF && a.edit.text != "":
		return true
	case slices.Contains([]action{actInterrupt, actEscape, actEOF, actSuspend, actQuit, actRedraw}, k.action):
		return false
	case k.action == actInsert && !k.pasted && utf8.RuneCountInString(k.text) == 1 && strings.Contains(s.q.Keys+s.q.Worded, k.text):
		r, _ := utf8.DecodeRuneInString(k.text)
		if strings.ContainsRune(s.q.Worded, r) {
			s.state, s.why, s.line = askWords, r, a.edit
			a.edit = editor{}
		} else {
			a.give(r, "")
		}
		a.redraw("")
		return true
	}
	s.state = askTyping
	return false
}

// answerWords takes a key while the words of an answer are typed. The caller holds mu.
func (a *actor) answerWords(k key) bool {
	s := &a.ask
	switch k.action {
	case actEnter:
		words := strings.TrimSpace(plain(a.edit.text))
		a.edit = s.line
		a.give(s.why, words)
	case actEscape, actInterrupt:
		a.edit, s.state = s.line, askArmed
	case actUp, actDown, actTab, actBackTab, actEOF:
	default:
		return false
	}
	a.redraw("")
	return true
}

// give passes an answer on. The caller holds mu.
func (a *actor) give(r rune, words string) {
	q := a.ask.q
	a.ask.state = askAnswered
	given := a.call(func() {
		q.Answer(r, words)
		a.change(func() {
			if a.ask.q == q && a.ask.state == askAnswered {
				a.ask.state = askArmed
			}
		})
	})
	if !given { // another call hangs
		a.ask.state = askArmed
	}
}

// catch reports whether a line that is entered was meant as an answer. It is kept out of
// the conversation, and the keys are asked for. The caller holds mu.
func (a *actor) catch(line string) bool {
	if a.ask.q == nil || !slices.Contains(answerWords, strings.ToLower(strings.TrimSpace(line))) {
		return false
	}
	a.edit.set("")
	a.ask.state = askShown
	a.hint = "not sent: a question is open; press the key alone"
	a.delayAnswer()
	return true
}
