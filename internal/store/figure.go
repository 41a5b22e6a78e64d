package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"fika"
)

// Figures counts what was done. Counts do not fall when rows are removed with age or with
// their conversation: what has been counted is kept as a sum.
//
// Requests and tool calls are counted from their events, in order and each once; the place
// is stored with the sums. Model calls, with tokens and cost, are counted from the ledger:
// rows that are older than an hour are added to the sums, younger ones when they are asked
// for. No row is removed that young.
type Figures struct{ *db }

// FigureName says what a figure counts.
type FigureName string

// The figures. All but the last two groups only grow.
const (
	RequestsEnded  FigureName = "requests"    // by agent and outcome
	RequestTime    FigureName = "request_ms"  // from their start to their end, by agent
	ToolCalls      FigureName = "tool_calls"  // by agent, tool and outcome: ok or error
	ToolTime       FigureName = "tool_ms"     // by agent and tool
	ModelCalls     FigureName = "model_calls" // these six by agent and model
	InputTokens    FigureName = "input"
	CachedTokens   FigureName = "cached" // of those
	OutputTokens   FigureName = "output"
	ReasonedTokens FigureName = "reasoning" // of those
	MicroDollars   FigureName = "cost"

	AgentUp          FigureName = "up"        // its lease is live; these four by agent
	RequestsGoing    FigureName = "going"     // by outcome: open, running, waiting
	ApprovalsOpen    FigureName = "approvals" //
	ApprovalsAgeMS   FigureName = "approval_age_ms"
	EverythingPaused FigureName = "paused"
)

// Figure is a number about an agent, a model or a tool. What it is not about is empty.
type Figure struct {
	Name    FigureName
	Agent   fika.AgentName // [GoneAgent] for all agents that have been deleted
	Model   string
	Tool    string
	Outcome string
	Value   int64
}

const (
	// GoneAgent stands for the agents that do not exist any more.
	GoneAgent fika.AgentName = "(deleted)"
	// OtherTool stands for the tools beyond the first two hundred: a model can call
	// anything a tool.
	OtherTool = "(other)"
	mostTools = 200

	// countedFrom and ledgerUpto are readers in places.
	countedFrom = "figures"
	ledgerUpto  = "ledger"
	// settledAfter is how old a row of the ledger is that is added to the sums: no
	// transaction takes as long, and no clocks of two machines are as far apart.
	settledAfter = time.Hour
	foldRows     = 20_000
)

// AllFigures returns all figures, sorted.
func (s Figures) AllFigures(ctx context.Context) (list []Figure, err error) {
	if err := s.CountNew(ctx); err != nil {
		return nil, err
	}
	err = s.e.snapshot(ctx, func(q querier) (err error) {
		if list, err = countedIn(ctx, q); err != nil {
			return err
		}
		now := s.nowMS()
		for _, part := range []struct {
			text string
			args []any
		}{
			{`SELECT '` + string(AgentUp) + `', a.name, '', '', '', CASE WHEN a.lease_until > ? THEN 1 ELSE 0 END FROM agents a WHERE a.id <> '` + flowAgent + `' ORDER BY a.name`, []any{now}},
			{`SELECT '` + string(RequestsGoing) + `', a.name, '', '', r.state, count(*) FROM requests r JOIN agents a ON a.id = r.agent WHERE r.finished_at = 0 GROUP BY a.name, r.state ORDER BY a.name, r.state`, nil},
			{openApprovals(ApprovalsOpen, `count(*)`), nil},
			{openApprovals(ApprovalsAgeMS, `CAST(? AS BIGINT) - min(p.asked_at)`), []any{now}},
			{`SELECT '` + string(EverythingPaused) + `', '', '', '', '', CASE WHEN m.value = '1' THEN 1 ELSE 0 END FROM meta m WHERE m.key = 'paused_all'`, nil},
		} {
			rows, err := many(ctx, q, scanFigure, part.text, part.args...)
			if err != nil {
				return err
			}
			list = append(list, rows...)
		}
		return nil
	})
	return list, s.explain("read figures", err)
}

