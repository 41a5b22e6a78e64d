package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
)

// The kinds of scopes that a budget may have.
const (
	ScopeHome  = "home"  // everything in a home
	ScopeUser  = "user"  // everything that one person starts, for each person
	ScopeChain = "chain" // each single chain
	ScopeAgent = "agent" // agent:NAME
	ScopeChat  = "chat"  // chat:NAME: what is said there, and chains that began there
)

// Amount is the cost, or possible cost, of a call.
type Amount struct {
	Money  int64 // micro-dollars
	Tokens int64
}

// Add returns the sum of two amounts.
func (a Amount) Add(b Amount) Amount { return Amount{a.Money + b.Money, a.Tokens + b.Tokens} }

// Sub returns the difference of two amounts.
func (a Amount) Sub(b Amount) Amount { return Amount{a.Money - b.Money, a.Tokens - b.Tokens} }

// Max returns the larger of each measure.
func (a Amount) Max(b Amount) Amount {
	return Amount{max(a.Money, b.Money), max(a.Tokens, b.Tokens)}
}

// AmountOf returns the cost of a call with the given usage.
func AmountOf(u fika.Usage) Amount { return Amount{Money: u.Cost, Tokens: u.Input + u.Output} }

// Budget is the amount that may be spent in a window. A zero in [Amount] sets no
// limit.
type Budget struct {
	Scope string // "home", "user", "chain", "agent:NAME", "chat:NAME"
	Per   Per
	Amount
}

// String names the budget, as in "home a day".
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

// Waits reports whether work for which the budget has no room waits for the next
// window instead of failing; it does so for an hour or a day.
func (b Budget) Waits() bool { return b.Per == PerHour || b.Per == PerDay }

// Budgets are the budgets of a home, with what is needed to apply them.
type Budgets struct {
	List []Budget
	Zone *time.Location // for the windows; nil: the machine's
	// Call returns the amount to reserve for a call of a model, given by id or
	// nickname; an empty model is the agent's own. If money is limited, it fails with
	// Invalid for a model whose price is unknown. If Call is nil, nothing is
	// reserved.
	Call func(model string, money bool) (Amount, error)
	// Guest is the model of a guest that costs money; empty: the agent is none. It spends
	// nothing more of a budget of money in which the cost of one of its turns is not known.
	Guest string
}

// ParseScope splits a scope into its kind and the name after it. wrong says what is
// wrong with the scope; it is empty if nothing is.
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

// Spender is the agent that is about to make a call, with the circumstances that
// budgets look at.
type Spender struct {
	Home      string
	Agent     fika.AgentID
	AgentName fika.AgentName
	Pool      fika.AgentID // the pool that it is a member of; empty: none
	PoolName  fika.AgentName
	Chat      fika.ConversationID // where the call is made
	ChatName  fika.ConversationName
	Began     fika.ConversationID // where the chain began
	BeganName fika.ConversationName
	Chain     fika.RequestID
	Person    string // who started the chain
}

// Account identifies a budget and window as the store keeps them.
type Account struct {
	Owner string // the scope, with the id of its subject
	Per   Per
	Begin int64 // beginning of the window in Unix milliseconds; 0: none
}

// Applied is a budget as it holds for a spender now.
type Applied struct {
	Budget
	Account
	Window Window
}

// HoldingFor returns the budgets that hold for a spender at a time, in the order in
// which their accounts are locked.
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

// AppliedTo returns a budget as it holds for a spender at a time. If the budget has
// nothing to do with the spender, the result has no owner.
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

// owner returns the owner of the account that a spender uses in a budget; "" if the
// budget does not apply to the spender.
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

// LimitsMoney reports whether any of the budgets limits money.
func LimitsMoney(list []Applied) bool {
	return slices.ContainsFunc(list, func(a Applied) bool { return a.Money > 0 })
}

// Balance is the state of an account.
type Balance struct {
	Spent    Amount
	Reserved Amount // for other requests' calls under way
}

// Refusal says that a budget has no room for a call.
type Refusal struct {
	Applied
	Need Amount
	Balance
	// Full means that the budget itself has no room. Otherwise there is room as soon
	// as calls under way have cost less than was reserved for them.
	Full bool
	// Unknown is the agent of which a turn has cost nobody knows what, so that the budget
	// cannot be kept; empty: that is not the reason.
	Unknown fika.AgentName
}

// Verdict returns the refusal if one more call does not fit into a budget, and nil if
// it does.
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

// WorseRefusal returns whichever of two refusals holds longer; either may be nil.
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

// Later reports whether the refused call may be possible later.
func (r Refusal) Later() bool { return !r.Full || r.Waits() }

// AmountLeft returns the amount that may still be reserved; 0 in a measure that is
// not limited.
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

// warnAt is the percentage of a budget at which a person is warned.
const warnAt = 80

// CrossesWarning reports whether an account reaches four fifths of its budget by
// going from one amount spent to another. In any window this happens once.
func (b Budget) CrossesWarning(before, after Amount) bool {
	crosses := func(before, after, most int64) bool {
		line := most/100*warnAt + most%100*warnAt/100
		return most > 0 && before < line && after >= line
	}
	return crosses(before.Money, after.Money, b.Money) || crosses(before.Tokens, after.Tokens, b.Tokens)
}

// Booked is the state of an account after a call was added to it.
type Booked struct {
	Scope string // of the budget
	Per   Per
	Used  Amount // the cost of the call
	Spent Amount // the total, including the call
}

// Warnings returns the warnings for a person about the amounts booked.
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
