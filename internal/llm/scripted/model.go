package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"fika"
	"fika/internal/llm"
	"fika/internal/system/sleep"
)

// Options configures a scripted model.
type Options struct {
	Rules []byte // a rules file; empty: none, every prompt gets the default answer
	File  string // its name in errors; default "rules.toml"
	Agent string // whose answers to give; empty: the agent that the system prompt names

	Sleep func(ctx context.Context, d time.Duration) error // default: a timer; returns ctx's error if ctx ends first
}

type model struct {
	rules *Rules
	agent string
	sleep func(ctx context.Context, d time.Duration) error
}

// New returns a model that answers from a rules file. Errors are of kind [fika.Invalid].
func New(o Options) (llm.Model, error) {
	if o.File == "" {
		o.File = "rules.toml"
	}
	rules, err := Parse(o.Rules, o.File)
	if err != nil {
		return nil, err
	}
	m := &model{rules: rules, agent: o.Agent, sleep: o.Sleep}
	if m.sleep == nil {
		m.sleep = sleep.For
	}
	return m, nil
}

// Default returns a model without rules: it says that it is scripted, and repeats what
// it was told.
func Default() llm.Model { return &model{rules: &Rules{}, sleep: sleep.For} }

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	s := sceneOf(m.agent, r)
	for i := range m.rules.rules {
		rule := &m.rules.rules[i]
		if v, ok := rule.meetsScene(s); ok {
			return m.playRule(ctx, rule, v, r, emit)
		}
	}
	text, err := m.fallbackText(s)
	if err != nil {
		return llm.Response{}, err
	}
	p := performance{model: m, ctx: ctx, emit: emit}
	if err := p.waitFor(m.rules.delay); err != nil {
		return llm.Response{}, err
	}
	if err := p.sayPiecewise(llm.TextDelta, text, m.rules.chunk, m.rules.pause); err != nil {
		return llm.Response{}, err
	}
	return llm.Response{Text: text, Usage: estimateUsage(r, text)}, nil
}

// fallbackText returns the answer when no rule matches.
func (m *model) fallbackText(s scene) (string, error) {
	v := view{Agent: s.agent, From: s.from, Last: s.last, Round: s.round, Messages: len(s.messages)}
	if n := len(s.results); n > 0 {
		v.Tool, v.Result = s.results[n-1].tool, s.results[n-1].text
	}
	switch {
	case m.rules.fallback != nil:
		return expandTemplate(m.rules.fallback, v, "fallback")
	case v.Tool != "" || len(s.results) > 0:
		return fmt.Sprintf("[scripted answer, no language model] The tool %s said: %s", v.Tool, firstBytes(500, v.Result)), nil
	case s.last == "":
		return "[scripted answer, no language model] I was given nothing to answer.", nil
	}
	return fmt.Sprintf("[scripted answer, no language model] You said: %s", firstBytes(500, s.last)), nil
}

// playRule answers as a rule says.
func (m *model) playRule(ctx context.Context, r *rule, v view, req llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	res, err := r.wholeResponse(v, req)
	if err != nil {
		return llm.Response{}, err
	}
	p := performance{model: m, ctx: ctx, emit: emit}
	if err := p.waitFor(r.delay); err != nil {
		return llm.Response{}, err
	}
	if err := p.sayPiecewise(llm.ReasoningDelta, res.Reasoning, *r.raw.Chunk, r.pause); err != nil {
		return llm.Response{}, err
	}
	if err := p.sayPiecewise(llm.TextDelta, res.Text, *r.raw.Chunk, r.pause); err != nil {
		return llm.Response{}, err
	}
	if e := r.raw.Error; e != nil {
		message := e.Message
		if message == "" {
			message = "an error that the rules ask for"
		}
		return llm.Response{}, fika.Wrap(fika.Provider, "model call", &llm.ProviderError{
			Status: e.Status, Message: fmt.Sprintf("scripted model answered %d: %s", e.Status, message),
			RetryAfter: r.retry, Visible: res.Text != "",
		})
	}
	if r.raw.Stall {
		<-ctx.Done()
		return llm.Response{}, fika.Wrap(fika.Interrupted, "model call", context.Cause(ctx))
	}
	if err := ctx.Err(); err != nil {
		return llm.Response{}, fika.Wrap(fika.Interrupted, "model call", context.Cause(ctx))
	}
	return res, nil
}

// wholeResponse returns the complete response of a rule.
func (r *rule) wholeResponse(v view, req llm.Request) (llm.Response, error) {
	var res llm.Response
	var err error
	if res.Text, err = expandTemplate(r.reply, v, r.where); err != nil {
		return res, err
	}
	if res.Reasoning, err = expandTemplate(r.reasoning, v, r.where); err != nil {
		return res, err
	}
	if res.StopText, err = expandTemplate(r.refusal, v, r.where); err != nil {
		return res, err
	}
	size := res.Text + res.Reasoning
	for i, c := range r.calls {
		args, err := expandArgs(c.args, v, r.where)
		if err != nil {
			return res, err
		}
		raw, err := json.Marshal(args)
		if err != nil {
			return res, fika.Errorf(fika.Invalid, op, "%s: the arguments of %s cannot be written as JSON: %v", r.where, c.name, err)
		}
		res.Calls = append(res.Calls, llm.Call{ID: fmt.Sprintf("scripted_%d_%d", len(req.Messages), i+1), Name: c.name, Args: string(raw)})
		size += string(raw)
	}
	switch {
	case r.raw.Stop != "":
		res.Stop = llm.Stop(r.raw.Stop)
	case res.StopText != "":
		res.Stop = llm.StopRefusal
	case r.raw.Truncated:
		res.Stop = llm.StopLength
	}
	res.MaxTokens = req.MaxTokens
	res.Usage = estimateUsage(req, size)
	if u := r.raw.Usage; u != nil {
		res.Usage = fika.Usage{Input: u.Input, Output: u.Output, Cached: u.Cached, Reasoning: u.Reasoning, Cost: u.Cost}
	}
	return res, nil
}

// estimateUsage counts four bytes as one token.
func estimateUsage(r llm.Request, answer string) fika.Usage {
	in := len(r.System)
	for _, m := range r.Messages {
		in += len(m.Text) + 8
		for _, c := range m.Calls {
			in += len(c.Args) + len(c.Name)
		}
	}
	return fika.Usage{Input: int64(in/4 + 1), Output: int64(len(answer)/4 + 1)}
}

// performance streams one answer.
type performance struct {
	model *model
	ctx   context.Context
	emit  func(llm.Event) error
}

func (p performance) waitFor(d time.Duration) error {
	if err := p.ctx.Err(); err == nil && d <= 0 {
		return nil
	}
	if err := p.model.sleep(p.ctx, d); err != nil {
		return fika.Wrap(fika.Interrupted, "model call", context.Cause(p.ctx))
	}
	return nil
}

func (p performance) sayPiecewise(kind llm.EventKind, text string, size int, pause time.Duration) error {
	for n := 0; text != ""; n++ {
		if n > 0 {
			if err := p.waitFor(pause); err != nil {
				return err
			}
		}
		piece := text
		if size > 0 {
			piece = firstBytes(size, text)
		} else {
			piece = firstWord(text)
		}
		text = text[len(piece):]
		if err := p.emit(llm.Event{Kind: kind, Text: piece}); err != nil {
			return err
		}
	}
	return nil
}

// firstWord returns the first word of text with the white space after it.
func firstWord(text string) string {
	space := false
	for i, r := range text {
		if unicode.IsSpace(r) {
			space = true
		} else if space {
			return text[:i]
		}
	}
	return strings.Clone(text)
}
