package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"fika"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/turn/prompt"
)

const (
	firstPage = 32
	laterPage = 256
	// reserve is the part of the model's window left for the answer. A conversation that may
	// still be compacted can take more, so that the model that summarises it sees it all.
	reserve, leastReserve = 0.20, 0.05
	// resultShare is the part of the window that the result of one call may take.
	resultShare = 0.25
)

// EstimateTokens estimates the tokens of a text as a quarter of its bytes, rounded up.
// It is used where the provider has not counted them.
func EstimateTokens[T ~string | ~[]byte](text T) int64 { return tokensOf(len(text)) }

func tokensOf(bytes int) int64 { return int64(bytes+3) / 4 }

// EstimateEntry estimates the tokens of an entry as it will be sent, pictures included.
func EstimateEntry(e fika.Entry) int64 {
	return EstimateSize(store.EntrySize{From: len(e.From), Content: len(e.Content), Attachments: e.Meta.Attachments})
}

// EstimateSize is EstimateEntry for one whose texts were not read.
func EstimateSize(e store.EntrySize) int64 {
	n := tokensOf(e.Content) + tokensOf(e.From) + 8
	for _, a := range e.Attachments {
		n += a.Tokens()
	}
	return n
}

// History reads the earlier entries of conversations.
type History interface {
	Before(ctx context.Context, c fika.ConversationID, upto int64, limit int) ([]fika.Entry, error)
	OfRequest(context.Context, fika.RequestID) ([]fika.Entry, error)
	Blobs(context.Context, []fika.Entry) (map[fika.EntryID]json.RawMessage, error)
	Frame(ctx context.Context, c fika.ConversationID, view fika.AgentID, upto int64) (store.Frame, error)
}

// window selects the part of the conversation that the model sees.
type window struct {
	*assignment
	*progress
	exposure *exposure
	permits  *permits
	records  *records
	briefing *briefing
	history  History
	tokens   int64 // the size of the model's window
	refused  int64 // what the provider found too long, in estimated tokens; 0: nothing
	final    bool  // nothing will compact the conversation before the next call
	// continuation returns what introduces a summary that no file holds; may be nil.
	continuation func() string

	seen    []fika.Entry // what the model was last shown
	omitted int          // entries that did not fit
	cut     *fika.Entry  // the last compaction before the window; nil: none
	cuts    fika.Cuts    // what rewinds have taken out
	warned  bool         // that the window is too small, or nearly full
}

// size returns the size of the model's window, in estimated tokens if the provider has
// refused less than it should take.
func (w *window) size() int64 {
	if w.refused > 0 {
		return min(w.tokens, w.refused*9/10)
	}
	return w.tokens
}

// summary returns what the window begins with in the place of everything before it, as the
// file of the agent's ongoing conversation says it or, in any other, the compaction; empty:
// nothing was compacted.
func (w *window) summary() string {
	switch {
	case w.claimed.Conversation.ID == w.claimed.Agent.ActiveAsk:
		return w.briefing.prompt.Summary
	case w.cut == nil:
		return ""
	}
	introduction := ""
	if w.continuation != nil {
		introduction = w.continuation()
	}
	return prompt.SummaryText(introduction, w.cut.Meta.Summary)
}

// fixedCost estimates the tokens that every call of this turn costs before any entry.
func (w *window) fixedCost() int64 {
	n := EstimateTokens(w.briefing.prompt.SystemText(nil)) + EstimateTokens(prompt.StateText(w.briefing.prompt.State)) + EstimateTokens(w.summary())
	for _, t := range w.permits.offeredSpecs() {
		n += EstimateTokens(t.Description) + EstimateTokens(t.Parameters) + 8
	}
	return n
}

// fitResult shortens the result of a call that would take too much of the window. How much
// that is depends on the model alone, so that a result looks the same in every call.
func (w *window) fitResult(text string) string {
	most := int(resultShare * 4 * float64(w.size()))
	if len(text) <= most {
		return text
	}
	head, tail := strings.ToValidUTF8(text[:most*2/3], ""), strings.ToValidUTF8(text[len(text)-most/3:], "")
	return fmt.Sprintf("%s\n(… %d bytes left out: the model's window is too small for them …)\n%s", head, len(text)-len(head)-len(tail), tail)
}

func (w *window) estimateCall(shown []fika.Entry) int64 {
	n := w.fixedCost()
	for _, e := range shown {
		n += EstimateEntry(e)
	}
	return n
}

