package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fika"
	"fika/internal/text/hint"
	"fika/internal/tool"
)

// Delegate is the tool delegate: it gives another agent a task of its own and
// waits for the answer. The turn does the waiting ([tool.Delegator]).
type Delegate struct {
	Find Find
	// Works returns an error that says why nobody will work the agent's requests, or
	// nil. A nil Works means that somebody will.
	Works func(context.Context, fika.Agent) error
	// MayCall returns an error of kind Denied if self may not ask to. A nil MayCall
	// permits everything.
	MayCall func(ctx context.Context, self, to fika.AgentName) error
	// Default is the deadline of a call without one; Max bounds the others.
	Default, Max time.Duration
	// MaxDepth is how long a chain may grow; 0: no limit.
	MaxDepth int
	Limits   tool.Limits // on an answer, as the model sees it
	// Alone is set where nobody could resume a turn that waits. The tool is not offered
	// then.
	Alone bool
}

// Spec implements [tool.Tool].
func (d *Delegate) Spec() tool.Spec {
	return tool.Spec{
		Name: "delegate",
		Description: "Give another agent a task and wait for its answer. Calls made together run at the same time. " +
			"The agent sees nothing of this conversation: say all it needs.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"agent":{"type":"string"},"prompt":{"type":"string"},` +
			`"deadline":{"type":["string","number"],"description":"seconds, or like 10m"}},"required":["agent","prompt"]}`),
		Checked: true, Effect: fika.Idempotent, Always: true, Hidden: d.Alone,
	}
}

// Call implements [tool.Tool] for turns that cannot wait.
func (d *Delegate) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Errorf("not delegated: a one-shot prompt cannot wait for another agent. Do the work yourself, or send_message and answer without waiting; " +
		"an agent with a process of its own (" + hint.AgentStart.With() + ", or " + hint.AgentRun.With() + ") can delegate"), nil
}

// Delegate implements [tool.Delegator].
func (d *Delegate) Delegate(ctx context.Context, c tool.Call) (tool.Delegation, error) {
	var args struct {
		Agent, Prompt string
		Deadline      json.RawMessage
	}
	var out tool.Delegation
	if err := tool.Decode(d.Spec(), c, &args); err != nil {
		return out, err
	}
	a, err := d.Find(ctx, args.Agent)
	if err != nil {
		return out, err
	}
	out = tool.Delegation{Agent: a.ID, Prompt: args.Prompt, Deadline: d.Default}
	if why := d.whyNotGiven(c, a, args.Prompt); why != "" {
		return out, refusedError("%s", why)
	}
	if d.MayCall != nil {
		if err := d.MayCall(ctx, c.Agent, a.Name); err != nil {
			return out, err
		}
	}
	if d.Works != nil {
		if err := d.Works(ctx, a); err != nil {
			return out, err
		}
	}
	if len(args.Deadline) > 0 {
		if out.Deadline, err = parseDeadline(args.Deadline); err != nil {
			return out, err
		}
	}
	if d.Max > 0 && out.Deadline > d.Max {
		return out, refusedError("the deadline may be at most %s", shortDuration(d.Max))
	}
	return out, nil
}

func refusedError(format string, args ...any) error {
	return fika.Errorf(fika.Invalid, "delegate", "not delegated: "+format, args...)
}

// whyNotGiven returns the reason why a task is not given; empty: there is none. The
// store, which knows the agents that wait for this very work, refuses those.
func (d *Delegate) whyNotGiven(c tool.Call, a fika.Agent, prompt string) string {
	switch {
	case a.Name == c.Agent:
		return "that is you; do it yourself"
	case strings.TrimSpace(prompt) == "":
		return "the prompt is empty"
	case len(prompt) > maxMessage:
		return fmt.Sprintf("the prompt has %d bytes and may have %d; put it into a file and name the file", len(prompt), maxMessage)
	case d.MaxDepth > 0 && c.Depth+1 >= d.MaxDepth:
		return fmt.Sprintf("limit reached (max_depth %d); do it yourself, or answer without it", d.MaxDepth)
	}
	return ""
}

// parseDeadline parses how long a task may take: a number of seconds, or a text such as
// "90" or "1h30m".
func parseDeadline(raw json.RawMessage) (time.Duration, error) {
	text := string(raw)
	var s string
	if json.Unmarshal(raw, &s) == nil {
		text = strings.TrimSpace(s)
	}
	d, err := time.ParseDuration(text)
	if seconds, numErr := strconv.ParseFloat(text, 64); numErr == nil {
		if err = nil; !(seconds >= 1 && seconds <= 1e9) { // nor infinity, nor NaN
			seconds = 0
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	if err != nil {
		return 0, refusedError("the deadline is a number of seconds, or a text like \"90s\" or \"10m\"")
	}
	if !(d >= time.Second) {
		return 0, refusedError("the deadline is how long the task may take, at least one second")
	}
	return d, nil
}

// Report implements [tool.Delegator].
func (d *Delegate) Report(c tool.Call, agent fika.AgentName, task fika.Request) tool.Result {
	if task.State == fika.Done {
		return tool.Shorten(tool.Result{Text: task.Outcome.Answer}, c.Step, d.Limits)
	}
	return tool.Shorten(tool.Errorf(whyNoAnswer(agent, task)), c.Step, d.Limits)
}

// whyNoAnswer says what became of a task that has no answer.
func whyNoAnswer(agent fika.AgentName, task fika.Request) string {
	if task.ID == "" {
		return "the task is gone: it was deleted before it had an answer"
	}
	reason := task.Outcome.Error
	if reason == "" {
		reason = task.Reason
	}
	text := ""
	late := !task.Deadline.IsZero() && (task.State == fika.Cancelled && !task.FinishedAt.Before(task.Deadline) || !task.State.Terminal())
	switch {
	case late:
		text = fmt.Sprintf("@%s had no answer within %s; the task was cancelled at its deadline", agent, shortDuration(task.Deadline.Sub(task.CreatedAt)))
	case task.State == fika.Cancelled:
		text = fmt.Sprintf("@%s has no answer: the task was cancelled (%s)", agent, reason)
	case task.Outcome.ErrorKind == fika.Limit:
		text = fmt.Sprintf("@%s was stopped by a limit: %s", agent, reason)
	case task.State == fika.Dead:
		text = fmt.Sprintf("@%s has no answer: the task was given up after several starts (%s)", agent, reason)
	default:
		text = fmt.Sprintf("@%s failed: %s", agent, reason)
	}
	if task.StartedAt.IsZero() && task.State == fika.Cancelled {
		text += fmt.Sprintf(". It had not begun: @%s is busy or does not run", agent)
	}
	return text + " (request " + string(task.ID) + ")"
}

// shortDuration formats a duration without trailing zeros: 10m, not 10m0s.
func shortDuration(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
