package compaction

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"fika"
	"fika/internal/llm"
	"fika/internal/text/speech"
	"fika/internal/turn"
)

const (
	maxParts   = 32 // a compaction should need no more model calls than this
	leastEntry = 200
	summaryOf  = 8 // the summary may take an eighth of the window
	// mostSummary is how many tokens it may take of the largest window: what is longer is no
	// summary, and is paid for in every call.
	mostSummary = 4000
	// maxHalvings is how often a part may be halved: a window taken for 128,000 tokens may
	// be one of 4,000.
	maxHalvings = 5
)

// notes are the texts that say what the work is about.
type notes struct{ summary, goals, todos string }

func (n notes) writeNotes(b *strings.Builder, withSummary bool) {
	add := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("--- " + title + " ---\n" + text + "\n\n")
		}
	}
	if withSummary {
		add("SUMMARY OF WHAT CAME BEFORE", n.summary)
	}
	add("GOALS", n.goals)
	add("TODOS", n.todos)
}

// summarise writes the summary that replaces the archived units. It asks the model in the
// conversation itself if it can: the provider has the beginning of such a call in its cache.
// Where that does not fit, or brings no text, the units are folded into the summary apart.
func (c *Compactor) summarise(ctx context.Context, p Plan, n notes, ask Ask) (string, fika.Usage, error) {
	if ask == nil {
		return c.summariseUnits(ctx, p.Archive, n)
	}
	instructions, err := c.instructions()
	if err != nil {
		return "", fika.Usage{}, err
	}
	resp, err := ask(ctx, c.closingPrompt(instructions, n, len(p.Keep) > 0))
	text := strings.TrimSpace(resp.Text)
	switch {
	case err != nil && !llm.IsTooLong(err):
		return "", resp.Usage, err
	case err == nil && text != "":
		return c.capSummary(text), resp.Usage, nil
	}
	text, usage, err := c.summariseUnits(ctx, p.Archive, n)
	return text, usage.Add(resp.Usage), err
}

// closingPrompt returns the message that ends a conversation with the order to summarise
// it.
func (c *Compactor) closingPrompt(instructions string, n notes, keeps bool) string {
	var b strings.Builder
	b.WriteString("(From the system: the conversation has become too long, and a summary is about to replace its older part. Answer with this summary alone, and call no tool.)\n\n")
	b.WriteString(strings.TrimSpace(instructions) + "\n\n")
	if n.summary != "" {
		b.WriteString("Write one new summary that holds what the summary at the beginning says, and the conversation since. ")
	}
	if keeps {
		b.WriteString("The newest messages stay as they are; be brief about them. ")
	}
	fmt.Fprintf(&b, "Use at most %d words.", c.summaryWords())
	return b.String()
}

// instructions returns how to summarise, with what a person asks for this time.
func (c *Compactor) instructions() (string, error) {
	text, err := c.cfg.Source.Instructions()
	if extra := strings.TrimSpace(c.cfg.Extra); err == nil && extra != "" {
		text = strings.TrimSpace(text) + "\n\nThe user asks for this in particular: " + extra
	}
	return text, err
}

// summaryTokens returns how many tokens a summary may take, by the window of the model.
func (c *Compactor) summaryTokens() int64 { return min(c.cfg.Window/summaryOf, mostSummary) }

func (c *Compactor) summaryWords() int64 { return max(50, c.summaryTokens()/2) }

// summariseUnits folds units into the summary, in several parts if they are too long for
// one call. If the provider finds a part too long, it tries again with smaller ones.
func (c *Compactor) summariseUnits(ctx context.Context, units []Unit, n notes) (string, fika.Usage, error) {
	var usage fika.Usage
	budget := c.cfg.Window/2 - turn.EstimateTokens(n.summary+n.goals+n.todos)
	for tries := 0; ; tries++ {
		text, u, err := c.foldParts(ctx, units, n, max(budget, leastEntry))
		usage = usage.Add(u)
		if err == nil || tries == maxHalvings || !llm.IsTooLong(err) {
			return text, usage, err
		}
		budget /= 2
	}
}

