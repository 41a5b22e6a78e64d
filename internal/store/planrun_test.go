package store

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/workflow"
)

// noOutputs are the outputs of a run whose prompts read none.
type noOutputs struct{}

func (noOutputs) Output(string) (workflow.Output, error)  { return workflow.Output{}, nil }
func (noOutputs) Items(string) ([]workflow.Output, error) { return nil, nil }

// ofAll matches steps of a plan that read all rows of a run. Scans of indexes with
// few rows do not match, nor do lookups of single rows.
var ofAll = regexp.MustCompile(`^SCAN (s|i|g|o|flow_\w+)\b|autoindex_flow_steps_2 \(run=\?\)|autoindex_flow_outputs_1 \(run=\?\)`)

// Runs keeps the cost of advancing a run independent of the work done in it: neither
// the number of statements, which count on a server, nor the number of rows that they
// read grows.
func (d *texts) Runs(t *testing.T, s *Store) {
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.EnsureAgent(ctx, NewAgent{Name: "a"})
	ok(err)
	lease, err := s.Acquire(ctx, a.ID, "test", time.Hour, true)
	ok(err)
	def, err := workflow.Load("test", "test.toml", []byte("[[steps]]\nid='each'\nagent='a'\nfor_each='1..10000'\nmax_parallel=5\nprompt='{{.item}}'\n"), workflow.Known{})
	ok(err)
	frozen, err := def.Freeze()
	ok(err)
	r, err := s.Start(ctx, NewRun{Name: "test", Definition: frozen, Inputs: []byte("{}"), From: "ann", Title: "test"})
	ok(err)
	lists := map[string][]any{}
	rows := 0
	advance := func() {
		for {
			v, err := s.View(ctx, r.ID)
			ok(err)
			rows = len(v.Rows)
			p, err := workflow.NextPlan(workflow.View{Run: string(r.ID), Definition: def, Inputs: map[string]any{}, Rows: v.Rows, Outputs: noOutputs{}, Lists: lists, Now: v.Now, Max: 100})
			ok(err)
			if len(p.Rows) == 0 && !p.More && !v.Due {
				return
			}
			_, err = s.Apply(ctx, v, p, Answer{})
			ok(err)
		}
	}
	item := func() {
		c, err := s.Claim(ctx, lease, Limits{MaxTurns: 200, MaxDepth: 100}, nil)
		ok(err)
		_, err = s.Finish(ctx, c.Fence, Finish{State: fika.Done, Final: &ModelCommit{Round: 1, Text: "done", Model: "m"}})
		ok(err)
		advance()
		for _, of := range []fika.RequestID{"", r.ID} {
			_, err = s.Due(ctx, of, 10)
			ok(err)
		}
	}
	advance()
	cost := func(items int) (statements, seen int) {
		from := d.asked()
		for range items {
			item()
			seen += rows
		}
		return d.asked() - from, seen
	}
	cost(5)
	early, seenEarly := cost(10)
	cost(40)
	late, seenLate := cost(10)
	if late > early || seenLate > seenEarly {
		t.Errorf("10 steps after 55 take %d statements and look at %d rows, after 5 %d and %d", late, seenLate, early, seenEarly)
	}
	for _, text := range d.statements() {
		if s.db.file == nil || !strings.Contains(text, "flow_") {
			continue
		}
		for _, step := range plan(t, s, text) {
			if ofAll.MatchString(step) && !strings.Contains(text, "INSERT INTO flow_") {
				t.Errorf("%s: %s", step, text)
			}
		}
	}
}
