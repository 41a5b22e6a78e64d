package chat

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/system/term"
)

// limitOptions are the flags of chat limit.
type limitOptions struct {
	*command.Env
	flags interface{ Changed(string) bool }

	depth, turns, tokens, echo int64
	cost                       float64
	time                       string
	reset, json                bool
}

func newLimit(e *command.Env) *cobra.Command {
	o := &limitOptions{Env: e}
	c := &cobra.Command{
		Use: "limit CHAT", Short: "show or set what one message may set off in a chat",
		Long: `Without flags: shows the limits of chains in a chat, where each was set, and how
much the chains under way (or the last one) have used.

With flags: sets limits for this chat. They apply whoever takes part, and take
precedence over the limits of agents and over [chat] in config.toml; 0 removes a
limit. --reset removes everything that was set here. A chain that a limit has
stopped stays stopped until fika chat continue.`,
		Example: "  fika chat limit design\n  fika chat limit design --turns 500 --tokens 2000000\n  fika chat limit design --reset",
		Args:    command.Exactly(1, "the name of a chat"), ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.flags = cmd.Flags()
			return o.run(cmd.Context(), args[0])
		},
	}
	f := c.Flags()
	f.Int64Var(&o.depth, "depth", 0, "how many answers may follow one another")
	f.Int64Var(&o.turns, "turns", 0, "how many turns one message may set off")
	f.Int64Var(&o.tokens, "tokens", 0, "how many tokens one message may use")
	f.Float64Var(&o.cost, "cost", 0, "how much money one message may cost, in US dollars")
	f.StringVar(&o.time, "time", "", "how long the work of one message may take, as in 90m or 2d")
	f.Int64Var(&o.echo, "echo", 0, "how many messages two agents may exchange without anything new")
	f.BoolVar(&o.reset, "reset", false, "remove what was set for this chat")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

func (o *limitOptions) run(ctx context.Context, word string) error {
	change, err := o.change()
	if err != nil {
		return err
	}
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	conv, err := c.Chats.FindAnyKind(ctx, word)
	if err != nil {
		return err
	}
	if change != nil {
		limits := conv.Limits
		change(&limits)
		if err := c.Chats.SetLimits(ctx, conv, limits); err != nil {
			return err
		}
		conv.Limits = limits
	}
	limits, err := c.Chats.Limits(ctx, conv)
	if err != nil {
		return err
	}
	chains, err := c.Chats.Chains(ctx, conv)
	if err != nil {
		return err
	}
	if o.json {
		return o.printJSON(conv, limits, chains)
	}
	if err := o.show(limits, chains); err != nil {
		return err
	}
	for _, c := range chains {
		if c.Stopped > 0 {
			o.Say("a limit has stopped %s (fika chat continue %s)", command.Plural(c.Stopped, "mention"), conv.Name)
			break
		}
	}
	return nil
}

// change turns the flags into a function; nil if none of them asks for a change.
func (o *limitOptions) change() (func(*fika.ChainLimits), error) {
	var set fika.ChainLimits
	any := o.reset
	for _, f := range []struct {
		flag string
		to   **int64
		n    int64
	}{
		{"depth", &set.Depth, o.depth}, {"turns", &set.Turns, o.turns}, {"tokens", &set.Tokens, o.tokens}, {"echo", &set.Echo, o.echo},
		{"cost", &set.Cost, int64(math.Round(o.cost * 1e6))},
	} {
		if !o.flags.Changed(f.flag) {
			continue
		}
		if f.n < 0 || f.n > 1e15 || f.flag == "cost" && math.IsNaN(o.cost) {
			return nil, command.UsageError("--%s must be between 0 (no limit) and 1e15", f.flag)
		}
		*f.to, any = &f.n, true
	}
	if set.Echo != nil && *set.Echo > 0 && *set.Echo < 4 {
		return nil, command.UsageError("--echo is at least 4 (fewer messages are too few to tell), or 0 for no limit")
	}
	if set.Depth != nil && *set.Depth > math.MaxInt32 || set.Turns != nil && *set.Turns > math.MaxInt32 {
		return nil, command.UsageError("--depth and --turns may be %d at most", math.MaxInt32)
	}
	if o.flags.Changed("time") {
		d, ok := config.ParseDuration(o.time)
		if o.time == "0" {
			d, ok = 0, true
		}
		if !ok {
			return nil, command.UsageError("--time %q is not a duration such as 90m or 2d", o.time)
		}
		ms := d.Milliseconds()
		set.Time, any = &ms, true
	}
	if !any {
		return nil, nil
	}
	return func(l *fika.ChainLimits) {
		if o.reset {
			*l = fika.ChainLimits{}
		}
		for _, f := range [][2]**int64{
			{&l.Depth, &set.Depth}, {&l.Turns, &set.Turns}, {&l.Tokens, &set.Tokens}, {&l.Cost, &set.Cost}, {&l.Time, &set.Time}, {&l.Echo, &set.Echo},
		} {
			if *f[1] != nil {
				*f[0] = *f[1]
			}
		}
	}, nil
}

