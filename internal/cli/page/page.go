package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/markdown"
	"fika/internal/term"
	"fika/internal/view"
)

// Page writes entries for people.
type Page struct {
	look   view.Look
	render bool // on a terminal: what is said is shown as rendered Markdown
	links  bool
	people map[string]bool       // who takes part and is no agent, in lower case
	calls  map[string]fika.Entry // of tools, that have no result yet
}

// OfChat makes a page of a chat, rendered where stdout is a terminal,
// unless raw.
func OfChat(ctx context.Context, e *command.Env, c *client.Client, conv fika.Conversation, raw bool) (Page, error) {
	people, err := c.Chats.People(ctx, conv)
	if err != nil {
		return Page{}, err
	}
	p := New(e, raw)
	for _, n := range people {
		p.people[strings.ToLower(n)] = true
	}
	return p, nil
}

// New makes a page of what is no chat.
func New(e *command.Env, raw bool) Page {
	return Page{
		look: view.Look{Style: e.OutStyle(), Width: e.Width}, render: e.Renders(raw), links: e.OutTTY && e.Color,
		people: map[string]bool{"user": true}, calls: map[string]fika.Entry{},
	}
}

// Person reports whether @name is somebody who is to notice it: an agent that
// turns to a person waits for an answer.
func (p Page) Person(name string) bool { return p.people[strings.ToLower(name)] }

// Renders reports whether what is said is shown as rendered Markdown.
func (p Page) Renders() bool { return p.render }

// Links reports whether the terminal may be told of links.
func (p Page) Links() bool { return p.links }

// Said is what somebody has said, indented by so many levels later on.
func (p Page) Said(text string, level int) string {
	if !p.render {
		return strings.TrimRight(term.Clean(text), "\n")
	}
	width := max(20, p.look.Width-2*min(level, deepest))
	return strings.TrimRight(markdown.Render(text, markdown.Options{Width: width, Style: p.look.Style, Links: p.links, Person: p.Person}), "\n")
}

// call is a call of a tool with its result.
func (p Page) call(x fika.Entry) string {
	c := view.Call{Tool: x.From, Output: x.Content, Failed: x.Meta.IsError}
	if called, ok := p.calls[x.Meta.ToolCallID]; ok {
		delete(p.calls, x.Meta.ToolCallID)
		c.Tool, c.Args, c.Took = called.To, json.RawMessage(called.Content), x.At.Sub(called.At)
	}
	return strings.Join(c.Lines(p.look), "\n") + "\n"
}

// TurnCalls are the tool calls among entries of one turn, with their results.
func TurnCalls(entries []fika.Entry) []view.Call {
	results := map[string]fika.Entry{}
	for _, x := range entries {
		if x.Type == fika.ToolResult {
			results[x.Meta.ToolCallID] = x
		}
	}
	var calls []view.Call
	for _, x := range entries {
		if x.Type == fika.ToolCall {
			c := view.Call{Tool: x.To, Args: json.RawMessage(x.Content)}
			if r, ok := results[x.Meta.ToolCallID]; ok {
				c.Output, c.Failed, c.Took = r.Content, r.Meta.IsError, max(r.At.Sub(x.At), time.Nanosecond)
			}
			calls = append(calls, c)
		}
	}
	return calls
}

// Calls are tool calls of one turn with their results, in full.
func (p Page) Calls(entries []fika.Entry) string {
	var lines []string
	for _, c := range TurnCalls(entries) {
		lines = append(lines, c.Full(p.look)...)
	}
	return strings.Join(lines, "\n")
}

// Entry returns an entry as a person reads it, and what its turn used; nil: that
// is not said.
func (p Page) Entry(n client.Node, turn *turnJSON) string {
	x, st := n.Entry, p.look.Style
	about := fmt.Sprintf("#%d %s", x.Seq, x.At.Local().Format("15:04:05"))
	if x.Pinned {
		about += " pinned"
	}
	if len(n.Also) > 0 {
		about += " also to " + SeqList(n.Also)
	}
	about += tainted(x)
	used := ""
	if turn != nil {
		used = fmt.Sprintf("%s in, %s out, %s, %s", term.ShortCount(turn.Input), term.ShortCount(turn.Output), turn.cost(), term.Duration(time.Duration(turn.Millis)*time.Millisecond))
		if models := command.ModelsUsed(turn.Models); models != "" {
			used += "; " + models
		}
		if turn.State != fika.Done {
			used = string(turn.State) + ": " + used
		}
		used = st.Dim("  "+used) + "\n"
	}
	head := fmt.Sprintf("%s %s", st.Speaker(x.From, term.CleanLine(x.From)), st.Dim(about))
	switch x.Type {
	case fika.Notice:
		notice := "— " + term.CleanLine(x.Content)
		if p.render {
			notice = term.Wrap(notice, p.look.Width-1)
		}
		return st.Yellow(notice) + "\n" + used + "\n"
	case fika.Compaction:
		return st.Dim("— cleared: agents no longer see what is above") + "\n\n"
	case fika.ToolCall:
		if p.render && x.Meta.ToolCallID != "" {
			p.calls[x.Meta.ToolCallID] = x
			return ""
		}
		return st.Dim(fmt.Sprintf("%s calls %s %s", x.From, x.To, term.Truncate(term.CleanLine(x.Content), 200))) + "\n\n"
	case fika.ToolResult:
		if p.render {
			return p.call(x) + st.Dim(strings.TrimPrefix(tainted(x), " ")) + "\n"
		}
		return st.Dim(fmt.Sprintf("%s → %s%s", x.From, term.Truncate(term.CleanLine(x.Content), 200), tainted(x))) + "\n\n"
	}
	return head + "\n" + p.Said(x.Content, n.Level) + "\n" + used + "\n"
}

// tainted says what text from outside had been read when an entry was written.
func tainted(x fika.Entry) string {
	if !x.Meta.Taint.Tainted() {
		return ""
	}
	return " tainted by " + term.CleanLine(x.Meta.Taint.From)
}

// deepest is where indenting ends: a page is only so wide.
const deepest = 12

// indent moves each line of a text to the right.
func indent(text string, level int) string {
	if level == 0 {
		return text
	}
	margin := strings.Repeat("  ", min(level, deepest))
	if level > deepest {
		margin += fmt.Sprintf("(%d) ", level)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = margin + l
		}
	}
	return strings.Join(lines, "\n")
}
