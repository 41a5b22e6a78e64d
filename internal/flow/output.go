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
	"fika/internal/workflow"
)

// outputs gives a plan what the store keeps.
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

// planned gives outputs as they are once a plan is stored: what ends with the
// plan, or is put together in it, the store does not have yet.
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
		if r.Parent != row || r.State != workflow.Done || r.From == "" || r.Index >= len(list) {
			continue
		}
		if list[r.Index], err = p.Output(ctx, r.From); err != nil {
			return nil, err
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

// prepare finds out who is asked, and makes the files that are named to them.
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

// withFiles is a prompt with the paths of the files that it names, one for each
// who reads it: an agent reads in its own folder only. A person has a command.
func (a *Advancer) withFiles(ctx context.Context, run fika.RequestID, given Outputs, prompt string, readers []string) (string, error) {
	for _, f := range workflow.FilesIn(prompt) {
		o, err := given.Named(ctx, run, f.Hash)
		if fika.IsKind(err, fika.NotFound) {
			continue // a text that looks like one
		}
		if err != nil {
			return "", err
		}
		where := fmt.Sprintf("what fika workflow output %s STEP shows", run)
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

// maxAnswer bounds the answer of a run; each step's output can be read whole.
const maxAnswer = 1 << 20

// answer is what a run gave, as one text: the output of its one result, or those
// of several, each under the name of its step.
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
			return strings.ToValidUTF8(b.String()[:maxAnswer], "") + "\n… (shortened: fika workflow output shows each step's whole)", nil
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// partText is what a step gave: of a for_each a JSON list, if the items are
// JSON, else one item after the other.
func partText(ctx context.Context, given Outputs, p workflow.Part) (string, error) {
	if !p.Items {
		o, err := given.Output(ctx, p.From)
		return o.Text, err
	}
	items, err := given.Items(ctx, p.From, workflow.MaxList)
	switch {
	case errors.Is(err, workflow.ErrTooMuch): // that is no reason not to end
		return fmt.Sprintf("(more than %d MiB: fika workflow output shows it)", workflow.MaxList>>20), nil
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

// endDiscussions ends the discussions of a run, or of all, that have come to
// their end.
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

// transcript is what was said since the topic.
func (a *Advancer) transcript(ctx context.Context, d store.Discussion) (string, error) {
	said, err := a.opts.Chats.Entries(ctx, store.EntryQuery{Conversation: d.Conversation.ID, Since: 1, Types: []fika.EntryType{fika.Message}})
	var b strings.Builder
	for _, e := range said {
		fmt.Fprintf(&b, "@%s:\n%s\n\n", e.From, e.Content)
	}
	return strings.TrimSpace(b.String()), err
}
