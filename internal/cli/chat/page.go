package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/markdown"
	"fika/internal/term"
	"fika/internal/view"
)

// Printer writes entries: as JSON Lines, as a page for people, or as lines.
type Printer struct {
	Options *ViewOptions
	client  *client.Client
	Page    Page
	total   fika.Usage
	partly  bool // it is not known what some of total has cost
	turns   int
}

func (o *ViewOptions) printer(ctx context.Context, c *client.Client, conv fika.Conversation) (*Printer, error) {
	p := &Printer{Options: o, client: c}
	var err error
	if o.OutTTY && !o.JSON {
		p.Page, err = NewPage(ctx, o.Env, c, conv, o.raw)
	}
	return p, err
}

// turnJSON is what a turn used, beside the entry that ended it.
type turnJSON struct {
	Request fika.RequestID    `json:"request"`
	State   fika.RequestState `json:"state"`
	Input   int64             `json:"input"`
	Output  int64             `json:"output"`
	CostUSD *float64          `json:"cost_usd"` // null: no price is known
	Millis  int64             `json:"took_ms"`
	Model   string            `json:"model"`
	// Models are those that its calls went to, of an agent that has several.
	Models []fika.ModelUsed `json:"models,omitempty"`
}

// cost is the money of a turn, for people.
func (t *turnJSON) cost() string {
	if t.CostUSD == nil {
		return term.Cost(0, true)
	}
	return term.Dollars(int64(math.Round(*t.CostUSD * 1e6)))
}

// spent finds what the turn used that an entry ended; nil if it ended none.
func (p *Printer) spent(ctx context.Context, x fika.Entry) (*turnJSON, error) {
	ends := x.Type == fika.Message && x.Meta.Final || x.Type == fika.Notice
	if !p.Options.costs || !ends || x.Request == "" {
		return nil, nil
	}
	r, err := p.client.Requests.Request(ctx, x.Request)
	if fika.IsKind(err, fika.NotFound) {
		return nil, nil
	}
	if err != nil || !r.State.Terminal() {
		return nil, err
	}
	u := r.Outcome.Usage
	p.total, p.turns = p.total.Add(u), p.turns+1
	t := &turnJSON{r.ID, r.State, u.Input, u.Output, nil, r.FinishedAt.Sub(r.StartedAt).Milliseconds(), r.Outcome.Model, r.Outcome.Models}
	if p.client.RequestUnpriced(r) {
		p.partly = true
	} else {
		usd := float64(u.Cost) / 1e6
		t.CostUSD = &usd
	}
	return t, nil
}

// entries gives a function that writes one entry after the other.
func (p *Printer) entries(ctx context.Context) func(fika.Entry) error {
	return func(x fika.Entry) error { return p.Node(ctx, client.Node{Entry: x}) }
}

// Node writes an entry, with what its turn used if that was asked for.
func (p *Printer) Node(ctx context.Context, n client.Node) error {
	turn, err := p.spent(ctx, n.Entry)
	if err != nil {
		return err
	}
	switch {
	case p.Options.JSON:
		return p.json(n, turn)
	case p.Options.OutTTY:
		err = p.Options.Print(indent(p.Page.Entry(n, turn), n.Level))
	default:
		err = p.Options.Println(strings.Repeat("  ", n.Level) + entryLine(n.Entry, p.Options.raw) + p.costFields(n.Entry, turn))
	}
	return err
}

// json writes an entry with what the flags add to it.
func (p *Printer) json(n client.Node, turn *turnJSON) error {
	var more any
	switch {
	case p.Options.tree && p.Options.costs:
		more = struct {
			placeJSON
			Turn *turnJSON `json:"turn"`
		}{placeOf(n), turn}
	case p.Options.tree:
		more = placeOf(n)
	case p.Options.costs:
		more = struct {
			Turn *turnJSON `json:"turn"`
		}{turn}
	default:
		more = struct{}{}
	}
	line, err := command.PlainJSON(command.FullEntry(n.Entry))
	if err != nil {
		return err
	}
	extra, err := command.PlainJSON(more)
	if err != nil {
		return err
	}
	if len(extra) > len("{}") {
		line = append(append(line[:len(line)-1], ','), extra[1:]...)
	}
	return p.Options.Println(string(line))
}

// placeJSON is where an entry stands in the tree of answers.
type placeJSON struct {
	Level  int     `json:"level"`
	Parent *int64  `json:"parent"`
	Also   []int64 `json:"also"`
}

