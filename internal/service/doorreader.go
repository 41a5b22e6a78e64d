package service

import (
	"context"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/api"
)

func (d door) Trace(ctx context.Context, id string) (out api.Trace, err error) {
	t, err := d.c.Trace(ctx, id)
	if err != nil {
		return out, d.fails(err)
	}
	out = api.Trace{
		ID: string(t.ID), What: t.What, Hidden: t.Hidden, Start: t.Start, End: t.End, Requests: []api.TracedRequest{},
		Total: spentOn(t.Usage, t.Unpriced), Took: map[string]time.Duration{},
	}
	for kind, took := range t.Spent {
		out.Took[string(kind)] = took
	}
	for _, r := range t.Requests {
		q := api.TracedRequest{
			ID: string(r.ID), Kind: string(r.Kind), State: string(r.State), Agent: string(r.AgentName), Level: r.Level,
			Start: r.CreatedAt, End: r.End, Spent: spentOn(r.Usage, r.Unpriced), Spans: []api.Span{},
		}
		for _, s := range r.Spans {
			q.Spans = append(q.Spans, api.Span{Kind: string(s.Kind), Name: s.Name, Args: s.Args, Start: s.Start, Took: s.Took, Open: s.Open, Spent: spentOn(s.Usage, s.Unpriced)})
		}
		out.Requests = append(out.Requests, q)
	}
	out.Total.Requests = len(out.Requests)
	return out, nil
}

func spentOn(u fika.Usage, unpriced bool) api.Spent {
	return spent(Spent{Requests: 1, Usage: u, Unpriced: unpriced})
}

func (d door) Why(ctx context.Context, conversation string, seq int64, agent string) ([]api.Status, error) {
	conv, err := d.c.Chats.Find(ctx, conversation)
	if err != nil {
		return nil, d.fails(err)
	}
	row, err := d.c.Agents.FindKnown(ctx, agent)
	if err != nil {
		return nil, d.fails(err)
	}
	why, err := d.c.Chats.Why(ctx, conv, strconv.FormatInt(seq, 10), row)
	return why.Lines, d.fails(err)
}

func (d door) Search(ctx context.Context, words string, p api.Page) (out api.List[api.FoundInfo], err error) {
	f := ConversationFilter{Limit: pageSize(p) + 1}
	if p.After != "" {
		if f.Before, err = strconv.ParseInt(p.After, 10, 64); err != nil || f.Before < 1 {
			return out, d.fails(badPage(p.After))
		}
	}
	list, err := d.c.Conversations.Search(ctx, words, f)
	out.Items = []api.FoundInfo{}
	for i, x := range list {
		if i == f.Limit-1 {
			out.Next = strconv.FormatInt(list[i-1].N, 10)
			break
		}
		out.Items = append(out.Items, api.FoundInfo{Conversation: string(x.ConversationName), Seq: x.Seq, From: x.From, At: x.At, Snippet: x.Snippet})
	}
	return out, d.fails(err)
}

func (d door) Runs(ctx context.Context, p api.Page) (out api.List[api.RunInfo], err error) {
	skip := 0
	if p.After != "" {
		if skip, err = strconv.Atoi(p.After); err != nil || skip < 1 {
			return out, d.fails(badPage(p.After))
		}
	}
	size := pageSize(p)
	list, err := d.c.Runs().List(ctx, false, skip+size+1)
	out.Items = []api.RunInfo{}
	for i, r := range list[min(skip, len(list)):] {
		if i == size {
			out.Next = strconv.Itoa(skip + size)
			break
		}
		out.Items = append(out.Items, runInfo(r))
	}
	return out, d.fails(err)
}

func (d door) RunSteps(ctx context.Context, id string) (info api.RunInfo, steps []api.RunStep, err error) {
	run, err := d.c.Runs().Find(ctx, id)
	if err != nil {
		return info, nil, d.fails(err)
	}
	def, err := d.c.Runs().Definition(ctx, run.ID)
	if err != nil {
		return info, nil, d.fails(err)
	}
	rows, err := d.c.Runs().Steps(ctx, run.ID)
	if err != nil {
		return info, nil, d.fails(err)
	}
	latest := map[string]RunStep{}
	for _, r := range rows {
		latest[r.Path] = r
	}
	for _, s := range def.Steps {
		step := api.RunStep{Path: s.ID, Agent: s.Agent, Needs: s.Needs}
		if r, ok := latest[s.ID]; ok {
			step.Kind, step.State, step.Request, step.Begun, step.Ended = string(r.Kind), string(r.State), string(r.Request), r.Begun, r.Row.Ended
			if r.Agent != "" {
				step.Agent = string(r.WorkedBy())
			}
		}
		steps = append(steps, step)
	}
	return runInfo(run), steps, nil
}

func (d door) Mentions(ctx context.Context, since time.Time) ([]api.FoundInfo, error) {
	list, err := d.c.Mentions(ctx, since)
	out := []api.FoundInfo{}
	for _, x := range list {
		text := x.Content
		if len(text) > mostMentionText {
			text = strings.ToValidUTF8(text[:mostMentionText], "") + "…"
		}
		out = append(out, api.FoundInfo{Conversation: string(x.ConversationName), Seq: x.Seq, From: x.From, At: x.At, Snippet: text})
	}
	return out, d.fails(err)
}

// ofRun does something to a run that is named by its id or the beginning of it.
func (d door) ofRun(ctx context.Context, id string, w api.Write, do func(*Runs, Run) error) error {
	s := d.write(w).Runs()
	run, err := s.Find(ctx, id)
	if err == nil {
		err = do(s, run)
	}
	return d.fails(err)
}

func (d door) ResumeRun(ctx context.Context, id, from string, w api.Write) error {
	return d.ofRun(ctx, id, w, func(s *Runs, r Run) error { _, err := s.Resume(ctx, r, nil, from); return err })
}

func (d door) PauseRun(ctx context.Context, id string, w api.Write) error {
	return d.ofRun(ctx, id, w, func(s *Runs, r Run) error { _, err := s.Pause(ctx, r.ID); return err })
}

func (d door) ContinueRun(ctx context.Context, id string, w api.Write) error {
	return d.ofRun(ctx, id, w, func(s *Runs, r Run) error { _, err := s.Continue(ctx, r.ID); return err })
}

func (d door) CancelRun(ctx context.Context, id, reason string, w api.Write) error {
	return d.ofRun(ctx, id, w, func(s *Runs, r Run) error { _, err := s.Cancel(ctx, r.ID, reason); return err })
}