// selectEntries returns the entries that the model sees: the newest whole turns at or
// before upto_seq that fit, then this request's own entries, as far as no compaction has
// archived them.
func (w *window) selectEntries(ctx context.Context) (_ []fika.Entry, err error) {
	if w.cut, w.cuts, err = w.frame(ctx); err != nil {
		return nil, err
	}
	var own []fika.Entry
	for _, e := range w.own {
		if !isArchived(e, w.cut) {
			own = append(own, e)
		}
	}
	groups, left, err := w.readHistory(ctx, w.historyBudget(own))
	if err != nil {
		return nil, err
	}
	w.omitted = left
	all := slices.Concat(groups...)
	for i := range own {
		all = append(all, &own[i])
	}
	seen := valuesOf(all)
	earlier := seen[:len(seen)-len(own)]
	w.exposure.lookAround(earlier, w.cut)
	if left > 0 && !w.warned && w.final {
		w.warned = true
		w.observeEvent(Event{Kind: Warning, Text: fmt.Sprintf("the conversation does not fit the model's window: its oldest part is left out (at least %d entries)%s", left, w.advice())})
	}
	w.permits.noteFound(w.records.found(seen))
	w.seen = seen
	return seen, nil
}

// advice names the command that makes room in the conversation; empty: there is none.
func (w *window) advice() string {
	switch w.claimed.Conversation.Kind {
	case fika.Ask:
		return fmt.Sprintf("; %s keeps what matters", hint.ContextCompact.With(w.claimed.Agent.Name))
	case fika.Chat:
		return fmt.Sprintf("; %s keeps what matters", hint.ChatCompact.With(w.claimed.Conversation.Name))
	}
	return ""
}

// isInterruption reports whether an entry says that a turn was cut off, which the model has
// to know: what was asked there is not wanted any more.
func isInterruption(e fika.Entry) bool {
	return e.Type == fika.Notice && e.Meta.Kind == string(fika.Interrupted)
}

// isArchived reports whether a compaction has put an entry out of the window.
func isArchived(e fika.Entry, cut *fika.Entry) bool {
	return cut != nil && e.Seq <= cut.Meta.UpTo && !slices.Contains(cut.Meta.Kept, e.Seq)
}

// compactedAt returns the seq of the compaction that the window begins with; 0: there is
// none.
func (w *window) compactedAt() int64 {
	if w.cut == nil {
		return 0
	}
	return w.cut.Seq
}

// historyBudget returns what history may cost besides the turn's own entries, in estimated
// tokens.
func (w *window) historyBudget(own []fika.Entry) int64 {
	left := reserve
	if !w.final {
		left = leastReserve
	}
	b := int64(float64(w.size())*(1-left)) - w.fixedCost()
	for _, e := range own {
		b -= EstimateEntry(e)
	}
	return b
}