func placeOf(n client.Node) placeJSON {
	return placeJSON{n.Level, command.Optional(n.Parent), command.EmptyIfNil(n.Also)}
}

func (p *Printer) costFields(x fika.Entry, t *turnJSON) string {
	taint := "|" + strings.TrimPrefix(tainted(x), " tainted by ")
	switch {
	case !p.Options.costs:
		return ""
	case t == nil:
		return "||||" + taint
	}
	cost := "?"
	if t.CostUSD != nil {
		cost = fmt.Sprintf("%.6f", *t.CostUSD)
	}
	return fmt.Sprintf("|%s|%d|%d|%s", t.Request, t.Input, t.Output, cost) + taint
}

// End tells of calls that have no result, and the sum.
func (p *Printer) End() {
	for _, x := range p.Page.calls {
		_ = p.Options.Print(p.Page.look.Style.Dim("… "+view.Call{Tool: x.To, Args: json.RawMessage(x.Content)}.Title()+": no result") + "\n")
	}
	if p.Options.costs {
		p.Options.Say("%s", p.Options.ErrStyle().Dim(fmt.Sprintf("%d turns: %s in, %s out, %s", p.turns, term.ShortCount(p.total.Input), term.ShortCount(p.total.Output), term.Cost(p.total.Cost, p.partly))))
	}
}

// fieldEscaper keeps a field on one line and apart from its neighbours.
var fieldEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "|", `\|`)

// escapeField makes a text one field of a line. It is cleaned of terminal
// escapes unless raw; its carriage returns stay, because they are escaped.
func escapeField(s string, raw bool) string {
	if !raw {
		parts := strings.Split(s, "\r")
		for i := range parts {
			parts[i] = term.Clean(parts[i])
		}
		s = strings.Join(parts, "\r")
	}
	return fieldEscaper.Replace(s)
}

// entryLine is an entry for programs.
func entryLine(x fika.Entry, raw bool) string {
	return fmt.Sprintf("%d|%d|%s|%s", x.Seq, x.At.Unix(), escapeField(x.From, raw), escapeField(x.Content, raw))
}

// Page writes entries for people.
type Page struct {
	look   view.Look
	render bool // on a terminal: what is said is shown as rendered Markdown
	links  bool
	people map[string]bool       // who takes part and is no agent, in lower case
	calls  map[string]fika.Entry // of tools, that have no result yet
}

// NewPage makes a page of a conversation, rendered where stdout is a terminal,
// unless raw.
func NewPage(ctx context.Context, e *command.Env, c *client.Client, conv fika.Conversation, raw bool) (Page, error) {
	people, err := c.Chats.People(ctx, conv)
	if err != nil {
		return Page{}, err
	}
	p := PageOf(e, raw)
	for _, n := range people {
		p.people[strings.ToLower(n)] = true
	}
	return p, nil
}

// PageOf makes a page of what is no chat.
func PageOf(e *command.Env, raw bool) Page {
	return Page{
		look: view.Look{Style: e.OutStyle(), Width: e.Width}, render: e.Renders(raw), links: e.OutTTY && e.Color,
		people: map[string]bool{"user": true}, calls: map[string]fika.Entry{},
	}
}

// Person reports whether @name is somebody who is to notice it: an agent that
// turns to a person waits for an answer.
func (p Page) Person(name string) bool { return p.people[strings.ToLower(name)] }

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

// Calls are tool calls of one turn with their results, in full.
func (p Page) Calls(entries []fika.Entry) string {
	var lines []string
	results := map[string]fika.Entry{}
	for _, x := range entries {
		if x.Type == fika.ToolResult {
			results[x.Meta.ToolCallID] = x
		}
	}
	for _, x := range entries {
		if x.Type == fika.ToolCall {
			r := results[x.Meta.ToolCallID]
			c := view.Call{Tool: x.To, Args: json.RawMessage(x.Content), Output: r.Content, Failed: r.Meta.IsError}
			lines = append(lines, c.Full(p.look)...)
		}
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
		about += " also to " + seqList(n.Also)
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

// showTree shows who answered whom.
func (o *ViewOptions) showTree(ctx context.Context, c *client.Client, q client.EntryQuery, p *Printer) error {
	nodes, err := c.Chats.Tree(ctx, q)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := p.Node(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
