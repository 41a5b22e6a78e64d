package peer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/tool"
	"fika/internal/tool/tooltest"
)

// flows has one workflow, with one input, which may take two minutes.
type flows struct{}

func (flows) Workflow(_ context.Context, _ tool.Call, name string, inputs map[string]string) (tool.Run, time.Duration, error) {
	switch {
	case name != "build":
		return tool.Run{}, 0, fika.Errorf(fika.NotFound, "", "workflow %q not found", name)
	case inputs["what"] == "":
		return tool.Run{}, 0, fika.Errorf(fika.Invalid, "", "what is missing")
	}
	return tool.Run{Name: name, Title: fmt.Sprint(inputs)}, 2 * time.Minute, nil
}

func runner() *RunWorkflow {
	return &RunWorkflow{Workflows: flows{}, MaxDepth: 5, Limits: tool.Limits{Head: 40, Tail: 40}}
}

func TestRunWorkflowKeepsTheContract(t *testing.T) {
	tooltest.Run(t, tooltest.Case{Tool: runner(), Bad: []string{`{"name":"build","inputs":{"what":"x"}}`}}) // a one-shot prompt cannot wait
	if !(&RunWorkflow{}).Spec().Hidden || runner().Spec().Hidden {
		t.Error("it is offered where there are no workflows, or not where there are")
	}
}

func TestARunSaysWhatAndHowLong(t *testing.T) {
	d, err := runner().Delegate(t.Context(), callOf(`{"name":"build","inputs":{"what":"a\nb","list":["x","y"],"n":3}}`))
	if err != nil || d.Deadline != 2*time.Minute || d.Run.Title != "map[list:[\"x\",\"y\"] n:3 what:a\nb]" {
		t.Errorf("%+v, %v", d, err)
	}
	deep := callOf(`{"name":"build","inputs":{"what":"x"}}`)
	deep.Depth = 4
	for words, c := range map[string]tool.Call{
		`workflow "nothing" not found`:                    callOf(`{"name":"nothing"}`),
		"what is missing":                                 callOf(`{"name":"build"}`),
		`"build" is not run: limit reached (max_depth 5)`: deep,
		"name":   callOf(`{"inputs":{}}`),
		"inputs": callOf(`{"name":"build","inputs":"what=x"}`),
		"author": callOf(`{"name":"build","inputs":{"what":"x"},"author":"anna"}`),
	} {
		if _, err := runner().Delegate(t.Context(), c); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got %v", words, err)
		}
	}
}

func TestReportsSayWhatCameOfARun(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, q := range map[string]fika.Request{
		"the run r1 is failed: the step one failed: no key":         {ID: "r1", State: fika.RequestFailed, Reason: "the step one failed: no key"},
		"the run r1 is cancelled: enough":                           {ID: "r1", State: fika.Cancelled, Reason: "enough"},
		"the run r1 was stopped by a limit: 200 turns":              {ID: "r1", State: fika.RequestFailed, Outcome: fika.Outcome{Error: "200 turns", ErrorKind: fika.Limit}},
		"the run r1 had no result within 1h and is being cancelled": {ID: "r1", State: fika.Running, CreatedAt: begun, Deadline: begun.Add(time.Hour)},
		"the run is gone: it was deleted before it had a result":    {},
	} {
		r := (&RunWorkflow{}).Report(tool.Call{}, "workflow", q)
		if !r.IsError || r.Text != want {
			t.Errorf("%q, want %q", r.Text, want)
		}
	}
	if r := (&RunWorkflow{}).Report(tool.Call{}, "workflow", fika.Request{ID: "r1", State: fika.Done, Outcome: fika.Outcome{Answer: "built"}}); r.IsError || r.Text != "built" {
		t.Errorf("%+v", r)
	}
}
