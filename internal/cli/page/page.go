package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/markdown"
	"fika/internal/terminal/view"
)

// Page formats entries for people.
type Page struct {
	look   view.Look
	render bool // on a terminal: messages are shown as rendered Markdown
	links  bool
	people map[string]bool       // participants that are not agents, in lower case
	calls  map[string]fika.Entry // tool calls that have no result yet
}

// OfChat makes a page for a chat, rendered if stdout is a terminal and the settings
// allow it, unless raw.
func OfChat(ctx context.Context, e *command.Env, c *service.Service, conv fika.Conversation, raw bool) (Page, error) {
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

// New makes a page for entries outside a chat.
func New(e *command.Env, raw bool) Page {
	return Page{
		look: view.Look{Style: e.OutStyle(), Width: e.Width}, render: e.Renders(raw), links: e.OutTTY && e.Color,
		people: map[string]bool{"user": true}, calls: map[string]fika.Entry{},
	}
}

// Person reports whether @name is a person, who should notice the mention: an agent
// that mentions a person waits for an answer.
func (p Page) Person(name string) bool { return p.people[strings.ToLower(name)] }

// Renders reports whether messages are shown as rendered Markdown.
func (p Page) Renders() bool { return p.render }

// Links reports whether links may be sent to the terminal.
func (p Page) Links() bool { return p.links }

// Said returns a message, at a width that lets the caller indent it by level later.
func (p Page) Said(text string, level int) string {
	if !p.render {
		return strings.TrimRight(term.Clean(text), "\n")
	}
	width := max(20, p.look.Width-2*min(level, deepest))
	return strings.TrimRight(markdown.Render(text, markdown.Options{Width: width, Style: p.look.Style, Links: p.links, Person: p.Person}), "\n")
}

// call returns a tool call with its result.
func (p Page) call(x fika.Entry) string {
	c := view.Call{Tool: x.From, Output: x.Content, Failed: x.Meta.IsError}
	if called, ok := p.calls[x.Meta.ToolCallID]; ok {
		delete(p.calls, x.Meta.ToolCallID)
		c.Tool, c.Args, c.Took = called.To, json.RawMessage(called.Content), x.At.Sub(called.At)
	}
	return strings.Join(c.Lines(p.look), "\n") + "\n"
}

// TurnCalls returns the tool calls among the entries of one turn, with their results.
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

// Calls returns the tool calls of one turn with their results, in full.
func (p Page) Calls(entries []fika.Entry) string {
	var lines []string
	for _, c := range TurnCalls(entries) {
		lines = append(lines, c.Full(p.look)...)
	}
	return strings.Join(lines, "\n")
}

// Entry returns an entry as a person reads it, with what its turn used unless turn is
// nil.
func (p Page) Entry(n service.Node, turn *turnJSON) string {
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
		used = fmt.Sprintf("%s in, %s out, %s, %s", term.Tokens(turn.Input, turn.Estimated), term.Tokens(turn.Output, turn.Estimated), turn.cost(), term.Duration(time.Duration(turn.Millis)*time.Millisecond))
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
	case fika.Rewind:
		return st.Yellow("— "+term.CleanLine(x.From+" "+x.Content)) + "\n\n"
	case fika.Compaction:
		text := "— cleared: agents no longer see what is above"
		if x.Meta.Summary != "" {
			text = fmt.Sprintf("— what @%s sees was compacted: %s", term.CleanLine(x.From), term.CleanLine(x.Content))
		}
		if p.render {
			text = term.Wrap(text, p.look.Width-1)
		}
		return st.Dim(text) + "\n\n"
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

// tainted names the text from outside that had been read when an entry was written.
func tainted(x fika.Entry) string {
	if !x.Meta.Taint.Tainted() {
		return ""
	}
	return " tainted by " + term.CleanLine(x.Meta.Taint.From)
}

// deepest is the level at which indenting ends, because a page has a limited width.
const deepest = 12

// indent moves each line of a text to the right, by two columns per level.
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
