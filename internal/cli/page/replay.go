package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/chat/attachment"
	"fika/internal/chat/mention"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/view"
	"fika/internal/text/words"
)

// Script formats the entries of a session as they look when they happen: the person's
// text as they typed it, and the text and tool calls of others next to their names.
type Script struct {
	page   Page
	me     string                  // the person's name
	agents func() []fika.AgentName // the agents of the session
	// Last is the agent that the person spoke to last in the entries so far; "": not known.
	Last fika.AgentName
}

// NewScript makes a script for the person me. agents returns the agents that the person
// speaks to at the time of the call.
func NewScript(p Page, me string, agents func() []fika.AgentName) *Script {
	return &Script{page: p, me: me, agents: agents}
}

// SetWidth sets the width of the terminal in columns.
func (s *Script) SetWidth(columns int) { s.page.look.Width = columns }

// collector is a screen that keeps what is printed.
type collector struct{ strings.Builder }

// Show implements [view.Screen].
func (c *collector) Show(text string, _ func(width, height int) []string, _ string) {
	c.WriteString(text)
}

// Replay formats past entries.
func (s *Script) Replay(entries []fika.Entry) string {
	var out collector
	var then time.Time
	f := view.NewFeed(&out, view.Options{
		Style: s.page.look.Style, Links: s.page.links, Person: s.page.Person, Names: true,
		Width: func() int { return s.page.look.Width }, Now: func() time.Time { return then },
	})
	for _, x := range entries {
		turn := string(x.Request)
		if turn == "" {
			turn = fmt.Sprint(x.Seq)
		}
		switch {
		case x.Type == fika.ToolCall && s.page.render && x.Meta.ToolCallID != "":
			s.page.calls[x.Meta.ToolCallID] = x
		case x.Type == fika.ToolResult && s.page.render:
			c := view.Call{Tool: x.From, Output: x.Content, Failed: x.Meta.IsError}
			called, ok := s.page.calls[x.Meta.ToolCallID]
			if ok {
				delete(s.page.calls, x.Meta.ToolCallID)
				c.Tool, c.Args, c.Took = called.To, json.RawMessage(called.Content), x.At.Sub(called.At)
			}
			f.Called(turn, called.From, c)
		case x.Type == fika.Message && x.Meta.Writer == fika.ByAgent:
			f.Kept(turn, x.From, x.Content, "", x.Meta.Final)
		default:
			f.Print(s.Entry(x))
		}
	}
	f.Close()
	return strings.TrimPrefix(out.String(), "\n")
}

// Entry formats one entry: the person's text as typed, others' next to their names.
func (s *Script) Entry(x fika.Entry) string {
	switch {
	case x.Type == fika.Notice && x.Meta.Kind == string(fika.Interrupted) && strings.HasSuffix(x.Content, service.InterruptedBy+s.me):
		x.Content = strings.TrimSuffix(x.Content, s.me) + "you"
		fallthrough
	case x.Type != fika.Message:
		x.Content = words.InSession(x.Content)
		return strings.TrimRight(s.page.Entry(service.Node{Entry: x}, nil), "\n")
	case x.From == s.me:
		return s.typed(x.Content)
	}
	return "\n" + view.WithName(s.page.look.Style, x.From, view.IndentRows(wrapped(x.Content, s.page.look.Width-view.Indent), view.Indent))
}

// typed formats a message of the person as they typed it: without the name of the agent
// they spoke to before, and with only the names of files.
func (s *Script) typed(content string) string {
	var to mention.Result
	if _, team, _ := service.TeamLine(content); !team { // a line for a team changes nothing
		to = mention.Parse(content, mention.Known{Agents: s.agents()})
	}
	rest, same := strings.CutPrefix(content, "@"+string(s.Last)+" ")
	if same && s.Last != "" && slices.Equal(to.Agents, []fika.AgentName{s.Last}) {
		content = rest
	}
	if len(to.Agents) > 0 {
		s.Last = to.Agents[0]
	}
	return "\n" + s.withBar(folded(wrapped(attachment.FoldFiles(content), s.page.look.Width-len("▌ "))))
}

// shownRows are the most rows of what the person has said that are shown: what they paste
// they know.
const shownRows = 16

// folded leaves out the middle of a long text.
func folded(text string) string {
	rows := strings.Split(text, "\n")
	if len(rows) <= shownRows {
		return text
	}
	const begin, end = shownRows/2 - 1, shownRows / 2
	between := fmt.Sprintf("… %d more lines …", len(rows)-begin-end)
	return strings.Join(slices.Concat(rows[:begin], []string{between}, rows[len(rows)-end:]), "\n")
}

// withBar puts a bar before each row of what the person has said, by which it is found in
// the scrollback.
func (s *Script) withBar(text string) string {
	st := s.page.look.Style
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		rows[i] = strings.TrimRight(st.Person("▌")+" "+st.Bold(row), " ")
	}
	return strings.Join(rows, "\n")
}

func wrapped(content string, width int) string {
	return term.Wrap(strings.TrimRight(term.Clean(content), "\n"), max(10, width-1))
}