// countedIn returns the sums, with what the ledger has beyond them, by the names of agents.
func countedIn(ctx context.Context, q querier) (list []Figure, err error) {
	rows, err := many(ctx, q, scanFigure, `SELECT f.name, f.agent, f.model, f.tool, f.outcome, f.value FROM figures f`)
	if err != nil {
		return nil, err
	}
	upto, _, err := one(ctx, q, scanText, `SELECT place FROM places WHERE reader = ?`, ledgerUpto)
	if err != nil {
		return nil, err
	}
	since, _ := strconv.ParseInt(upto, 10, 64) // without a place: 0
	young, err := ledgerSums(ctx, q, `u.at >= ?`, since)
	if err != nil {
		return nil, err
	}
	agents, err := many(ctx, q, func(sc scanner) (a [2]fika.AgentName, err error) { return a, sc.Scan(&a[0], &a[1]) }, `SELECT a.id, a.name FROM agents a`)
	if err != nil {
		return nil, err
	}
	names := map[fika.AgentName]fika.AgentName{} // by id
	for _, a := range agents {
		names[a[0]] = a[1]
	}
	all := newSums(nil)
	for _, f := range append(rows, young...) {
		if f.Agent = names[f.Agent]; f.Agent == "" {
			f.Agent = GoneAgent
		}
		all.add(f, f.Value)
	}
	for f, n := range all.by {
		f.Value = n
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Figure) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Outcome, b.Outcome))
	})
	return list, nil
}

func scanFigure(sc scanner) (f Figure, err error) {
	return f, sc.Scan(&f.Name, &f.Agent, &f.Model, &f.Tool, &f.Outcome, &f.Value)
}

// openApprovals selects a figure of the questions that wait, by agent.
func openApprovals(name FigureName, what string) string {
	return `SELECT '` + string(name) + `', a.name, '', '', '', ` + what + ` FROM approvals p JOIN requests r ON r.id = p.request JOIN agents a ON a.id = r.agent
WHERE p.state = 'open' AND r.cancel_at = 0 AND r.finished_at = 0 GROUP BY a.name ORDER BY a.name`
}

// ledgerSums returns the figures of a part of the ledger, with agents by their ids. It does
// not name the column of the agent, whose index would be read from end to end.
func ledgerSums(ctx context.Context, q querier, where string, args ...any) (list []Figure, err error) {
	names := []FigureName{ModelCalls, InputTokens, CachedTokens, OutputTokens, ReasonedTokens, MicroDollars}
	_, err = many(ctx, q, func(sc scanner) (f Figure, err error) {
		n := make([]int64, len(names))
		err = sc.Scan(&f.Agent, &f.Model, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5])
		for i, name := range names {
			f.Name, f.Value = name, n[i]
			list = append(list, f)
		}
		return f, err
	}, `SELECT u.agent || '', u.model, count(*), CAST(sum(u.input) AS BIGINT), CAST(sum(u.cached) AS BIGINT), CAST(sum(u.output) AS BIGINT), CAST(sum(u.reasoning) AS BIGINT), CAST(sum(u.cost) AS BIGINT)
FROM usage u WHERE `+where+` GROUP BY 1, 2`, args...)
	return list, err
}

// CountNew adds to the sums what was committed since it was last called. Whoever calls it at
// least once in a while loses nothing: events are kept for a week.
func (s Figures) CountNew(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = s.countEvents(ctx); err != nil {
			return s.explain("count", err)
		}
	}
	for more := true; more; {
		var err error
		if more, err = s.countLedger(ctx); err != nil {
			return s.explain("count", err)
		}
	}
	return nil
}

// countPage is how many events one transaction counts.
const countPage = 2000

// countEvents counts the next events, and reports whether there may be more.
func (s Figures) countEvents(ctx context.Context) (more bool, err error) {
	before, found, err := one(ctx, s.r, scanText, `SELECT place FROM places WHERE reader = ?`, countedFrom)
	if err != nil {
		return false, err
	}
	if !found {
		before = Cursor{}.String()
	}
	from, err := ParseCursor(before)
	if err != nil {
		return false, err
	}
	tail := Events(s).Tail(from)
	list, err := tail.Next(ctx, countPage, false)
	if errors.Is(err, ErrReset) { // older ones were removed before they were counted
		tail = Events(s).Tail(Cursor{})
		list, err = tail.Next(ctx, countPage, false)
	}
	if err != nil || len(list) == 0 {
		return false, err
	}
	tools, err := many(ctx, s.r, scanText, `SELECT DISTINCT tool FROM figures WHERE name = ?`, ToolCalls)
	if err != nil {
		return false, err
	}
	sums := newSums(tools)
	for _, e := range list {
		sums.count(e)
	}
	err = s.writeRelaxed(ctx, "count events", func(ctx context.Context, t *tx) error {
		if moved, err := figuresIn(t).move(ctx, countedFrom, before, tail.Cursor().String()); err != nil || !moved {
			return err
		}
		return figuresIn(t).add(ctx, sums)
	})
	return len(list) == countPage, err
}

