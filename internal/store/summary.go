package store

import (
	"context"

	"fika"
)

// AppendSummary appends a compaction that a model was asked for outside a turn. Its
// cost is added to the ledger and to the open accounts of the agent and its home; an
// account that is opened later finds the cost in the ledger.
func (s Transcripts) AppendSummary(ctx context.Context, a fika.Agent, c fika.ConversationID, content string, m fika.EntryMeta, model string, u fika.Usage) (fika.Entry, error) {
	var stored fika.Entry
	err := s.write(ctx, "append compaction", func(ctx context.Context, t *tx) error {
		stored = fika.Entry{Conversation: c, From: string(a.Name), To: string(a.Name), Content: content, Type: fika.Compaction, Meta: m}
		if err := t.append(ctx, &stored); err != nil {
			return err
		}
		return accountsIn(t).bookSummary(ctx, string(stored.ID), a, model, u)
	})
	return stored, err
}

// BookSummary adds the cost of a summary that is stored nowhere, as
// [Transcripts.AppendSummary] does for one that is.
func (s Transcripts) BookSummary(ctx context.Context, a fika.Agent, model string, u fika.Usage) error {
	return s.write(ctx, "book summary", func(ctx context.Context, t *tx) error { return accountsIn(t).bookSummary(ctx, t.newID(), a, model, u) })
}

// bookSummary adds usage to the ledger, under an id that is no request's.
func (t accountRows) bookSummary(ctx context.Context, id string, a fika.Agent, model string, u fika.Usage) error {
	if u == (fika.Usage{}) {
		return nil
	}
	if err := t.put(ctx, `INSERT INTO usage (request, n, agent, model, input, output, cached, reasoning, cost, at, estimated)
VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, id, a.ID, model, u.Input, u.Output, u.Cached, u.Reasoning, u.Cost, t.now, number(u.Estimated)); err != nil {
		return err
	}
	return t.bookApart(ctx, a, u)
}

// newestOf selects the accounts of two owners for their latest window. Nobody asks
// about a window that is over.
const newestOf = ` WHERE b.owner IN (?, ?) AND NOT EXISTS (SELECT 1 FROM budgets x WHERE x.owner = b.owner AND x.per = b.per AND x.begins > b.begins)`

// bookApart adds usage outside any request to the accounts of an agent and its home.
// Like book, it comes last in a transaction.
func (t accountRows) bookApart(ctx context.Context, a fika.Agent, u fika.Usage) error {
	agent, home := "agent:"+string(a.ID), "home:"+a.HomeID
	var locked []string
	return t.run(ctx,
		all(&locked, scanText, `SELECT b.owner FROM budgets b`+newestOf+` ORDER BY b.owner, b.per`+lockRow, agent, home),
		statement{text: `UPDATE budgets AS b SET money = money + ?, tokens = tokens + ?` + newestOf, args: []any{u.Cost, u.Input + u.Output, agent, home}})
}
