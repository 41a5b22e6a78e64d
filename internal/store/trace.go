package store

import (
	"context"
	"slices"
	"time"

	"fika"
)

// Traced is a request with its steps, their times and their usage.
type Traced struct {
	RequestInfo
	Steps []TracedStep // sorted by number
}

// TracedStep is a step without its texts, except for the beginning of a tool's
// arguments.
type TracedStep struct {
	N          int
	Round      int
	Kind       fika.StepKind // empty: only the ledger knows the step
	Tool       string
	Args       string
	State      fika.StepState
	StartedAt  time.Time
	FinishedAt time.Time
	Failed     bool       // the result of a tool says so
	Model      string     // the model that was asked
	Choice     string     // why this one of several models was chosen; empty: it is the first
	Usage      fika.Usage // according to the ledger
}

const (
	// traceBatch is how many requests one query asks for.
	traceBatch = 400
	// tracedArgs bounds how many characters are read of a call's arguments.
	tracedArgs = 2000
)

// OfChain returns the requests of a chain, oldest first.
func (s Ledger) OfChain(ctx context.Context, root fika.RequestID) ([]RequestInfo, error) {
	all, err := many(ctx, s.r, scanRequestInfo, selectRequestInfo+` WHERE r.chain = ? ORDER BY r.n`, root)
	return all, s.explain("read chain", err)
}

// Trace adds to requests their steps and the usage that the ledger has for them.
func (s Ledger) Trace(ctx context.Context, requests []RequestInfo) ([]Traced, error) {
	out := make([]Traced, len(requests))
	place := map[fika.RequestID]*Traced{}
	var ids []any
	for i, r := range requests {
		out[i].RequestInfo = r
		place[r.ID] = &out[i]
		ids = append(ids, r.ID)
	}
	for batch := range slices.Chunk(ids, traceBatch) {
		if err := s.traceSteps(ctx, place, batch); err != nil {
			return nil, s.explain("read steps", err)
		}
		if err := s.traceUsage(ctx, place, batch); err != nil {
			return nil, s.explain("read usage", err)
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Steps, func(a, b TracedStep) int { return a.N - b.N })
	}
	return out, nil
}

func (s Ledger) traceSteps(ctx context.Context, place map[fika.RequestID]*Traced, ids []any) error {
	_, err := many(ctx, s.r, func(sc scanner) (TracedStep, error) {
		var st TracedStep
		var id fika.RequestID
		var started, finished int64
		err := sc.Scan(&id, &st.N, &st.Round, &st.Kind, &st.Tool, &st.Model, &st.Choice, &st.State, &started, &finished, &st.Args, &st.Failed)
		st.StartedAt, st.FinishedAt = at(started), at(finished)
		place[id].Steps = append(place[id].Steps, st)
		return st, err
	}, `SELECT s.request, s.n, s.round, s.kind, s.tool, s.model, s.choice, s.state, s.started_at, s.finished_at, COALESCE(substr(e.content, 1, ?), ''), COALESCE(o.metadata LIKE '%"is_error":true%', FALSE)
FROM steps s JOIN requests r ON r.id = s.request LEFT JOIN entries e ON s.call_entry <> '' AND e.conversation = r.conversation AND e.id = s.call_entry
LEFT JOIN entries o ON s.kind = 'tool' AND s.entry <> '' AND o.conversation = r.conversation AND o.id = s.entry
WHERE s.request IN (`+placeholders(len(ids))+`) ORDER BY s.request, s.n`, append([]any{tracedArgs}, ids...)...)
	return err
}

// traceUsage adds usage to the steps; usage without a step makes a step of its own.
func (s Ledger) traceUsage(ctx context.Context, place map[fika.RequestID]*Traced, ids []any) error {
	_, err := many(ctx, s.r, func(sc scanner) (fika.Usage, error) {
		var id fika.RequestID
		var n int
		var model string
		var u fika.Usage
		var when int64
		if err := sc.Scan(&id, &n, &model, &u.Input, &u.Output, &u.Cached, &u.Reasoning, &u.Cost, &u.Estimated, &when); err != nil {
			return u, err
		}
		t := place[id]
		i := slices.IndexFunc(t.Steps, func(st TracedStep) bool { return st.N == n })
		if i < 0 {
			t.Steps = append(t.Steps, TracedStep{N: n, StartedAt: at(when), FinishedAt: at(when)})
			i = len(t.Steps) - 1
		}
		t.Steps[i].Model, t.Steps[i].Usage = model, fika.AsBilled(model, u)
		return u, nil
	}, `SELECT request, n, model, input, output, cached, reasoning, cost, estimated > 0, at FROM usage WHERE request IN (`+placeholders(len(ids))+`)`, ids...)
	return err
}

