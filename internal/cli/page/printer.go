package page

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/view"
)

// Options say in which form entries are written, and with what. Without any, they are
// a page on a terminal, and lines elsewhere.
type Options struct {
	JSON  bool // as JSON Lines
	Tree  bool // with their place in the tree of answers
	Costs bool // an entry that ended a turn has what the turn used
	Raw   bool // not cleaned of terminal escapes, and not rendered
}

// Printer writes entries: as JSON Lines, as a page for people, or as lines.
type Printer struct {
	env     *command.Env
	options Options
	service *service.Service
	page    Page
	total   fika.Usage
	partly  bool // the cost of some of total is not known
	turns   int
}

// NewPrinter makes a printer for entries outside a chat: it knows neither participants
// nor what turns cost.
func NewPrinter(e *command.Env, o Options) *Printer {
	return &Printer{env: e, options: o, page: New(e, o.Raw)}
}

// NewChatPrinter makes a printer for a chat, which it reads through c.
func NewChatPrinter(ctx context.Context, e *command.Env, o Options, c *service.Service, conv fika.Conversation) (*Printer, error) {
	p := &Printer{env: e, options: o, service: c}
	var err error
	if e.OutTTY && !o.JSON {
		p.page, err = OfChat(ctx, e, c, conv, o.Raw)
	}
	return p, err
}

// turnJSON is what a turn used, next to the entry that ended it.
type turnJSON struct {
	Request fika.RequestID    `json:"request"`
	State   fika.RequestState `json:"state"`
	Input   int64             `json:"input"`
	Output  int64             `json:"output"`
	// Estimated says that the provider left out some of the tokens.
	Estimated bool     `json:"estimated"`
	CostUSD   *float64 `json:"cost_usd"` // null: the price is not known
	Millis    int64    `json:"took_ms"`
	Model     string   `json:"model"`
	// Subscription says that a subscription pays for it.
	Subscription bool `json:"subscription,omitempty"`
	// Models are the models that the turn called, if the agent has several.
	Models []fika.ModelUsed `json:"models,omitempty"`
}

// cost returns the cost of a turn, for people.
func (t *turnJSON) cost() string {
	if t.CostUSD == nil {
		return term.Cost(0, true)
	}
	return term.Spent(int64(math.Round(*t.CostUSD*1e6)), false, t.Estimated, t.Subscription)
}

// spent returns what the turn that an entry ended used; nil if it ended no turn.
func (p *Printer) spent(ctx context.Context, x fika.Entry) (*turnJSON, error) {
	ends := x.Type == fika.Message && x.Meta.Final || x.Type == fika.Notice
	if !p.options.Costs || !ends || x.Request == "" {
		return nil, nil
	}
	r, err := p.service.Requests.Request(ctx, x.Request)
	if fika.IsKind(err, fika.NotFound) {
		return nil, nil
	}
	if err != nil || !r.State.Terminal() {
		return nil, err
	}
	u := r.Outcome.Usage
	p.total, p.turns = p.total.Add(u), p.turns+1
	t := &turnJSON{r.ID, r.State, u.Input, u.Output, u.Estimated, nil, r.FinishedAt.Sub(r.StartedAt).Milliseconds(), r.Outcome.Model, u.Subscription, r.Outcome.Models}
	if p.service.RequestUnpriced(r) {
		p.partly = true
	} else {
		usd := float64(u.Cost) / 1e6
		t.CostUSD = &usd
	}
	return t, nil
}

// Entries returns a function that writes one entry per call.
func (p *Printer) Entries(ctx context.Context) func(fika.Entry) error {
	return func(x fika.Entry) error { return p.Node(ctx, service.Node{Entry: x}) }
}

// Node writes an entry, with what its turn used if that was asked for.
func (p *Printer) Node(ctx context.Context, n service.Node) error {
	turn, err := p.spent(ctx, n.Entry)
	if err != nil {
		return err
	}
	switch {
	case p.options.JSON:
		return p.json(n, turn)
	case p.env.OutTTY:
		err = p.env.Print(indent(p.page.Entry(n, turn), n.Level))
	default:
		err = p.env.Println(strings.Repeat("  ", n.Level) + Line(n.Entry, p.options.Raw) + p.costFields(n.Entry, turn))
	}
	return err
}

// json writes an entry with what the flags add to it.
func (p *Printer) json(n service.Node, turn *turnJSON) error {
	var more any
	switch {
	case p.options.Tree && p.options.Costs:
		more = struct {
			placeJSON
			Turn *turnJSON `json:"turn"`
		}{placeOf(n), turn}
	case p.options.Tree:
		more = placeOf(n)
	case p.options.Costs:
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
	return p.env.Println(string(line))
}

// placeJSON is the place of an entry in the tree of answers.
type placeJSON struct {
	Level  int     `json:"level"`
	Parent *int64  `json:"parent"`
	Also   []int64 `json:"also"`
}

func placeOf(n service.Node) placeJSON {
	return placeJSON{n.Level, command.Optional(n.Parent), command.EmptyIfNil(n.Also)}
}

func (p *Printer) costFields(x fika.Entry, t *turnJSON) string {
	taint := "|" + strings.TrimPrefix(tainted(x), " tainted by ")
	switch {
	case !p.options.Costs:
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

// End reports calls without a result and, if costs were asked for, the sum.
func (p *Printer) End() {
	for _, x := range p.page.calls {
		_ = p.env.Print(p.page.look.Style.Dim("… "+view.Call{Tool: x.To, Args: json.RawMessage(x.Content)}.Title()+": no result") + "\n")
	}
	if p.options.Costs {
		p.env.Say("%s", p.env.ErrStyle().Dim(fmt.Sprintf("%s: %s in, %s out, %s", command.Plural(p.turns, "turn"), term.Input(p.total), term.Output(p.total), term.Money(p.total, p.partly))))
	}
}
