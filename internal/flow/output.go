package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// outputs gives a plan what the store keeps. A text that is too long for a
// prompt is its beginning, and the name of a file with all of it, which is made
// for whoever gets the prompt.
type outputs struct {
	ctx   context.Context
	store Outputs
}

// Output implements [workflow.Outputs].
func (o outputs) Output(row string) (workflow.Output, error) {
	out, err := o.store.Output(o.ctx, row)
	return shortened(out), err
}

// Items implements [workflow.Outputs].
func (o outputs) Items(row string) ([]workflow.Output, error) {
	list, err := o.store.Items(o.ctx, row, workflow.MaxList)
	out := make([]workflow.Output, len(list))
	for i := range list {
		out[i] = shortened(list[i])
	}
	return out, err
}

// shortened is an output as prompts get it.
func shortened(o store.RunOutput) workflow.Output {
	if o.JSON || len(o.Text) <= workflow.MaxText {
		return workflow.Output{Text: o.Text, JSON: o.JSON}
	}
	return workflow.Output{
		Text: strings.ToValidUTF8(o.Text[:workflow.MaxText], ""), File: fileOf(o), Bytes: len(o.Text),
	}
}

// fileOf names the file of an output until it is known who gets it.
func fileOf(o store.RunOutput) string { return outputFile + o.Hash + outputEnding }

const (
	outputFile   = "workflow-output-"
	outputEnding = ".txt"
	hashLength   = 32
)

// filesIn are the files that a prompt names, each once.
func filesIn(prompt string) []string {
	var out []string
	for _, rest := range strings.Split(prompt, outputFile)[1:] {
		if len(rest) > hashLength && strings.HasPrefix(rest[hashLength:], outputEnding) {
			out = append(out, outputFile+rest[:hashLength]+outputEnding)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prepare finds out who is asked, and makes the files that are named to them.
func (a *Advancer) prepare(ctx context.Context, p *workflow.Plan) error {
	for i := range p.Calls {
		c := &p.Calls[i]
		if c.Kind == workflow.KindAgent && c.Agent == "" {
			c.Agent = a.opts.Capable(ctx, c.Capability, c.Prompt)
		}
		if c.Kind != workflow.KindAgent || c.Agent == "" {
			continue
		}
		var err error
		if c.Prompt, err = a.withFiles(ctx, *c); err != nil {
			return err
		}
	}
	return nil
}

// withFiles is the prompt of a call with the paths of files that are there.
func (a *Advancer) withFiles(ctx context.Context, c workflow.Call) (string, error) {
	prompt := c.Prompt
	for _, name := range filesIn(prompt) {
		text, found, err := a.sourceOf(ctx, c.Sources, name)
		if err != nil {
			return "", err
		}
		if !found {
			continue // a text that looks like one
		}
		path, err := a.opts.Keep(fika.AgentName(c.Agent), name, text)
		if err != nil {
			return "", err
		}
		prompt = strings.ReplaceAll(prompt, name, path)
	}
	return prompt, nil
}

// sourceOf finds the text of a file among what a prompt was made of.
func (a *Advancer) sourceOf(ctx context.Context, sources []string, name string) (text string, found bool, err error) {
	for _, row := range sources {
		o, err := a.opts.Store.Output(ctx, row)
		if err == nil && fileOf(o) == name {
			return o.Text, true, nil
		}
		if !fika.IsKind(err, fika.NotFound) && err != nil {
			return "", false, err
		}
		items, err := a.opts.Store.Items(ctx, row, workflow.MaxList)
		if err != nil {
			return "", false, err
		}
		for _, o := range items {
			if fileOf(o) == name {
				return o.Text, true, nil
			}
		}
	}
	return "", false, nil
}

// maxAnswer bounds the answer of a run; each step's output can be read whole.
const maxAnswer = 1 << 20

// answer is what a run gave, as one text: the output of its one result, or those
// of several, each under the name of its step.
func (a *Advancer) answer(ctx context.Context, r workflow.Result) (string, error) {
	var b strings.Builder
	done := slices.DeleteFunc(slices.Clone(r.Parts), func(p workflow.Part) bool { return p.State != workflow.Done || p.From == "" })
	for _, p := range done {
		text, err := a.partText(ctx, p)
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
func (a *Advancer) partText(ctx context.Context, p workflow.Part) (string, error) {
	if !p.Items {
		o, err := a.opts.Store.Output(ctx, p.From)
		return o.Text, err
	}
	items, err := a.opts.Store.Items(ctx, p.From, maxAnswer)
	if err != nil {
		return err.Error(), nil // it is too much: that is no reason not to end
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
	list, err := a.opts.Store.Discussions(ctx, run)
	if err != nil {
		return err
	}
	for _, d := range list {
		over, err := d.Call.Over(d.Discussion)
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
		ring, err := a.opts.Store.EndDiscussion(ctx, d, text)
		if err != nil {
			return err
		}
		a.opts.Wake(ring...)
	}
	return nil
}

// transcript is what was said since the topic.
func (a *Advancer) transcript(ctx context.Context, d store.Discussion) (string, error) {
	said, err := a.opts.Store.Entries(ctx, store.EntryQuery{Conversation: d.Conversation.ID, Since: 1, Types: []fika.EntryType{fika.Message}})
	var b strings.Builder
	for _, e := range said {
		fmt.Fprintf(&b, "@%s:\n%s\n\n", e.From, e.Content)
	}
	return strings.TrimSpace(b.String()), err
}
