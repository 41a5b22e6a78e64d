package console

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"fika/internal/system/term"
)

// displayEnv makes the program under test a Display instead of a Console.
const displayEnv = "FIKA_CONSOLE_DISPLAY"

func displayChild(pipe string) int {
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		return 1
	}
	d := NewDisplay(term.SystemStreams())
	d.Show("ready", nil, "")
	var rows []string
	status := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		verb, rest, _ := strings.Cut(s.Text(), " ")
		text := ""
		switch verb {
		case "print":
			text = rest
		case "rows":
			rows = strings.Split(rest, "|")
		case "status":
			status = rest
		case "err":
			fmt.Fprintln(d.Err(), rest)
			continue
		case "ask":
			fmt.Fprint(d.Err(), rest)
			continue
		case "answer":
			line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
			text = "answered " + strings.TrimSpace(line)
		case "end":
			_ = d.Close()
			return 0
		}
		d.Show(text, func(width, _ int) []string {
			out := make([]string, len(rows))
			for i, r := range rows {
				out[i] = term.Truncate(strings.Repeat(r+" ", 40), width)
			}
			return out
		}, status)
	}
	return 1
}

func TestDisplay(t *testing.T) {
	t.Setenv(displayEnv, "1")
	term := inTmux(t, "", "")
	term.sees("ready")
	term.order("rows one|two")
	term.order("status coder thinking 4s")
	term.until("the rows are there", func() bool { return strings.HasSuffix(term.screen(), "\ncoder thinking 4s") })
	term.order("print a block is finished")
	term.order("err a line about the work")
	term.until("both are above the rows", func() bool {
		return strings.Contains(term.screen(), "ready\na block is finished\na line about the work\none one")
	})
	for _, width := range []string{"30", "100", "17", "60"} {
		term.run("resize-window", "-x", width, "-y", "20")
		term.order("print at " + width)
		term.until("the text is there", func() bool { return strings.Contains(term.screen(), "at "+width+"\none") })
	}
	term.order("ask really? ")
	term.sees("really?")
	term.order("status thinking 5s") // must not come into the question
	term.order("answer")
	term.text("yes")
	term.keys("Enter")
	term.until("the answer is above the rows", func() bool { return strings.Contains(term.screen(), "really? yes\n\nanswered yes\none") })
	term.order("end")
	term.sees("answered yes\nexit 0")
	want := "ready\na block is finished\na line about the work\nat 30\nat 100\nat 17\nat 60\nreally? yes\n\nanswered yes\nexit 0"
	if got := term.all(); got != want {
		t.Errorf("what stayed is\n%s\nwant\n%s", got, want)
	}
}

func TestDisplayWithoutATerminal(t *testing.T) {
	s, _, out, errs := term.TestStreams()
	d := NewDisplay(s)
	d.Show("\x1b[1mone\x1b[0m\n", func(int, int) []string { return []string{"never"} }, "never")
	d.Show("", nil, "never")
	_, _ = io.WriteString(d.Err(), "a question? ")
	d.Show("two", nil, "")
	if err := d.Close(); err != nil || out.String() != "\x1b[1mone\x1b[0m\ntwo\n" || errs.String() != "a question? " {
		t.Errorf("%v %q %q", err, out.String(), errs.String())
	}
}
