package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/workflow"
)

// outputs gives a plan access to the outputs in the store.
type outputs struct {
	ctx   context.Context
	store Outputs
}

// Output implements [workflow.Outputs].
func (o outputs) Output(row string) (workflow.Output, error) { return o.store.Output(o.ctx, row) }

// Items implements [workflow.Outputs].
func (o outputs) Items(row string) ([]workflow.Output, error) {
	return o.store.Items(o.ctx, row, workflow.MaxList)
}

// planned gives access to the outputs as they will be once a plan is stored: the
// store does not have those yet that end with the plan or are assembled in it.
type planned struct {
	Outputs
	plan workflow.Plan
}

// Output implements [Outputs].
func (p planned) Output(ctx context.Context, row string) (workflow.Output, error) {
	for _, o := range p.plan.Outputs {
		if o.Row == row {
			return o.Output, nil
		}
	}
	return p.Outputs.Output(ctx, row)
}

// Items implements [Outputs].
func (p planned) Items(ctx context.Context, row string, most int) ([]workflow.Output, error) {
	list, err := p.Outputs.Items(ctx, row, most)
	if err != nil {
		return nil, err
	}
	for _, r := range p.plan.Rows {
		switch {
		case r.Parent != row || !r.State.Ended() || r.Index >= len(list):
		case r.State != workflow.Done:
			list[r.Index] = workflow.Output{Error: r.Why()}
		case r.From != "":
			if list[r.Index], err = p.Output(ctx, r.From); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// Named implements [Outputs].
func (p planned) Named(ctx context.Context, run fika.RequestID, hash string) (workflow.Output, error) {
	for _, o := range p.plan.Outputs {
		if o.Hash() == hash {
			return o.Output, nil
		}
	}
	return p.Outputs.Named(ctx, run, hash)
}

// prepare finds the agents for calls and writes the files that the prompts name.
func (a *Advancer) prepare(ctx context.Context, run fika.RequestID, given Outputs, calls []workflow.Call) error {
	for i := range calls {
		c := &calls[i]
		var readers []string
		switch c.Kind {
		case workflow.KindAgent:
			if c.Agent == "" {
				c.Agent = a.opts.Capable(ctx, c.Capability, c.Prompt)
			}
			if c.Agent == "" {
				continue
			}
			readers = []string{c.Agent}
		case workflow.KindChat:
			readers = c.Chat.Agents
		}
		var err error
		if c.Prompt, err = a.withFiles(ctx, run, given, c.Prompt, readers); err != nil {
			return err
		}
	}
	return nil
}

// refuse marks the calls of agents that the agent which began the run may not ask itself.
func (a *Advancer) refuse(ctx context.Context, from fika.AgentName, calls []workflow.Call) {
	for i := range calls {
		c := &calls[i]
		names := []string{c.Agent}
		if c.Kind == workflow.KindChat {
			names = c.Chat.Agents
		}
		for _, name := range names {
			if name != "" && name != string(from) && c.Refused == "" {
				c.Refused = a.opts.MayAsk(ctx, from, fika.AgentName(name))
			}
		}
	}
}

// withFiles returns a prompt with the paths of the files that it names, one path for
// each reader, because an agent reads only in its own folder. A person gets a command
// instead.
func (a *Advancer) withFiles(ctx context.Context, run fika.RequestID, given Outputs, prompt string, readers []string) (string, error) {
	for _, f := range workflow.FilesIn(prompt) {
		o, err := given.Named(ctx, run, f.Hash)
		if fika.IsKind(err, fika.NotFound) {
			continue // a text that only looks like a file name
		}
		if err != nil {
			return "", err
		}
		where := fmt.Sprintf("what %s %s STEP shows", hint.WorkflowOutput.With(), run)
		for i, name := range readers {
			path, err := a.opts.Keep(fika.AgentName(name), f.Name, o.Text)
			switch {
			case err != nil:
				return "", err
			case i == 0:
				where = path
			default:
				where += " or " + path
			}
		}
		prompt = strings.ReplaceAll(prompt, f.Name, where)
	}
	return prompt, nil
}

// maxAnswer bounds the answer of a run; the output of each step can be read in full.
const maxAnswer = 1 << 20

// answer returns the result of a run as one text: the output of its one result, or of
// several, each under the name of its step.
func answer(ctx context.Context, given Outputs, r workflow.Result) (string, error) {
	var b strings.Builder
	done := slices.DeleteFunc(slices.Clone(r.Parts), func(p workflow.Part) bool { return p.State != workflow.Done || p.From == "" })
	for _, p := range done {
		text, err := partText(ctx, given, p)
		if err != nil {
			return "", err
		}
		if len(r.Parts) > 1 {
			fmt.Fprintf(&b, "## %s\n\n", p.Step)
		}
		b.WriteString(text)
		b.WriteString("\n\n")
		if b.Len() > maxAnswer {
			return strings.ToValidUTF8(b.String()[:maxAnswer], "") + "\n… (shortened: " + hint.WorkflowOutput.With() + " shows each step's whole)", nil
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// partText returns the output of a step. That of a for_each is a JSON list if the
// items are JSON, else one item after the other.
func partText(ctx context.Context, given Outputs, p workflow.Part) (string, error) {
	if !p.Items {
		o, err := given.Output(ctx, p.From)
		return o.Text, err
	}
	items, err := given.Items(ctx, p.From, workflow.MaxList)
	switch {
	case errors.Is(err, workflow.ErrTooMuch): // this must not keep the run from ending
		return fmt.Sprintf("(more than %d MiB: %s shows it)", workflow.MaxList>>20, hint.WorkflowOutput.With()), nil
	case err != nil:
		return "", err
	}
	asJSON := len(items) > 0
	texts := make([]string, len(items))
	values := make([]json.RawMessage, len(items))
	for i, o := range items {
		asJSON = asJSON && o.JSON
		texts[i], values[i] = o.Text, json.RawMessage(o.Text)
	}
	if asJSON {
		data, err := json.Marshal(values)
		return string(data), err
	}
	return strings.Join(texts, "\n\n"), nil
}

// endDiscussions ends the discussions of a run, or of all runs if run is empty, that
// are over.
func (a *Advancer) endDiscussions(ctx context.Context, run fika.RequestID) error {
	list, err := a.opts.Chats.Discussions(ctx, run)
	if err != nil {
		return err
	}
	for _, d := range list {
		over, err := d.Call.IsOver(d.Discussion)
		if err != nil {
			a.opts.Log.Warn("discussion", "chat", d.Conversation.Name, "err", err)
		}
		if !over && err == nil {
			continue
		}
		text, err := a.transcript(ctx, d)
		if err != nil {
			return err
		}
		woken, err := a.opts.Chats.EndDiscussion(ctx, d, text)
		if err != nil {
			return err
		}
		a.opts.Wake(woken...)
	}
	return nil
}

// transcript returns everything said since the topic.
func (a *Advancer) transcript(ctx context.Context, d store.Discussion) (string, error) {
	said, err := a.opts.Chats.Entries(ctx, store.EntryQuery{Conversation: d.Conversation.ID, Since: 1, Types: []fika.EntryType{fika.Message}})
	var b strings.Builder
	for _, e := range said {
		fmt.Fprintf(&b, "@%s:\n%s\n\n", e.From, e.Content)
	}
	return strings.TrimSpace(b.String()), err
}
