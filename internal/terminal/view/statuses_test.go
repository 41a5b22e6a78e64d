package view

import (
	"context"
	"strings"
	"testing"

	"fika/internal/bus/message"
)

func TestStatusesOfATurn(t *testing.T) {
	chunk := func(step, offset int, text string) message.Status {
		return message.Status{RequestID: "r", AgentName: "coder", Status: "streaming", Data: message.StatusData{Step: step, Offset: offset, Chunk: text}}
	}
	no := false
	for _, c := range []struct {
		name     string
		statuses []message.Status
		answer   string
		want     string
	}{
		{"in order", []message.Status{chunk(1, 0, "one "), chunk(1, 4, "two")}, "one two", "one two\n"},
		{"again and overlapping", []message.Status{chunk(1, 0, "one "), chunk(1, 0, "one "), chunk(1, 2, "e two")}, "one two", "one two\n"},
		{"the end is missing", []message.Status{chunk(1, 0, "one ")}, "one two", "one two\n"},
		{"the middle is missing", []message.Status{chunk(1, 0, "one "), chunk(1, 8, "three")}, "one two three", "one two three\n"},
		{"nothing came", nil, "one", "one\n"},
		{"restarted", []message.Status{chunk(1, 0, "one "), {RequestID: "r", AgentName: "coder", Status: "streaming", Data: message.StatusData{Step: 1, Restart: true}}, chunk(1, 0, "one two")}, "one two", "one two\n"},
		{"a tool between", []message.Status{
			chunk(1, 0, "I look"),
			{RequestID: "r", AgentName: "coder", Status: "tool_call", Data: message.StatusData{ToolName: "edit", ToolArgs: raw(`{"path":"a"}`)}},
			{RequestID: "r", AgentName: "coder", Status: "tool_result", Data: message.StatusData{ToolName: "edit", Message: "old is missing", Success: &no}},
			chunk(2, 0, "Sorry"),
		}, "Sorry.", "I look\n✗ edit a old is missing\n\nSorry.\n"},
	} {
		f, p := newFeed(false)
		s := NewStatuses(f)
		s.Show(message.Status{RequestID: "r", AgentName: "coder", Status: "processing"})
		for _, st := range c.statuses {
			st.Data.Kind = "ask"
			s.Show(st)
		}
		s.End("r", "coder", c.answer)
		f.Close()
		if got := p.text.String(); got != c.want && dropTook(got) != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestParallelCallsKeepTheirArguments: of two calls of one tool that end in the other
// order, each is shown with its own arguments and output (trial row R7).
func TestParallelCallsKeepTheirArguments(t *testing.T) {
	status := func(kind string, d message.StatusData) message.Status {
		d.ToolName = "read"
		return message.Status{RequestID: "r", AgentName: "coder", Status: kind, Data: d}
	}
	no := false
	f, p := newFeed(false)
	s := NewStatuses(f)
	s.Show(status("tool_call", message.StatusData{CallID: "r/2", ToolArgs: raw(`{"path":"first"}`)}))
	s.Show(status("tool_call", message.StatusData{CallID: "r/3", ToolArgs: raw(`{"path":"second"}`)}))
	s.Show(status("tool_result", message.StatusData{CallID: "r/3", Message: "of the second", Success: &no}))
	s.Show(status("tool_result", message.StatusData{CallID: "r/2", Message: "of the first", Success: &no}))
	s.End("r", "coder", "done")
	f.Close()
	got := dropTook(p.text.String())
	for _, want := range []string{"read second of the second", "read first of the first"} {
		if !strings.Contains(got, want) {
			t.Errorf("not shown: %s\n%s", want, got)
		}
	}
}

// TestKeptMessagesAreShownOnce lets messages be kept before, after and while
// their pieces come.
func TestKeptMessagesAreShownOnce(t *testing.T) {
	type step struct {
		chunk  string // of round n
		n, at  int
		kept   string
		last   bool
		status string
	}
	for _, c := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"after", []step{{chunk: "one", n: 1}, {kept: "one", last: true}}, "a\n  one\n  #\n"},
		{"before", []step{{kept: "one", last: true}, {chunk: "one", n: 1}}, "a\n  one\n  #\n"},
		{"while", []step{{chunk: "one ", n: 1}, {kept: "one two", last: true}, {chunk: "two", n: 1, at: 4}}, "a\n  one two\n  #\n"},
		{"while, and more follows", []step{{chunk: "one ", n: 1}, {kept: "one two"}, {chunk: "two", n: 1, at: 4}, {chunk: "three", n: 2}, {kept: "three", last: true}}, "a\n  one two\n  #\n\n  three\n  #\n"},
		{"over first", []step{{chunk: "one", n: 1}, {status: "completed"}, {kept: "one", last: true}}, "a\n  one\n  #\n"},
		{"two rounds, each before", []step{{kept: "one"}, {chunk: "one", n: 1}, {kept: "two", last: true}, {chunk: "two", n: 2}}, "a\n  one\n  #\n\n  two\n  #\n"},
		{"two rounds, the second before", []step{{chunk: "one", n: 1}, {kept: "one"}, {kept: "two"}, {chunk: "two", n: 2}, {chunk: "three", n: 3}, {kept: "three", last: true}}, "a\n  one\n  #\n\n  two\n  #\n\n  three\n  #\n"},
		{"two rounds, both after", []step{{chunk: "one", n: 1}, {chunk: "two", n: 2}, {kept: "one"}, {kept: "two", last: true}}, "a\n  one\n  #\n\n  two\n  #\n"},
		{"nothing streamed", []step{{kept: "one\n\ntwo", last: true}}, "a\n  one\n\n  two\n  #\n"},
		{"failed", []step{{chunk: "one", n: 1}, {status: "error"}}, "a\n  one\n"},
	} {
		f, p := newFeed(true)
		s := NewStatuses(f)
		for _, st := range c.steps {
			switch {
			case st.kept != "":
				s.Kept("r", "a", st.kept, "#", st.last)
			case st.status != "":
				s.Show(message.Status{RequestID: "r", AgentName: "a", Status: st.status})
			default:
				s.Show(message.Status{RequestID: "r", AgentName: "a", Status: "streaming", Data: message.StatusData{Step: st.n, Offset: st.at, Chunk: st.chunk}})
			}
		}
		f.Close()
		if got := p.text.String(); got != c.want && strings.ReplaceAll(got, "\n\n", "\n") != strings.ReplaceAll(c.want, "\n\n", "\n") {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// TestEndIsRememberedWhenNobodyWorks: what the bus told of a turn before the store
// was looked at is known when its answer comes, so nobody waits for it again; and a
// look that was older than the turn loses nothing of it.
func TestEndIsRememberedWhenNobodyWorks(t *testing.T) {
	f, p := newFeed(false)
	s := NewStatuses(f)
	tell := func(id, status string, d message.StatusData) {
		s.Show(message.Status{RequestID: id, AgentName: "coder", Status: status, Data: d})
	}
	none, stop := context.WithCancel(context.Background())
	stop()
	tell("one", "streaming", message.StatusData{Step: 1, Chunk: "First."})
	tell("one", "completed", message.StatusData{})
	s.Running(nil)
	s.Running(nil)
	if !s.AwaitEnd(none, "one") {
		t.Error("the end of a turn was forgotten, and is waited for")
	}
	s.Kept("one", "coder", "First.", "", true)
	tell("two", "streaming", message.StatusData{Step: 1, Chunk: "Sec"})
	s.Running(nil)
	tell("two", "streaming", message.StatusData{Step: 1, Offset: 3, Chunk: "ond."})
	s.Running(map[string]string{"two": "coder"})
	tell("two", "streaming", message.StatusData{Step: 1, Offset: 7, Chunk: " Third."})
	if s.AwaitEnd(none, "two") {
		t.Error("the end of a turn was told that has not ended")
	}
	s.Running(nil)
	s.Kept("two", "coder", "Second. Third.", "", true)
	f.Flush()
	f.Close()
	if got := p.text.String(); got != "First.\nSecond. Third.\n" {
		t.Errorf("shown was %q", got)
	}
}

// TestCallsThatWereNotToldAreFilledIn: of a turn that was not heard from its beginning
// the calls that the bus did not tell of are shown, once, and no others.
func TestCallsThatWereNotToldAreFilledIn(t *testing.T) {
	f, p := newFeed(false)
	s := NewStatuses(f)
	tell := func(id, status string, d message.StatusData) {
		s.Show(message.Status{RequestID: id, AgentName: "coder", Status: status, Data: d})
	}
	no := false
	tell("whole", "processing", message.StatusData{Kind: "ask"})
	if !s.Heard("whole") || s.Heard("part") {
		t.Error("a turn was heard from its beginning, another was not")
	}
	s.Missed()
	if s.Heard("whole") {
		t.Error("of a turn something may have been missed")
	}
	s.End("whole", "coder", "")
	tell("part", "tool_result", message.StatusData{ToolName: "bash", Message: "two…", Success: &no})
	calls := []Call{{Tool: "bash", Output: "one", Failed: true}, {Tool: "bash", Output: "two and more", Failed: true}}
	s.Fill("part", "coder", calls)
	s.Fill("part", "coder", calls)
	s.Kept("part", "coder", "Done.", "", true)
	f.Close()
	if got := dropTook(p.text.String()); got != "✗ bash two…\n✗ bash one\nDone.\n" {
		t.Errorf("shown was %q", got)
	}
}

// TestThoughtsAreShownOnRequest: reasoning is shown line by line, before what follows it, and only
// if a person wants it.
func TestThoughtsAreShownOnRequest(t *testing.T) {
	for _, show := range []bool{false, true} {
		f, p := newFeed(false)
		f.ShowThoughts(show)
		s := NewStatuses(f)
		for _, d := range []message.StatusData{
			{Step: 1, Reasoning: true, Chunk: "First I lo"}, {Step: 1, Reasoning: true, Chunk: "ok.\n\nThen\x1b[31m"},
			{Step: 1, Chunk: "Done."}, {Step: 1, Offset: 5, Chunk: " Really."},
		} {
			s.Show(message.Status{RequestID: "r", AgentName: "coder", Status: "streaming", Data: d})
		}
		s.End("r", "coder", "Done. Really.")
		f.Close()
		want := "Done. Really.\n"
		if show {
			want = "First I look.\nThen\n" + want
		}
		if got := p.text.String(); got != want {
			t.Errorf("shown %v: %q, want %q", show, got, want)
		}
	}
}
