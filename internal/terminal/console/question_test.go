package console

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// asked is a question whose answers arrive on a channel.
func asked(name string) (*Question, chan string) {
	answers := make(chan string, 8)
	return &Question{
		Rows: func(int, int) []string { return []string{name, "y n N"} },
		Keys: "yn", Worded: "N", WordsPrompt: "why: ",
		Answer: func(key rune, words string) { answers <- string(key) + words },
	}, answers
}

func (p *pair) sees(text string) {
	p.t.Helper()
	until(p.t, fmt.Sprintf("%q is seen", text), func() bool { return strings.Contains(p.said.String(), text) })
}

func (p *pair) answered(answers chan string, want string) {
	p.t.Helper()
	select {
	case got := <-answers:
		if got != want {
			p.t.Fatalf("the answer is %q, want %q", got, want)
		}
	case <-time.After(patience):
		p.t.Fatalf("%q was never answered", want)
	}
}

// lines reads lines until the test ends.
func (p *pair) lines() <-chan string {
	read := make(chan string, 8)
	go func() {
		for {
			line, err := p.ReadLine(p.t.Context())
			if err != nil {
				return
			}
			read <- line
		}
	}()
	return read
}

// TestQuestionTakesOneKey: the line being typed is put aside for one key, and comes
// back; a reason is a line of its own.
func TestQuestionTakesOneKey(t *testing.T) {
	p := onPTY(t, Options{Prompt: "> ", readingTime: time.Millisecond})
	read := p.lines()
	p.types("half a line")
	p.sees("half a line")
	q, answers := asked("first?")
	p.Ask(q)
	p.sees("your line is kept: half a line")
	p.types("y")
	p.answered(answers, "y")
	q, answers = asked("second?")
	p.Ask(q)
	p.sees("second?")
	until(t, "keys answer", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.ask.state == askArmed })
	p.types("N")
	p.sees("why: ")
	p.types("not on a Friday\r")
	p.answered(answers, "Nnot on a Friday")
	p.Ask(nil)
	p.types(", whole\r")
	if got := <-read; got != "half a line, whole" {
		t.Errorf("the line came back as %q", got)
	}
}

// TestQuestionIsNotAnsweredByChance: keys that come with the question, more than one
// character at once, a paste, and an answer typed as a line do not answer, and none of
// them is lost but the last.
func TestQuestionIsNotAnsweredByChance(t *testing.T) {
	p := onPTY(t, Options{Prompt: "> ", readingTime: time.Hour})
	read := p.lines()
	q, answers := asked("may it?")
	p.Ask(q)
	p.types("y")
	p.types("\r") // caught: not sent, and no answer
	p.sees("press the key alone")
	p.types("ye gods\r")
	if got := <-read; got != "ye gods" {
		t.Errorf("read %q", got)
	}
	arm := func() {
		p.change(func() { p.ask.state = askArmed })
		p.sees("a key above answers")
	}
	for typed, want := range map[string]string{"yes please\r": "yes please", "\x1b[200~y\x1b[201~ it is\r": "y it is", "hm\r": "hm"} {
		arm()
		p.types(typed)
		if got := <-read; got != want {
			t.Errorf("%q was read as %q", typed, got)
		}
	}
	arm()
	p.types("yes\r")
	until(t, "it was caught", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.ask.state == askShown })
	if len(answers) > 0 || len(read) > 0 {
		t.Errorf("answered %q, read %q", <-answers, <-read)
	}
	arm()
	p.types("y")
	p.answered(answers, "y")
}

// TestQuestionOnALowTerminal: the keys are there on the lowest of terminals.
func TestQuestionOnALowTerminal(t *testing.T) {
	q, _ := asked("may it?")
	for height := 2; height < 8; height++ {
		b := layout(view{question: q.Rows, aside: true, reading: true, text: "kept", width: 20, height: height, live: []string{"a", "b"}, status: "status"})
		if len(b.rows) > max(2, height)-1 {
			t.Errorf("%d rows on a terminal of %d", len(b.rows), height)
		}
		if height > 3 && !strings.Contains(strings.Join(b.rows, "\n"), "y n N") {
			t.Errorf("no keys at %d: %q", height, b.rows)
		}
	}
}

// TestQuestionTakesEnterAndEscape: where a question says so, enter in an empty line and escape
// answer it; a line that is being typed is never taken for that.
func TestQuestionTakesEnterAndEscape(t *testing.T) {
	p := onPTY(t, Options{Prompt: "> ", readingTime: time.Millisecond})
	read := p.lines()
	armed := func() {
		t.Helper()
		until(t, "keys answer", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.ask.state == askArmed })
	}
	for _, c := range [][2]string{{"\r", "E"}, {"\x1b", "X"}, {"y", "y"}} {
		q, answers := asked("plan?")
		q.Enter, q.Escape = 'E', 'X'
		p.Ask(q)
		armed()
		p.types(c[0])
		p.answered(answers, c[1])
	}
	p.Ask(nil)
	p.types("half a line")
	p.sees("half a line")
	q, answers := asked("plan?")
	q.Enter = 'E'
	p.Ask(q)
	armed()
	p.types("\r")
	p.types(", whole\r")
	if got := <-read; got != "half a line, whole" {
		t.Errorf("the line came back as %q", got)
	}
	if len(answers) > 0 {
		t.Errorf("answered %q", <-answers)
	}
}

// TestBackTabIsTold: shift-tab is passed on, unless it chooses a completion.
func TestBackTabIsTold(t *testing.T) {
	told := make(chan struct{}, 8)
	p := onPTY(t, Options{Prompt: "> ", OnBackTab: func() { told <- struct{}{} }})
	read := p.lines()
	p.types("text\x1b[Z")
	<-told
	p.types("\r")
	if got := <-read; got != "text" {
		t.Errorf("the line is %q", got)
	}
}
