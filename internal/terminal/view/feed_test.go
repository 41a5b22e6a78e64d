package view

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// paper is a screen that keeps everything.
type paper struct {
	mu     sync.Mutex
	text   strings.Builder
	rows   []string
	status string
	shows  int
}

func (p *paper) Show(text string, rows func(width, height int) []string, status string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.WriteString(text)
	p.rows = nil
	if rows != nil {
		p.rows = rows(40, 24)
	}
	p.status = status
	p.shows++
}

// newFeed makes a Feed on paper whose clock is moved by hand, so that every
// change is drawn at once.
func newFeed(names bool) (*Feed, *paper) {
	p := &paper{}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	var mu sync.Mutex
	return NewFeed(p, Options{Names: names, Width: func() int { return 40 }, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(50 * time.Millisecond)
		return now
	}}), p
}

func (p *paper) sees(t *testing.T, text, rows string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := p.text.String(); got != text {
		t.Errorf("printed is\n%s\nwant\n%s", got, text)
	}
	if got := strings.Join(p.rows, "\n"); got != rows {
		t.Errorf("the rows are %q, want %q", got, rows)
	}
}

func TestOneSpeaker(t *testing.T) {
	f, p := newFeed(false)
	f.Busy("1", "coder", "thinking")
	f.Text("1", "coder", "I look at **it** first.\n\nThen I")
	p.sees(t, "I look at **it** first.\n", "\nThen I")
	f.Calls("1", "coder", Call{Tool: "read", Args: raw(`{"path":"a"}`)})
	if !strings.HasPrefix(p.status, "read a") {
		t.Errorf("the status is %q", p.status)
	}
	f.Called("1", "coder", Call{Tool: "read", Args: raw(`{"path":"a"}`), Output: "x", Took: 1})
	f.Text("1", "coder", "Done.")
	p.sees(t, "I look at **it** first.\n\nThen I\n✓ read a\n", "\nDone.")
	f.End("1", "x", "Done.")
	p.sees(t, "I look at **it** first.\n\nThen I\n✓ read a\n\nDone.\n", "")
	f.Close()
}

func TestAnswerThatWasStreamedInPart(t *testing.T) {
	for _, c := range []struct{ streamed, final, want string }{
		{"a b", "a b", "a b\n"},
		{"a", "a b", "a b\n"},
		{"", "a b", "a b\n"},
		{"a c", "a b", "a c\nthe answer as it was kept:\n\na b\n"},
		{"a b\n", "a b", "a b\n"},
	} {
		f, p := newFeed(false)
		f.Text("1", "x", c.streamed)
		f.Busy("1", "x", "thinking")
		f.End("1", "x", c.final)
		p.sees(t, c.want, "")
		f.Close()
	}
}

// TestA9AnswerOnceAfterItsEnd: whether the end of a turn is told of before or
// after its answer was read from the store, the answer is shown once.
func TestA9AnswerOnceAfterItsEnd(t *testing.T) {
	for _, c := range []struct{ streamed, final, want string }{
		{"a b", "a b", "a b\n"},
		{"", "a b", "a b\n"},
		{"a", "a b", "a\nthe answer as it was kept:\n\na b\n"},
	} {
		f, p := newFeed(false)
		f.Text("1", "x", c.streamed)
		f.Busy("1", "x", "thinking")
		f.Over("1")
		f.End("1", "x", c.final)
		p.sees(t, c.want, "")
		f.Close()
	}
}

func TestAttemptsAreShownOnce(t *testing.T) {
	for _, c := range []struct {
		pieces []string // "!" begins anew
		want   string
	}{
		{[]string{"one two", "!", "one ", "two three"}, "one two three\n"},
		{[]string{"one two", "!", "one ", "!", "one two", " three"}, "one two three\n"},
		{[]string{"one two", "!", "other text"}, "one two\nthe answer was started again\n\nother text\n"},
		{[]string{"one two", "!", "one"}, "one two\nthe answer was started again\n\none\n"},
	} {
		f, p := newFeed(false)
		for _, piece := range c.pieces {
			if piece == "!" {
				f.Restart("1", "x")
			} else {
				f.Text("1", "x", piece)
			}
		}
		f.End("1", "x", "")
		p.sees(t, c.want, "")
		f.Close()
	}
}

