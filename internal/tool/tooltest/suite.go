package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fika"
	"fika/internal/system/process"
	"fika/internal/tool"
)

// Case is a tool and examples of how to call it.
type Case struct {
	Tool tool.Tool
	// Good holds arguments that give a result without IsError, in the workspace.
	Good []string
	// Bad holds arguments that give a result with IsError, besides those that the suite
	// makes itself.
	Bad []string
	// Slow holds the arguments of a call that would take minutes; "": no call is slow.
	Slow string
	// Workspace is the folder of the calls; "": a new one.
	Workspace string
	// MaxText bounds a result; 0: 64 KiB.
	MaxText int
}

// promptly is how soon a call must end after its context: it covers TERM, the grace of
// two seconds and a slow machine.
const promptly = time.Minute

// Run runs the suite on c.
func Run(t *testing.T, c Case) {
	t.Helper()
	if c.Workspace == "" {
		c.Workspace = t.TempDir()
	}
	if c.MaxText == 0 {
		c.MaxText = 64 << 10
	}
	t.Run("spec", c.spec)
	t.Run("good", c.good)
	t.Run("bad", c.bad)
	t.Run("ended context", c.ended)
	if c.Slow != "" {
		t.Run("cancel", c.cancel)
	}
}

func (c Case) call(t *testing.T, args string) tool.Call {
	t.Helper()
	return tool.Call{
		Step: strings.ReplaceAll(t.Name(), " ", "_") + "/1", Name: c.Tool.Spec().Name,
		Args: json.RawMessage(args), Workspace: c.Workspace, Agent: "tester",
	}
}

func (c Case) spec(t *testing.T) {
	s := c.Tool.Spec()
	if s.Name == "" || s.Description == "" {
		t.Errorf("a tool needs a name and a description: %+v", s)
	}
	var schema struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(s.Parameters, &schema); err != nil || schema.Type != "object" {
		t.Errorf("parameters are no schema of an object (%v): %s", err, s.Parameters)
	}
	var compact bytes.Buffer
	if s.Checked && (json.Compact(&compact, s.Parameters) != nil || !bytes.Equal(compact.Bytes(), s.Parameters)) {
		t.Errorf("parameters are not in the spelling in which they are sent: %s", s.Parameters)
	}
	if _, ok := tool.VerifierOf(c.Tool); ok != (s.Effect == fika.Verifiable) {
		t.Errorf("effect %q, but it verifies: %v", s.Effect, ok)
	}
}

func (c Case) good(t *testing.T) {
	for _, args := range c.Good {
		r, err := c.Tool.Call(t.Context(), c.call(t, args))
		if err != nil || r.IsError {
			t.Errorf("%s: %v, %q", args, err, r.Text)
		}
		c.checkText(t, args, r)
	}
}

func (c Case) bad(t *testing.T) {
	made := []string{`[]`, `"text"`, `null`, `1`, `{`, `{}x`, ``, `{"no_such_argument_zzz":1}`, strings.Repeat("[", 100_000), "{\"\xff\":\"\xfe\"}"}
	var schema struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(c.Tool.Spec().Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	for name := range schema.Properties {
		made = append(made, `{"`+name+`":{"a":[1]}}`)
	}
	for _, args := range append(made, c.Bad...) {
		if args == "" && len(schema.Required) == 0 {
			continue // then no arguments at all are valid
		}
		r, err := c.Tool.Call(t.Context(), c.call(t, args))
		if err != nil || !r.IsError || r.Text == "" {
			t.Errorf("%.60s: want a result with IsError and words, got %+v, %v", args, r, err)
		}
		c.checkText(t, args, r)
	}
}

func (c Case) checkText(t *testing.T, args string, r tool.Result) {
	t.Helper()
	if !utf8.ValidString(r.Text) {
		t.Errorf("%.60s: the result is not UTF-8: %q", args, r.Text)
	}
	if len(r.Text) > c.MaxText {
		t.Errorf("%.60s: the result has %d bytes, %d is the most", args, len(r.Text), c.MaxText)
	}
}

// ended checks that a call whose context has already ended does not hang: it does
// nothing, or only what it can do at once.
func (c Case) ended(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := c.Slow
	if args == "" && len(c.Good) > 0 {
		args = c.Good[0]
	}
	_, err := c.Tool.Call(ctx, c.call(t, args))
	if err != nil && !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("want kind Interrupted, got %v", err)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the context's error is not in %v", err)
	}
}

func (c Case) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := c.call(t, c.Slow)
	started := make(chan fika.Process, 16)
	call.Started = func(p fika.Process) { started <- p }
	type outcome struct {
		r   tool.Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := c.Tool.Call(ctx, call)
		done <- outcome{r, err}
	}()
	var p fika.Process
	select {
	case p = <-started:
	case <-time.After(200 * time.Millisecond): // a tool without a process
	case o := <-done:
		t.Fatalf("the slow call was not slow: %+v", o)
	}
	cancel()
	select {
	case o := <-done:
		if !fika.IsKind(o.err, fika.Interrupted) {
			t.Errorf("want kind Interrupted, got %+v", o)
		}
	case <-time.After(promptly):
		t.Fatalf("still running %s after its context ended", promptly)
	}
	if process.Alive(p) {
		t.Errorf("process %d is left", p.PID)
	}
	NoProcess(t, call.Step)
}

// NoProcess fails the test if a process that carries the mark of step still runs, and
// ends that process.
func NoProcess(t *testing.T, step string) {
	t.Helper()
	if n := process.EndMarked(step); n > 0 {
		t.Errorf("%d processes of step %s were left", n, step)
	}
}