// Cause is a request, or a step of one, that another request came from.
type Cause struct {
	Request fika.RequestID
	Chain   fika.RequestID // of Request
	Step    int            // the tool call that waited for it; 0: none did
}

// Causes returns what requests came from: the tool call that delegated one, the requests
// whose messages brought one about, newest first, else the request that began its chain. A
// request that a person has asked for is missing.
func (s Ledger) Causes(ctx context.Context, requests []RequestInfo) (map[fika.RequestID][]Cause, error) {
	out := map[fika.RequestID][]Cause{}
	var ids []any
	for _, r := range requests {
		ids = append(ids, r.ID)
	}
	for batch := range slices.Chunk(ids, traceBatch) {
		if err := s.causesOf(ctx, batch, out); err != nil {
			return nil, s.explain("read causes", err)
		}
	}
	return out, nil
}

func (s Ledger) causesOf(ctx context.Context, ids []any, out map[fika.RequestID][]Cause) error {
	type caused struct {
		of fika.RequestID
		Cause
	}
	scan := func(sc scanner) (c caused, err error) { return c, sc.Scan(&c.of, &c.Request, &c.Chain, &c.Step) }
	in := `IN (` + placeholders(len(ids)) + `)`
	delegated, err := many(ctx, s.r, scan, `SELECT r.id, p.id, p.chain, COALESCE(s.n, 0) FROM requests r JOIN requests p ON p.id = r.parent
LEFT JOIN steps s ON s.request = p.id AND s.kind = 'tool' WHERE r.id `+in+` AND r.parent <> ''`, ids...)
	if err != nil {
		return err
	}
	for _, c := range delegated {
		switch {
		case ChildID(c.Request, c.Step) == c.of:
			out[c.of] = []Cause{c.Cause}
		case out[c.of] == nil:
			c.Step = 0
			out[c.of] = []Cause{c.Cause}
		}
	}
	mentioned, err := many(ctx, s.r, scan, `SELECT n.request, p.id, p.chain, 0 FROM notifications n JOIN entries e ON e.conversation = n.conversation AND e.seq = n.seq
JOIN requests p ON p.id = e.request WHERE n.request <> '' AND n.request `+in+` AND p.id <> n.request ORDER BY n.request, n.seq DESC`, ids...)
	if err != nil {
		return err
	}
	for _, c := range mentioned {
		if !slices.Contains(out[c.of], c.Cause) {
			out[c.of] = append(out[c.of], c.Cause)
		}
	}
	began, err := many(ctx, s.r, scan, `SELECT r.id, p.id, p.chain, 0 FROM requests r JOIN requests p ON p.id = r.chain WHERE r.id `+in+` AND p.id <> r.id`, ids...)
	for _, c := range began {
		if out[c.of] == nil {
			out[c.of] = []Cause{c.Cause}
		}
	}
	return err
}

// StandsForRun reports whether a request stands for a run of a workflow, so that no
// agent works it.
func StandsForRun(r fika.Request) bool { return r.Agent == flowAgent }

// OfRun returns the requests of a run and of everything that came of them, oldest
// first, without the request that stands for the run itself.
func (s Ledger) OfRun(ctx context.Context, run fika.RequestID) ([]RequestInfo, error) {
	all, err := many(ctx, s.r, scanRequestInfo, selectRequestInfo+` WHERE r.agent <> '`+flowAgent+`'
AND r.n >= COALESCE((SELECT q.n FROM requests q WHERE q.id = ?), 0)
AND r.chain IN (SELECT x.chain FROM requests x JOIN conversations y ON y.id = x.conversation WHERE y.run = ?) ORDER BY r.n`, run, run)
	return all, s.explain("read run", err)
}
