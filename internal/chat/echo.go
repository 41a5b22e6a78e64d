package chat

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/rights/limit"
	"fika/internal/store"
)

// Letters reads the letters that agents have been sent.
type Letters interface {
	Agent(context.Context, fika.AgentName) (fika.Agent, error)
	Entries(context.Context, store.EntryQuery) ([]fika.Entry, error)
}

// Letter is a message from one agent to another, outside any chat.
type Letter struct {
	From  fika.AgentName
	To    fika.Agent
	Chain fika.RequestID
	Depth int
	Text  string
}

// OnlyEchoes reports whether a letter would only continue an exchange in which both
// sides repeat themselves: it and the latest letters of its chain, most in all, go
// back and forth between the two agents, and each says the same again. Anything that
// a person, another agent or another chain has said to either of them in the meantime
// counts as new. If most is 0, OnlyEchoes reports false.
func OnlyEchoes(ctx context.Context, s Letters, l Letter, most int) (bool, error) {
	if most <= 0 || l.Depth < most { // each letter is one deeper than the one that it answers
		return false, nil
	}
	from, err := s.Agent(ctx, l.From)
	if err != nil {
		return false, err
	}
	var all []fika.Entry
	for _, a := range []fika.Agent{from, l.To} {
		got, err := s.Entries(ctx, store.EntryQuery{Conversation: a.ActiveAsk, Types: []fika.EntryType{fika.Message}, Last: 8 * most})
		if err != nil {
			return false, err
		}
		// What an agent says in its own conversation is sent to nobody.
		all = append(all, slices.DeleteFunc(got, func(e fika.Entry) bool { return e.Meta.Writer == fika.ByAgent && e.Meta.WriterName == string(a.Name) })...)
	}
	said := []limit.Said{{By: string(l.From), Text: l.Text}}
	begun, last := lastOfChain(all, l.Chain, most-1)
	for _, e := range all {
		if e.At.After(begun) && (e.Chain != l.Chain || e.Meta.Writer != fika.ByAgent) {
			return false, nil
		}
	}
	for _, e := range last {
		said = append(said, limit.Said{By: e.Meta.WriterName, Text: e.Content})
	}
	slices.Reverse(said)
	return len(said) == most && limit.OnlyRepeats(said), nil
}

// lastOfChain returns the newest n entries of a chain, newest first, and the time of
// the oldest of these.
func lastOfChain(all []fika.Entry, chain fika.RequestID, n int) (begun time.Time, last []fika.Entry) {
	for _, e := range all {
		if e.Chain == chain && e.Meta.Writer == fika.ByAgent {
			last = append(last, e)
		}
	}
	slices.SortStableFunc(last, func(a, b fika.Entry) int { return cmp.Compare(b.Depth, a.Depth) })
	if last = last[:min(n, len(last))]; len(last) > 0 {
		begun = last[len(last)-1].At
	}
	return begun, last
}