// countLedger adds settled rows of the ledger to the sums, and reports whether there may be
// more.
func (s Figures) countLedger(ctx context.Context) (more bool, err error) {
	before, found, err := one(ctx, s.r, scanText, `SELECT place FROM places WHERE reader = ?`, ledgerUpto)
	if err != nil {
		return false, err
	}
	if !found {
		before = "0"
	}
	since, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return false, fika.Errorf(fika.Storage, "", "the place of the ledger is damaged: %v", err)
	}
	upto := s.nowMS() - settledAfter.Milliseconds()
	if upto-since < settledAfter.Milliseconds() {
		return false, nil
	}
	far, more, err := one(ctx, s.r, scanInt, `SELECT u.at FROM usage u WHERE u.at > ? AND u.at < ? ORDER BY u.at LIMIT 1 OFFSET `+strconv.Itoa(foldRows), since, upto)
	if err != nil {
		return false, err
	}
	if more {
		upto = far
	}
	return more, s.writeRelaxed(ctx, "count ledger", func(ctx context.Context, t *tx) error {
		if moved, err := figuresIn(t).move(ctx, ledgerUpto, before, strconv.FormatInt(upto, 10)); err != nil || !moved {
			return err
		}
		rows, err := ledgerSums(ctx, t, `u.at >= ? AND u.at < ?`, since, upto)
		if err != nil {
			return err
		}
		sums := newSums(nil)
		for _, f := range rows {
			sums.add(f, f.Value)
		}
		return figuresIn(t).add(ctx, sums)
	})
}

// sums are figures by what they are about, with agents by their ids.
type sums struct {
	by    map[Figure]int64 // the key has no value
	tools map[string]bool  // that figures have
}

func newSums(tools []string) sums {
	out := sums{map[Figure]int64{}, map[string]bool{}}
	for _, name := range tools {
		out.tools[name] = true
	}
	return out
}

func (s sums) add(f Figure, n int64) {
	f.Value = 0
	s.by[f] += n
}

// count counts an event, if it is one that counts.
func (s sums) count(e Event) {
	var d EventData
	if e.Kind != RequestEvent && e.Kind != StepEvent || e.Data != nil && json.Unmarshal(e.Data, &d) != nil {
		return
	}
	agent := fika.AgentName(e.Agent)
	switch {
	case e.Kind == RequestEvent && fika.RequestState(e.State).Terminal():
		s.add(Figure{Name: RequestsEnded, Agent: agent, Outcome: e.State}, 1)
		s.add(Figure{Name: RequestTime, Agent: agent}, d.MS)
	case e.Kind == StepEvent && d.Tool != "" && d.OK != nil:
		tool, outcome := d.Tool, "ok"
		if !s.tools[tool] {
			if len(s.tools) >= mostTools {
				tool = OtherTool
			}
			s.tools[tool] = true
		}
		if !*d.OK {
			outcome = "error"
		}
		s.add(Figure{Name: ToolCalls, Agent: agent, Tool: tool, Outcome: outcome}, 1)
		s.add(Figure{Name: ToolTime, Agent: agent, Tool: tool}, d.MS)
	}
}

// figureRows writes sums.
type figureRows struct{ *tx }

func figuresIn(t *tx) figureRows { return figureRows{t} }

// move moves a reader from one place to the next, and reports false, with nothing to
// write, if another process has moved it meanwhile.
func (t figureRows) move(ctx context.Context, reader, from, to string) (bool, error) {
	if err := t.put(ctx, `INSERT INTO places (reader, place, at) VALUES (?, '0', ?) ON CONFLICT DO NOTHING`, reader, t.now); err != nil {
		return false, err
	}
	n, err := t.exec(ctx, `UPDATE places SET place = ?, at = ? WHERE reader = ? AND place = ?`, to, t.now, reader, from)
	t.discard = n == 0
	return n == 1 && err == nil, err
}

func (t figureRows) add(ctx context.Context, s sums) error {
	for f, n := range s.by {
		if err := t.put(ctx, `INSERT INTO figures (name, agent, model, tool, outcome, value) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name, agent, model, tool, outcome) DO UPDATE SET value = figures.value + excluded.value`, f.Name, f.Agent, f.Model, f.Tool, f.Outcome, n); err != nil {
			return err
		}
	}
	return nil
}
