package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
)

// The kinds of scopes of budgets.
const (
	ScopeHome  = "home"  // everything in a home
	ScopeUser  = "user"  // what each person sets off, each on their own
	ScopeChain = "chain" // each chain on its own
	ScopeAgent = "agent" // agent:NAME
	ScopeChat  = "chat"  // chat:NAME: what is said there, and what began there
)

// Amount is what a call costs, or may cost.
type Amount struct {
	Money  int64 // micro-dollars
	Tokens int64
}

// Add is the sum.
func (a Amount) Add(b Amount) Amount { return Amount{a.Money + b.Money, a.Tokens + b.Tokens} }

// Sub is the difference.
func (a Amount) Sub(b Amount) Amount { return Amount{a.Money - b.Money, a.Tokens - b.Tokens} }

// Max is the larger of each.
func (a Amount) Max(b Amount) Amount {
	return Amount{max(a.Money, b.Money), max(a.Tokens, b.Tokens)}
}

// AmountOf is what a call has cost.
func AmountOf(u fika.Usage) Amount { return Amount{Money: u.Cost, Tokens: u.Input + u.Output} }

// Budget is what may be spent on something in a window. Zero in [Amount] does not
// limit.
type Budget struct {
	Scope string // "home", "user", "chain", "agent:NAME", "chat:NAME"
	Per   Per
	Amount
}

// String names it, as in "home a day".
func (b Budget) String() string {
	if b.Per == PerTotal {
		return b.Scope + " in total"
	}
	article := "a "
	if b.Per == PerHour {
		article = "an "
	}
	return b.Scope + " " + article + string(b.Per)
}

// Waits says that what the budget has no room for waits for the next window
// instead of failing: a day can be waited for.
func (b Budget) Waits() bool { return b.Per == PerHour || b.Per == PerDay }

// Budgets are those of a home, with what is needed to apply them.
type Budgets struct {
	List []Budget
	Zone *time.Location // of the windows; nil: the machine's
	// Call is what is set aside for a call of a model, which has an id or a
	// nickname; empty: the agent's own. It fails, with kind Invalid, for a model whose
	// price is not known, if money is limited. nil: nothing is.
	Call func(model string, money bool) (Amount, error)
}

// ParseScope splits a scope into its kind and the name after it, and says what
// is wrong with it.
func ParseScope(scope string) (kind, name, wrong string) {
	kind, name, named := strings.Cut(scope, ":")
	switch kind {
	case ScopeHome, ScopeUser, ScopeChain:
		if named {
			return kind, name, fmt.Sprintf("%s has no name after it", kind)
		}
	case ScopeAgent, ScopeChat:
		if name == "" {
			return kind, name, fmt.Sprintf("%s needs a name: %s:NAME", kind, kind)
		}
	default:
		return kind, name, "unknown"
	}
	return kind, name, ""
}

// Spender is who is about to make a call, and where.
type Spender struct {
	Home      string
	Agent     fika.AgentID
	AgentName fika.AgentName
	Pool      fika.AgentID // that it is a member of; empty: none
	PoolName  fika.AgentName
	Chat      fika.ConversationID // where
	ChatName  fika.ConversationName
	Began     fika.ConversationID // where its chain began
	BeganName fika.ConversationName
	Chain     fika.RequestID
	Person    string // who set the chain off
}

// Account is one budget and window, as the store keeps it.
type Account struct {
	Owner string // scope with the id of what it is about
	Per   Per
	Begin int64 // of the window, in Unix milliseconds; 0: none
}

// Applied is a budget that holds for a spender now.
type Applied struct {
	Budget
	Account
	Window Window
}

// HoldingFor are the budgets that hold for a spender at a moment, in the order in which
// their accounts are locked.
func (b Budgets) HoldingFor(s Spender, now time.Time) []Applied {
	var out []Applied
	for _, budget := range b.List {
		if owner := budget.owner(s); owner != "" {
			out = append(out, b.apply(budget, owner, now))
		}
	}
	slices.SortFunc(out, func(a, b Applied) int {
		return strings.Compare(a.Owner+"\x00"+string(a.Account.Per), b.Owner+"\x00"+string(b.Account.Per))
	})
	return out
}

// AppliedTo is a budget as it holds for a spender at a moment, also for one that has
// nothing to do with it: then it has no owner.
func (b Budgets) AppliedTo(budget Budget, s Spender, now time.Time) Applied {
	return b.apply(budget, budget.owner(s), now)
}

