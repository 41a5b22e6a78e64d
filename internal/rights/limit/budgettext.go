package limit

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// DollarText returns an amount of money as people read it, with as many digits as
// needed.
func DollarText(micro int64) string {
	s := strings.TrimRight(fmt.Sprintf("%d.%06d", micro/1e6, micro%1e6), "0")
	for point := strings.IndexByte(s, '.'); len(s)-point <= 2; {
		s += "0"
	}
	return "$" + s
}

// limits returns what a budget allows, as in "$5.00 and 100 tokens".
func (b Budget) limits() string {
	var parts []string
	if b.Money > 0 {
		parts = append(parts, DollarText(b.Money))
	}
	if b.Tokens > 0 {
		parts = append(parts, counted(b.Tokens, "token"))
	}
	return strings.Join(parts, " and ")
}

// named returns the budget's name for use in a sentence.
func (b Budget) named() string { return fmt.Sprintf("the budget of %s (%s)", b, b.limits()) }

// AmountText returns an amount in the measures that the budget limits.
func (b Budget) AmountText(a Amount) string {
	var parts []string
	if b.Money > 0 {
		parts = append(parts, DollarText(a.Money))
	}
	if b.Tokens > 0 {
		parts = append(parts, counted(a.Tokens, "token"))
	}
	return strings.Join(parts, " and ")
}

// shareText returns an amount of what the budget allows.
func (b Budget) shareText(a Amount) string {
	var parts []string
	if b.Money > 0 {
		parts = append(parts, DollarText(a.Money)+" of "+DollarText(b.Money))
	}
	if b.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", a.Tokens, counted(b.Tokens, "token")))
	}
	return strings.Join(parts, " and ")
}

// Text says why the call is not made, and what helps.
func (r Refusal) Text() string {
	if !r.Full {
		return fmt.Sprintf("%s: the rest is reserved by running calls (%s spent, %s reserved), and the next call is estimated at %s; try again when they are done",
			r.named(), r.AmountText(r.Spent), r.AmountText(r.Reserved), r.AmountText(r.Need))
	}
	if r.Unknown != "" {
		why := UnknownCost(r.Unknown, r.named())
		if !r.Window.Ends.IsZero() {
			why += "; the next begins at " + ClockText(r.Window.Ends)
		}
		return why + fmt.Sprintf("; limit its tokens instead (%s), or set billing or prices in the settings of %s",
			hint.BudgetSetTokens.With(r.Scope, r.Budget.Per, "N"), r.Unknown)
	}
	why := fmt.Sprintf("%s is used up: %s spent, and the next call is estimated at %s", r.named(), r.AmountText(r.Spent), r.AmountText(r.Need))
	if !r.Window.Ends.IsZero() {
		why += "; the next begins at " + ClockText(r.Window.Ends)
	}
	return why + fmt.Sprintf("; %s changes it", hint.BudgetSet.With(r.Scope, r.Budget.Per))
}

// UnknownCost says why a guest makes no turn under a limit of money.
func UnknownCost(guest fika.AgentName, limit string) string {
	return fmt.Sprintf("%s cannot be kept with @%s: what an earlier turn of its program cost is unknown", limit, guest)
}

// ChainCostUnknown says the same of max_cost_per_chain, with the id of the notice.
func ChainCostUnknown(s Spender, most int64) (text string, id fika.EntryID) {
	text = UnknownCost(s.AgentName, fmt.Sprintf("the limit of %s per chain", DollarText(most)))
	return text + fmt.Sprintf("; limit its tokens instead, or set billing or prices in the settings of %s", s.AgentName), noticeID("unknown", string(s.Chain), string(s.AgentName))
}

// Waiting returns the notice that is posted where work waits for the next window.
func (r Refusal) Waiting() string {
	if r.Unknown != "" {
		return fmt.Sprintf("%s; waiting work resumes at %s", UnknownCost(r.Unknown, r.named()), ClockText(r.Window.Ends))
	}
	return fmt.Sprintf("%s is used up; waiting work resumes at %s, or sooner if %s raises it", r.named(), ClockText(r.Window.Ends), hint.BudgetSet.With(r.Scope, r.Budget.Per))
}

// NoticeID returns an id that is the same for the same budget, window and amount
// allowed.
func (r Refusal) NoticeID() fika.EntryID {
	of := []string{r.Owner, string(r.Budget.Per), fmt.Sprint(r.Begin), fmt.Sprint(r.Amount)}
	if r.Unknown != "" {
		of = append(of, string(r.Unknown))
	}
	return noticeID("budget", of...)
}

// Warning returns the warning that is given once per window, when four fifths of a
// budget are spent.
func (b Budget) Warning(spent Amount) string {
	return fmt.Sprintf("%s: more than 80%% used (%s spent)", b.named(), b.AmountText(spent))
}

// ClockText returns a time as people read it, in its own zone.
func ClockText(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

// UnpricedNoticeID returns an id that is the same for the same error about a model
// without a price.
func UnpricedNoticeID(err error) fika.EntryID { return noticeID("unpriced", err.Error()) }

// ShortText describes the state of an account in a few words: what is left of which
// budget.
func (a Applied) ShortText(b Balance) string {
	return fmt.Sprintf("%s left of the budget of %s", a.shareText(a.AmountLeft(b)), a.Budget)
}

// StandingLine describes the state of an account in one line.
func (a Applied) StandingLine(b Balance) string {
	text := fmt.Sprintf("%s: %s spent", a.Budget, a.shareText(b.Spent))
	if b.Reserved != (Amount{}) {
		text += fmt.Sprintf(", %s reserved by running calls", a.AmountText(b.Reserved))
	}
	text += fmt.Sprintf(", %s left", a.AmountText(a.AmountLeft(b)))
	if !a.Window.Ends.IsZero() {
		text += " until " + ClockText(a.Window.Ends)
	}
	return text
}