func (c *Compactor) foldParts(ctx context.Context, units []Unit, n notes, budget int64) (string, fika.Usage, error) {
	instructions, err := c.instructions()
	if err != nil {
		return "", fika.Usage{}, err
	}
	var usage fika.Usage
	for _, part := range partsOf(units, budget) {
		resp, err := c.cfg.Model.Generate(ctx, llm.Request{
			System: instructions, Messages: []llm.Message{{Role: llm.User, Text: c.foldPrompt(n, part)}},
		}, ignoreEvent)
		usage = usage.Add(resp.Usage)
		if err != nil {
			return "", usage, err
		}
		text := strings.TrimSpace(resp.Text)
		if text == "" {
			return "", usage, fika.Errorf(fika.Provider, "", "the model gave an empty summary; nothing was changed")
		}
		n.summary = c.capSummary(text)
	}
	return n.summary, usage, nil
}

func (c *Compactor) foldPrompt(n notes, part string) string {
	var b strings.Builder
	n.writeNotes(&b, true)
	b.WriteString("--- CONVERSATION TO SUMMARISE ---\n" + part + "--- END ---\n\n")
	if strings.TrimSpace(n.summary) != "" {
		b.WriteString("Write one new summary that holds what came before and this. ")
	} else {
		b.WriteString("Write the summary. ")
	}
	fmt.Fprintf(&b, "Use at most %d words.", c.summaryWords())
	return b.String()
}

// capSummary cuts a summary that ignores its limit, so that it does not fill the window.
func (c *Compactor) capSummary(text string) string {
	most := max(800, int(c.summaryTokens()*4))
	if len(text) <= most {
		return text
	}
	return clipBytes(text, most) + "\n(the summary was longer; its end is left out)"
}

// partsOf writes units as texts of at most budget tokens each. If there would be too
// many parts, entries are shortened, but never left out.
func partsOf(units []Unit, budget int64) []string {
	size := int(budget * 4)
	most := size
	for {
		list := packEntries(units, size, most)
		if len(list) <= maxParts || most <= leastEntry {
			return list
		}
		most = max(leastEntry, most/2)
	}
}

// packEntries packs entries, each cut to at most most bytes, into texts of at most size
// bytes.
func packEntries(units []Unit, size, most int) []string {
	var list []string
	var b strings.Builder
	for _, u := range units {
		for _, e := range u.Entries {
			line := fmt.Sprintf("[%s]: %s\n\n", speakerOf(e), speech.IndentRest(shortenMiddle(e.Content, most)))
			if b.Len() > 0 && b.Len()+len(line) > size {
				list = append(list, b.String())
				b.Reset()
			}
			b.WriteString(line)
		}
	}
	if b.Len() > 0 {
		list = append(list, b.String())
	}
	return list
}

// speakerOf returns who speaks or, for tools, what happens.
func speakerOf(e fika.Entry) string {
	switch e.Type {
	case fika.ToolCall:
		return speech.HeadingName(e.From) + " calls " + speech.HeadingName(e.To)
	case fika.ToolResult:
		return speech.HeadingName(e.From) + " gives"
	}
	return speech.HeadingName(e.From)
}

// shortenMiddle keeps the beginning and the end of a long text.
func shortenMiddle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head := clipBytes(text, most*2/3)
	tail := text[len(text)-most/3:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n(… %d bytes left out …)\n%s", head, len(text)-len(head)-len(tail), tail)
}

// clipBytes cuts a text to at most most bytes, at a rune boundary.
func clipBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Summarise returns a summary of the window, including the earlier summary, and changes
// nothing. The notes of the context say what the work is about. It fails with kind
// Conflict if nothing has been said.
func (c *Compactor) Summarise(ctx context.Context, h History) (string, fika.Usage, error) {
	n, err := c.promptNotes(h)
	if err != nil {
		return "", fika.Usage{}, err
	}
	if len(h.Units) == 0 {
		if n.summary == "" {
			return "", fika.Usage{}, fika.Errorf(fika.Conflict, "", "nothing to summarise: nothing has been said to %q yet", c.cfg.Context)
		}
		return n.summary, fika.Usage{}, nil // everything was summed up already
	}
	return c.summariseUnits(ctx, h.Units, n)
}

// TaintOf names the text from outside that a summary of all units contains; empty: none.
func (h History) TaintOf() string { return h.taintOf(h.Units) }