func (o *limitOptions) show(limits []service.Bound, chains []service.ChainInfo) error {
	err := o.Table([]string{"LIMIT", "AT MOST", "OF", "FROM"}, command.TableRows(limits, func(b service.Bound) []string {
		of := "all"
		if b.Agent != "" {
			of = "@" + string(b.Agent)
		}
		return []string{b.Name, bound(b), of, b.From}
	}))
	if err != nil || len(chains) == 0 {
		return err
	}
	if err := o.Print("\n"); err != nil {
		return err
	}
	now := o.Now()
	return o.Table([]string{"CHAIN", "STATE", "DEPTH", "TURNS", "TOKENS", "COST", "TIME"}, command.TableRows(chains, func(c service.ChainInfo) []string {
		return []string{string(c.Root), chainState(c), fmt.Sprint(c.Depth), fmt.Sprint(c.Turns), fmt.Sprint(c.Tokens), term.Spent(c.Cost, c.Unpriced, false, c.Subscription),
			term.Duration(chainTime(c, now))}
	}))
}

// chainTime returns the time since a chain's first turn, rounded to seconds; 0 if it has
// had no turns.
func chainTime(c service.ChainInfo, now time.Time) time.Duration {
	if c.Turns == 0 {
		return 0
	}
	return max(now.Sub(c.StartedAt), 0).Round(time.Second)
}

func chainState(c service.ChainInfo) string {
	switch {
	case c.Stopped > 0:
		return "stopped: " + c.LimitHit
	case c.Current:
		return "continues"
	}
	return "ended"
}

func bound(b service.Bound) string {
	switch {
	case b.Value == 0:
		return "no limit"
	case b.Name == "cost":
		return dollars(b.Value)
	case b.Name == "time":
		return term.Duration(time.Duration(b.Value) * time.Millisecond)
	}
	return fmt.Sprint(b.Value)
}

func dollars(micro int64) string { return fmt.Sprintf("$%.2f", float64(micro)/1e6) }

type limitsJSON struct {
	Conversation fika.ConversationName `json:"conversation"`
	Limits       []limitJSON           `json:"limits"`
	Chains       []chainJSON           `json:"chains"`
}

type limitJSON struct {
	Name  string          `json:"name"`
	Agent *fika.AgentName `json:"agent"` // whose own limit; null: the limit for all others
	Value float64         `json:"value"` // cost in US dollars, time in seconds; 0: no limit
	From  string          `json:"from"`
}

type chainJSON struct {
	Root       fika.RequestID `json:"root"`
	Current    bool           `json:"current"`
	Depth      int            `json:"depth"`
	Turns      int            `json:"turns"`
	Tokens     int64          `json:"tokens"`
	CostUSD    *float64       `json:"cost_usd"`     // null: the price is not known
	Subscribed bool           `json:"subscription"` // a subscription has paid for some of it
	StartedAt  time.Time      `json:"started_at"`
	LimitHit   *string        `json:"limit_hit"`
	Stopped    int            `json:"stopped"` // mentions that a limit stopped
}

// chargedUSD returns what a chain has cost; nil: that is not known.
func chargedUSD(c service.ChainInfo) *float64 {
	usd := float64(c.Cost) / 1e6
	if usd == 0 && c.Unpriced {
		return nil
	}
	return &usd
}

func (o *limitOptions) printJSON(conv fika.Conversation, limits []service.Bound, chains []service.ChainInfo) error {
	j := limitsJSON{Conversation: conv.Name, Limits: []limitJSON{}, Chains: []chainJSON{}}
	for _, b := range limits {
		v := float64(b.Value)
		switch b.Name {
		case "cost":
			v /= 1e6
		case "time":
			v /= 1e3
		}
		j.Limits = append(j.Limits, limitJSON{b.Name, command.Optional(b.Agent), v, b.From})
	}
	for _, c := range chains {
		j.Chains = append(j.Chains, chainJSON{c.Root, c.Current, c.Depth, c.Turns, c.Tokens, chargedUSD(c), c.Subscription, c.StartedAt.UTC(), command.Optional(c.LimitHit), c.Stopped})
	}
	return o.PrintLine(j)
}
