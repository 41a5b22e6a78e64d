package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/system/term"
	"fika/internal/terminal/view"
)

// TestReplayHasEachMessageOnce replays a session of 1,000 messages, with calls of
// tools between them, at three widths: each message and each call is there once,
// in order, and no line of an answer is wider than the terminal.
func TestReplayHasEachMessageOnce(t *testing.T) {
	var entries []fika.Entry
	at := time.Unix(1_700_000_000, 0)
	for i := range 1000 {
		x := fika.Entry{Seq: int64(3 * i), At: at.Add(time.Duration(i) * time.Second), From: "user", Type: fika.Message, Meta: fika.EntryMeta{Writer: fika.ByHuman}}
		x.Content = fmt.Sprintf("@coder M%d. says **this**: 日本語 and 👩‍👩‍👧, long enough to be wrapped at every one of these widths, whatever they are, and then a little longer than that, so that there are two rows of it even on a wide one.\n\n| a | b |\n|---|---|\n| 1 | 語 |\n\n```go\nfunc f() {}\n```", i)
		if i%2 == 1 {
			id := fmt.Sprint("call", i)
			args, _ := json.Marshal(map[string]string{"command": fmt.Sprintf("echo C%d.", i)})
			x.From, x.Request, x.Meta = "coder", fika.RequestID(id), fika.EntryMeta{Writer: fika.ByAgent, Final: true}
			entries = append(entries,
				fika.Entry{Seq: x.Seq - 2, Request: x.Request, At: x.At, From: "coder", To: "bash", Type: fika.ToolCall, Content: string(args), Meta: fika.EntryMeta{ToolCallID: id}},
				fika.Entry{Seq: x.Seq - 1, Request: x.Request, At: x.At, From: "bash", To: "coder", Type: fika.ToolResult, Content: "done", Meta: fika.EntryMeta{ToolCallID: id}})
		}
		entries = append(entries, x)
	}
	agents := func() []fika.AgentName { return []fika.AgentName{"coder"} }
	for _, width := range []int{40, 80, 200} {
		p := Page{look: view.Look{Width: width}, render: true, people: map[string]bool{}, calls: map[string]fika.Entry{}}
		text := (&Script{page: p, me: "user", agents: agents}).Replay(entries)
		rest := text
		for i := range 1000 {
			for _, mark := range []string{fmt.Sprintf("C%d.", i), fmt.Sprintf("M%d.", i)} {
				if mark[0] == 'C' && i%2 == 0 {
					continue
				}
				before, after, found := strings.Cut(rest, mark)
				if !found || strings.Contains(after, mark) || strings.Count(text, mark) != 1 {
					t.Fatalf("at %d columns %s is there %d times; it should come after\n%s", width, mark, strings.Count(text, mark), before[max(0, len(before)-300):])
				}
				rest = after
			}
		}
		for line := range strings.Lines(text) {
			if w := term.Width(strings.TrimRight(line, "\n")); w > width {
				t.Fatalf("a line of %d columns on a terminal of %d: %q", w, width, line)
			}
		}
	}
}

// TestALongTextIsFolded: of what a person has pasted the beginning and the end are shown.
func TestALongTextIsFolded(t *testing.T) {
	text := strings.Repeat("row\n", 499) + "last"
	got := strings.Split(folded(text), "\n")
	if len(got) != shownRows || got[7] != "… 485 more lines …" || got[15] != "last" {
		t.Errorf("%d rows: %q", len(got), got)
	}
	if short := strings.Repeat("row\n", 15) + "last"; folded(short) != short {
		t.Error("a text that fits is folded")
	}
}