func TestOneStreamsTheOthersCollect(t *testing.T) {
	f, p := newFeed(true)
	f.Text("1", "ann", "ann one\n\n```\ncode 1\n")
	f.Text("2", "bob", "bob one\n\nbob two")
	f.End("2", "x", "bob one\n\nbob two")
	first := "ann\n  ann one\n\n  ```\n  code 1\n"
	p.sees(t, first, "")
	f.Text("1", "ann", "code 2\n```\nann")
	first += "  code 2\n  ```\n\nbob\n  bob one\n\n  bob two\n"
	p.sees(t, first, "\nann\n  ann")
	f.Text("3", "cid", "cid one\n\ncid")
	f.End("1", "x", "")
	first += "\nann\n  ann\n\ncid\n  cid one\n"
	p.sees(t, first, "\n  cid")
	f.End("3", "x", "")
	p.sees(t, first+"\n  cid\n", "")
	f.Close()
}

// TestNamesAbove shows what somebody does below their name: calls that went well side by
// side where there is room; a blank line sets speakers apart.
func TestNamesAbove(t *testing.T) {
	ok := func(tool string) Call { return Call{Tool: "read", Args: raw(`{"path":"` + tool + `"}`), Took: 1} }
	f, p := newFeed(true)
	f.Called("1", "ann", ok("a"))
	f.Called("1", "ann", ok("b"))
	p.sees(t, "", "ann\n  ✓ read a   ✓ read b")
	f.Called("1", "ann", ok("a-longer-name"))
	p.sees(t, "ann\n  ✓ read a   ✓ read b\n", "  ✓ read a-longer-name") // too long to stand beside
	f.Print("note")
	f.Called("1", "ann", Call{Tool: "bash", Args: raw(`{"command":"make"}`), Took: 1, Failed: true, Output: "bad\nexit status 2"})
	p.sees(t, "ann\n  ✓ read a   ✓ read b\n  ✓ read a-longer-name\nnote\n\nann\n  ✗ bash make exit 2\n    bad\n", "")
	f.Called("2", "a-very-long-name", ok("c"))
	f.Over("2")
	f.End("2", "a-very-long-name", "Done.")
	if text := p.text.String(); !strings.HasSuffix(text, "a-very-long-name\n  ✓ read c\n  Done.\n") {
		t.Errorf("printed is\n%s", text)
	}
	f.Close()
}

// TestEveryLineOnce lets several speakers say numbered lines in any order of
// pieces, tools and ends: each line is printed once, and those of a speaker in
// their order.
// TestNamesOfTurns: another turn of the same speaker has the name before it again.
func TestNamesOfTurns(t *testing.T) {
	f, p := newFeed(true)
	f.Kept("1", "coder", "The first.", "", true)
	f.Kept("2", "coder", "The second.", "", true)
	f.Close()
	p.sees(t, "coder\n  The first.\n\ncoder\n  The second.\n", "")
}

func TestEveryLineOnce(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		f, p := newFeed(true)
		var left [3]string
		var said [3]int
		for i := range left {
			for n := range 12 {
				left[i] += fmt.Sprintf("line-%d-%d.%s", i, n, []string{"\n", "\n\n", "\n```\n", "\n- x\n"}[r.IntN(4)])
			}
		}
		ended := 0
		for ended < 3 {
			i := r.IntN(3)
			id, name := fmt.Sprint(i), fmt.Sprintf("s%d", i)
			if said[i] < 0 {
				continue
			}
			switch n := min(r.IntN(30), len(left[i])); {
			case left[i] == "":
				f.End(id, name, "")
				said[i] = -1
				ended++
			case r.IntN(10) == 0:
				f.Print("note")
			default:
				f.Text(id, name, left[i][:n])
				left[i] = left[i][n:]
			}
		}
		f.Close()
		text := p.text.String()
		for i := range left {
			at := -1
			for n := range 12 {
				line := fmt.Sprintf("line-%d-%d.", i, n)
				if c := strings.Count(text, line); c != 1 {
					t.Fatalf("seed %d: %s is printed %d times:\n%s", seed, line, c, text)
				}
				if now := strings.Index(text, line); now < at {
					t.Fatalf("seed %d: %s is out of order:\n%s", seed, line, text)
				} else {
					at = now
				}
			}
		}
	}
}

func TestDrawnOnlySoOften(t *testing.T) {
	p := &paper{}
	f := NewFeed(p, Options{Now: func() time.Time { return time.Time{}.Add(time.Hour) }}) // time stands still
	for range 1000 {
		f.Text("1", "x", "word ")
	}
	if p.shows > 2 {
		t.Errorf("drawn %d times at one moment", p.shows)
	}
	f.Close()
	if !strings.HasPrefix(p.text.String(), "word word") {
		t.Errorf("printed is %q", p.text.String())
	}
}

// dropTook takes out how long calls took by the clock of the test.
func dropTook(s string) string { return took.ReplaceAllString(s, "") }

var took = regexp.MustCompile(` \(\d+ms\)`)
