package llmtest

import (
	"context"
	"errors"
	"strings"

	"fika/internal/llm"
)

// FromModel returns a Handler that answers requests with a model, for example a scripted
// one, so that its answers travel over a real wire. Nothing is sent before the model is
// done.
func FromModel(m llm.Model) Handler {
	return func(r Request) Script {
		var script Script
		res, err := m.Generate(context.Background(), llm.Request{System: r.System, Messages: r.Messages, Tools: r.Tools, MaxTokens: r.MaxTokens},
			func(e llm.Event) error {
				switch e.Kind {
				case llm.TextDelta:
					script = append(script, Text(e.Text))
				case llm.ReasoningDelta:
					script = append(script, Reasoning(e.Text))
				}
				return nil
			})
		if err != nil {
			return append(script, failed(err, len(script) > 0)...)
		}
		for _, c := range res.Calls {
			script = append(script, Call(c.ID, c.Name, c.Args))
		}
		switch res.Stop {
		case llm.StopRefusal:
			script = append(script, Refusal(res.StopText))
		case llm.StopLength:
			script = append(script, Stop(map[Wire]string{OpenAI: "length", Anthropic: "max_tokens"}[r.Wire]))
		}
		u := res.Usage
		return append(script, UsageOf(u.Input, u.Output, u.Cached, u.Reasoning, float64(u.Cost)/1e6))
	}
}

// failed passes a model's error on: as an HTTP status, or as a cut if the answer has
// begun or a provider's error has no status.
func failed(err error, begun bool) Script {
	var p *llm.ProviderError
	switch {
	case begun:
		return Script{Cut()}
	case errors.As(err, &p) && p.Status >= 400:
		return Script{Status(p.Status, strings.TrimSpace(p.Message), p.RetryAfter)}
	case errors.As(err, &p):
		return Script{Cut()}
	}
	return Script{Status(500, err.Error(), 0)}
}