func (b Budgets) apply(budget Budget, owner string, now time.Time) Applied {
	zone := b.Zone
	if zone == nil {
		zone = time.Local
	}
	a := Applied{Budget: budget, Window: budget.Per.Window(now, zone), Account: Account{Owner: owner, Per: budget.Per}}
	if !a.Window.Begins.IsZero() {
		a.Begin = a.Window.Begins.UnixMilli()
	}
	return a
}

// owner is the account holder that a spender has in a budget; empty: the budget is about
// others.
func (b Budget) owner(s Spender) string {
	kind, name, _ := ParseScope(b.Scope)
	switch {
	case kind == ScopeHome:
		return ScopeHome + ":" + s.Home
	case kind == ScopeUser && s.Person != "":
		return ScopeUser + ":" + s.Person
	case kind == ScopeChain && s.Chain != "":
		return ScopeChain + ":" + string(s.Chain)
	case kind == ScopeAgent && name == string(s.AgentName):
		return ScopeAgent + ":" + string(s.Agent)
	case kind == ScopeAgent && s.Pool != "" && name == string(s.PoolName):
		return ScopeAgent + ":" + string(s.Pool)
	case kind == ScopeChat && name == string(s.ChatName):
		return ScopeChat + ":" + string(s.Chat)
	case kind == ScopeChat && name == string(s.BeganName):
		return ScopeChat + ":" + string(s.Began)
	}
	return ""
}

// LimitsMoney reports whether one of them limits money.
func LimitsMoney(list []Applied) bool {
	return slices.ContainsFunc(list, func(a Applied) bool { return a.Money > 0 })
}

// Balance is how an account stands.
type Balance struct {
	Spent    Amount
	Reserved Amount // for calls of others that are under way
}

// Refusal says that a budget has no room for a call.
type Refusal struct {
	Applied
	Need Amount
	Balance
	// Full says that the budget itself has no room. Otherwise it has as soon as calls
	// that are under way have cost less than was set aside for them.
	Full bool
}

// Verdict decides whether one more call fits into a budget; nil: it does.
func (a Applied) Verdict(b Balance, need Amount) *Refusal {
	over := func(sum Amount) bool {
		return a.Money > 0 && sum.Money > a.Money || a.Tokens > 0 && sum.Tokens > a.Tokens
	}
	switch sum := b.Spent.Add(need); {
	case over(sum):
		return &Refusal{Applied: a, Need: need, Balance: b, Full: true}
	case over(sum.Add(b.Reserved)):
		return &Refusal{Applied: a, Need: need, Balance: b}
	}
	return nil
}

// WorseRefusal is the refusal of the two that holds for longer; either may be nil.
func WorseRefusal(a, b *Refusal) *Refusal {
	rank := func(r *Refusal) (int, int64) {
		switch {
		case r == nil:
			return 0, 0
		case !r.Full:
			return 1, 0
		case r.Waits():
			return 2, r.Window.Ends.UnixMilli()
		}
		return 3, 0
	}
	ra, ta := rank(a)
	rb, tb := rank(b)
	if rb > ra || rb == ra && tb > ta {
		return b
	}
	return a
}

// Later reports whether the call that was refused may be made later.
func (r Refusal) Later() bool { return !r.Full || r.Waits() }

// AmountLeft is what may still be set aside. What is not limited is 0.
func (a Applied) AmountLeft(b Balance) Amount {
	left := Amount{}
	if a.Money > 0 {
		left.Money = max(0, a.Money-b.Spent.Money-b.Reserved.Money)
	}
	if a.Tokens > 0 {
		left.Tokens = max(0, a.Tokens-b.Spent.Tokens-b.Reserved.Tokens)
	}
	return left
}

// warnAt is the part of a budget, in percent, at which a person is warned.
const warnAt = 80

// CrossesWarning reports whether an account comes to four fifths of its budget when it goes from one
// amount spent to another. In a window this happens once.
func (b Budget) CrossesWarning(before, after Amount) bool {
	crosses := func(before, after, most int64) bool {
		line := most/100*warnAt + most%100*warnAt/100
		return most > 0 && before < line && after >= line
	}
	return crosses(before.Money, after.Money, b.Money) || crosses(before.Tokens, after.Tokens, b.Tokens)
}

// Booked is what an account has after a call was added to it.
type Booked struct {
	Scope string // of the budget
	Per   Per
	Used  Amount // by the call
	Spent Amount // with it
}

// Warnings are what a person is told of what was booked.
func (b Budgets) Warnings(booked []Booked) []string {
	var out []string
	for _, k := range booked {
		for _, budget := range b.List {
			if budget.Scope == k.Scope && budget.Per == k.Per && budget.CrossesWarning(k.Spent.Sub(k.Used), k.Spent) {
				out = append(out, budget.Warning(k.Spent))
			}
		}
	}
	return out
}
