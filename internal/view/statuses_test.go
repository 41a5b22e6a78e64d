package view

import (
	"testing"

	"fika/internal/message"
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
		if got := p.text.String(); clockless(got) != c.want && dropTook(got) != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
