package store

import (
	"cmp"
	"context"

	"fika"
	"fika/internal/workflow"
)

// countSpent adds what the ended rows of the plan have used to the run, once.
func (a *applying) countSpent(ctx context.Context) error {
	var ended []any
	for _, r := range a.plan.Rows {
		if r.State.Ended() {
			ended = append(ended, r.ID)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	if a.chain != "" {
		return a.countBelow(ctx, `s.id IN (`+placeholders(len(ended))+`)`, ended...)
	}
	type used struct {
		id                  string
		turns, tokens, cost int64
	}
	list, err := many(ctx, a.tx, func(sc scanner) (u used, err error) { return u, sc.Scan(&u.id, &u.turns, &u.tokens, &u.cost) },
		`SELECT s.id, ch.turns, ch.tokens, ch.cost FROM flow_steps s JOIN chains ch ON ch.root = s.chain
WHERE s.id IN (`+placeholders(len(ended))+`) AND s.chain <> '' AND s.counted = 0`, ended...)
	if err != nil || len(list) == 0 {
		return err
	}
	var sum used
	for _, u := range list {
		sum.turns, sum.tokens, sum.cost = sum.turns+u.turns, sum.tokens+u.tokens, sum.cost+u.cost
		if err := a.put(ctx, `UPDATE flow_steps SET counted = 1 WHERE id = ?`, u.id); err != nil {
			return err
		}
	}
	return a.put(ctx, `UPDATE flow_runs SET turns = turns + ?, tokens = tokens + ?, cost = cost + ? WHERE id = ?`, sum.turns, sum.tokens, sum.cost, a.view.ID)
}

// endRun stores the run's result, and the outcome of its request.
func (a *applying) endRun(ctx context.Context, answer Answer) error {
	result := a.plan.Result
	text, err := toJSON("advance run", result)
	if err != nil {
		return err
	}
	r, err := a.lockTurn(ctx, a.view.Request)
	if err != nil {
		return err
	}
	e := ending{state: fika.Done, outcome: fika.Outcome{Answer: answer.Text, Usage: fika.Usage{}}}
	switch result.State {
	case workflow.Done:
	case workflow.Cancelled:
		e.state, e.reason, e.outcome.ErrorKind = fika.Cancelled, cmp.Or(r.reason, result.Error), fika.Interrupted
	default:
		e.state, e.reason, e.outcome.ErrorKind = fika.RequestFailed, result.Error, fika.Failed
		if result.Reason == workflow.ReasonLimit {
			e.reason, e.outcome.ErrorKind = cmp.Or(r.reason, result.Error), fika.Limit
		}
	}
	if answer.Text != "" {
		said := fika.Entry{
			Conversation: a.view.Conversation, From: flowAgent, To: a.view.From, Content: answer.Text, Type: fika.Message, Request: r.id, Chain: r.chain, Depth: 1,
			Meta: fika.EntryMeta{Writer: fika.BySystem, WriterName: flowAgent, Final: true},
		}
		if err := a.append(ctx, &said); err != nil {
			return err
		}
		e.outcome.Entry, e.outcome.Seq = said.ID, said.Seq
	}
	if err := a.sayInChat(ctx, answer.Chat); err != nil {
		return err
	}
	if err := a.endChild(ctx, r); err != nil {
		return err
	}
	ended, err := a.end(ctx, r, e)
	if err != nil {
		return err
	}
	a.out.Wake = append(a.out.Wake, ended.ring...)
	return a.put(ctx, `UPDATE flow_runs SET result = ?, ended_at = ?, due = 0, wake_at = 0 WHERE id = ?`, text, a.now, a.view.ID)
}
