package worker

import (
	"cmp"
	"context"
	"slices"

	"fika"
	"fika/internal/agent/learn"
	"fika/internal/store"
	"fika/internal/turn"
)

// mostCases is the most outcomes that are read at once.
const mostCases = 500

// caseReader reads the outcomes of an agent's work.
type caseReader struct {
	store *store.Store
	agent fika.Agent
}

// found are the cases after a position.
type found struct {
	cases []learn.Case   // cases that may teach something, oldest first
	upto  learn.Position // position after the last case that was read
	rest  bool           // there are newer cases, which did not fit
	older bool           // there are older cases, which are not read
}

// since reads the cases after a position, as many as take no more than room tokens, but
// at least one.
func (r caseReader) since(ctx context.Context, from learn.Position, room int64) (found, error) {
	f := store.RequestFilter{
		Agent: r.agent.ID, Limit: mostCases, States: fika.EndedStates(),
	}
	if !from.At.IsZero() {
		f.Since = from.At.Add(-1)
	}
	list, err := r.store.ListRequests(ctx, f)
	if err != nil {
		return found{}, err
	}
	slices.SortFunc(list, func(a, b store.RequestInfo) int {
		return cmp.Or(a.FinishedAt.Compare(b.FinishedAt), cmp.Compare(a.ID, b.ID))
	})
	out := found{upto: from, older: len(list) == mostCases}
	for _, q := range list {
		if from.Covers(q.ID, q.FinishedAt) {
			continue
		}
		c, err := r.read(ctx, q)
		if err != nil {
			return found{}, err
		}
		if c.Teaches() {
			if room -= c.Tokens(); room < 0 && len(out.cases) > 0 {
				out.rest = true
				return out, nil
			}
			out.cases = append(out.cases, c)
		}
		out.upto = out.upto.With(q.ID, q.FinishedAt)
	}
	return out, nil
}

// read assembles one case.
func (r caseReader) read(ctx context.Context, q store.RequestInfo) (learn.Case, error) {
	c := learn.Case{
		Request: q.ID, Kind: q.Kind, Conversation: q.ConversationName, At: q.FinishedAt, State: q.State,
		Asked: q.Payload.Prompt, Answered: q.Outcome.Answer, Taint: learn.Taint{From: cmp.Or(q.Taint, q.Outcome.Taint)},
	}
	if q.State != fika.Done {
		c.Error = cmp.Or(q.Outcome.Error, q.Reason)
	}
	entries, err := r.store.OfRequest(ctx, q.ID)
	if err != nil {
		return c, err
	}
	r.addCalls(&c, entries)
	if err := r.addAsked(ctx, &c, q); err != nil {
		return c, err
	}
	steps, err := r.store.Steps(ctx, q.ID)
	if err != nil {
		return c, err
	}
	c.Rejected = turn.RejectedAnswers(steps)
	asked, err := r.store.ApprovalsAbout(ctx, q.ID)
	if err != nil {
		return c, err
	}
	for _, a := range asked {
		if a.State == store.ApprovalRefused {
			c.Denied = append(c.Denied, learn.Call{Tool: a.Tool, Args: a.Args, Result: a.Why})
			c.Failed = slices.DeleteFunc(c.Failed, func(f learn.Call) bool { return f.Tool == a.Tool && f.Args == a.Args })
		}
	}
	return c, nil
}

// addCalls adds the tool calls that failed, and the text from outside.
func (r caseReader) addCalls(c *learn.Case, entries []fika.Entry) {
	called := map[fika.EntryID]fika.Entry{}
	for _, e := range entries {
		r.noteTaint(c, e)
		switch {
		case e.Type == fika.ToolCall:
			called[e.ID] = e
		case e.Type == fika.ToolResult && e.Meta.IsError:
			c.Failed = append(c.Failed, learn.Call{Tool: e.From, Args: called[e.ReplyTo].Content, Result: e.Content})
		}
	}
}

// noteTaint records the first entry that holds text from outside.
func (r caseReader) noteTaint(c *learn.Case, e fika.Entry) {
	if e.Meta.Taint.Tainted() && c.Taint.Seq == 0 {
		c.Taint = learn.Taint{From: e.Meta.Taint.From, Seq: e.Seq}
	}
}

// addAsked adds what the turn answered to, and, if a person said it to the agent, the
// agent's previous answer, because it may be a correction.
func (r caseReader) addAsked(ctx context.Context, c *learn.Case, q store.RequestInfo) error {
	before, err := r.store.Before(ctx, q.Conversation, q.UptoSeq, 30)
	if err != nil {
		return err
	}
	human := false
	for _, e := range before {
		own := e.Meta.Writer == fika.ByAgent && e.Meta.WriterName == string(r.agent.Name)
		switch {
		case e.Type != fika.Message:
		case c.Prompt == 0 && !own:
			c.Prompt, human = e.Seq, e.Meta.Writer == fika.ByHuman
			if c.Asked == "" {
				c.Asked = e.From + ": " + e.Content
			}
			r.noteTaint(c, e)
		case c.Prompt != 0 && own && human:
			c.Earlier = e.Content
			r.noteTaint(c, e)
			return nil
		}
	}
	return nil
}