// readHistory reads back page by page until the budget is spent or the last compaction
// is reached. It returns whole turns, oldest first, and the number of entries that it
// read but left out. The entries are shared and must not be changed: of a long conversation,
// most of what a turn costs would be to copy them.
func (w *window) readHistory(ctx context.Context, budget int64) ([][]*fika.Entry, int, error) {
	conv := w.claimed.Conversation.ID
	if p := w.claimed.Request.Payload; w.claimed.Conversation.Kind == fika.Task && len(p.History) == 0 && !p.Continue {
		return nil, 0, nil
	}
	upto, cut := w.claimed.Request.UptoSeq, w.cut
	var seen []*fika.Entry // newest first
	var cost int64
	upto = w.nextPage(upto, cut)
	for size := firstPage; upto > 0; size = laterPage {
		var page []fika.Entry
		err := w.retry.readAgain(ctx, func(ctx context.Context) (err error) {
			page, err = w.history.Before(ctx, conv, upto, size)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		seen = slices.Grow(seen, len(page))
		for i := range page {
			if e := &page[i]; w.isVisible(*e, cut) {
				seen = append(seen, e)
				cost += EstimateEntry(*e)
			}
		}
		if len(page) < size || cost > budget {
			break
		}
		upto = w.nextPage(page[len(page)-1].Seq-1, cut)
	}
	slices.Reverse(seen)
	groups, err := w.completeGroups(ctx, w.groupOwn(seen))
	if err != nil {
		return nil, 0, err
	}
	if err := w.records.readEarlier(ctx, slices.Concat(groups...)); err != nil {
		return nil, 0, err
	}
	groups, left := FitBudget(w.placeOwn(groups), budget)
	return groups, left, nil
}

// groupOwn groups the entries of each turn of the agent. In a chat, what others say in one
// turn stays where it was said: it may be in the window before the turn is over.
func (w *window) groupOwn(entries []*fika.Entry) [][]*fika.Entry {
	inChat, name := w.inChat(), string(w.claimed.Agent.Name)
	return groupBy(entries, func(e *fika.Entry) fika.RequestID {
		if inChat && e.From != name && e.To != name && !isInterruption(*e) { // of an interruption, only its own is visible
			return ""
		}
		return e.Request
	})
}

// placeOwn puts the agent's turns before what came in after their windows had been chosen:
// the model has not seen it when it answered, and the next window begins with what it saw.
// What a person interrupted before the first answer stands behind the message it answered:
// it says nothing about later ones.
func (w *window) placeOwn(groups [][]*fika.Entry) [][]*fika.Entry {
	out := make([][]*fika.Entry, 0, len(groups))
	for _, g := range groups {
		at := len(out)
		if upto := w.records.byEntry[g[0].ID].Upto; upto > 0 {
			for at > 0 && out[at-1][0].Seq > upto {
				at--
			}
		} else if to := interrupted(g); to != "" {
			if i := slices.IndexFunc(out, func(o []*fika.Entry) bool { return o[0].ID == to }); i >= 0 {
				for at = i + 1; at < len(out) && interrupted(out[at]) == to; at++ { // in their order
				}
			}
		}
		out = slices.Insert(out, at, g)
	}
	return out
}

// interrupted returns the message that an interrupted turn was to answer; empty: it is none,
// or that is not known.
func interrupted(turn []*fika.Entry) fika.EntryID {
	if last := turn[len(turn)-1]; isInterruption(*last) {
		return last.ReplyTo
	}
	return ""
}

func valuesOf(entries []*fika.Entry) []fika.Entry {
	out := make([]fika.Entry, len(entries))
	for i, e := range entries {
		out[i] = *e
	}
	return out
}

// frame returns the newest compaction or clearing of the conversation, this turn's own
// included, nil if there is none, and what rewinds have taken out.
func (w *window) frame(ctx context.Context) (*fika.Entry, fika.Cuts, error) {
	var f store.Frame
	err := w.retry.readAgain(ctx, func(ctx context.Context) (err error) {
		f, err = w.history.Frame(ctx, w.claimed.Conversation.ID, w.claimed.Agent.ID, math.MaxInt64)
		return err
	})
	return f.Compaction, f.Cuts, err
}

// isVisible reports whether an entry may be in this agent's window. Not visible are
// entries up to the last compaction (unless it kept them), what rewinds have taken out, this
// request's own entries,
// notices, and in chats the tool calls and results of other agents.
func (w *window) isVisible(e fika.Entry, cut *fika.Entry) bool {
	if isArchived(e, cut) || w.cuts.Has(e.Seq) {
		return false
	}
	if e.Request == w.fence.Request && e.Request != "" {
		return false
	}
	switch e.Type {
	case fika.Message:
		return true
	case fika.Notice:
		return isInterruption(e) && (!w.inChat() || e.Meta.WriterName == string(w.claimed.Agent.Name))
	case fika.ToolCall: // in its own conversations all are its own, whatever its name was then
		return !w.inChat() || e.From == string(w.claimed.Agent.Name)
	case fika.ToolResult:
		return !w.inChat() || e.To == string(w.claimed.Agent.Name)
	}
	return false
}

// completeGroups reads in full the turns that the oldest page cut in two.
func (w *window) completeGroups(ctx context.Context, groups [][]*fika.Entry) ([][]*fika.Entry, error) {
	for i, g := range groups {
		if t := g[0].Type; t != fika.ToolCall && t != fika.ToolResult {
			continue
		}
		var all []fika.Entry
		err := w.retry.readAgain(ctx, func(ctx context.Context) (err error) {
			all, err = w.history.OfRequest(ctx, g[0].Request)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(all) > len(g) {
			groups[i] = nil
			for k := range all {
				if e := &all[k]; (e.Type != fika.Notice || isInterruption(*e)) && e.Type != fika.Compaction && e.Conversation == g[0].Conversation && !w.cuts.Has(e.Seq) {
					groups[i] = append(groups[i], e)
				}
			}
		}
	}
	return groups, nil
}

// nextPage returns the seq at which the page before upto begins, upto included. It skips
// entries that a compaction has archived or a rewind has taken out. 0: nothing is left.
func (w *window) nextPage(upto int64, cut *fika.Entry) int64 {
	upto = w.cuts.Before(upto)
	if cut == nil || upto > cut.Meta.UpTo {
		return upto
	}
	newest := int64(0)
	for _, k := range cut.Meta.Kept {
		if k <= upto {
			newest = max(newest, k)
		}
	}
	return newest
}

// GroupTurns groups entries into turns: the entries of one request together, in the
// place of its first; every other entry alone. The order is kept.
func GroupTurns(entries []fika.Entry) [][]fika.Entry {
	return groupBy(entries, func(e fika.Entry) fika.RequestID { return e.Request })
}

// groupBy puts entries of the same turn together, in the place of the first; an entry of
// none, "", is alone. Groups of one share the given slice.
func groupBy[E any](entries []E, turn func(E) fika.RequestID) [][]E {
	out := make([][]E, 0, len(entries))
	at := map[fika.RequestID]int{}
	for n, e := range entries {
		id := turn(e)
		if i, ok := at[id]; ok && id != "" {
			out[i] = append(out[i], e)
			continue
		}
		at[id] = len(out)
		out = append(out, entries[n:n+1:n+1])
	}
	return out
}

// FitBudget drops the oldest turns until the rest costs no more than budget, and returns
// the rest and the number of entries dropped.
func FitBudget(groups [][]*fika.Entry, budget int64) ([][]*fika.Entry, int) {
	var cost int64
	for i := len(groups) - 1; i >= 0; i-- {
		for _, e := range groups[i] {
			cost += EstimateEntry(*e)
		}
		if cost > budget {
			left := 0
			for _, g := range groups[:i+1] {
				left += len(g)
			}
			return groups[i+1:], left
		}
	}
	return groups, 0
}
