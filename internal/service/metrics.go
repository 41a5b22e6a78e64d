package service

import (
	"context"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/store"
)

// measure is a figure of the store as a metric.
type measure struct {
	figure  store.FigureName
	name    string
	help    string
	counter bool
	per     float64 // of the figure make one of the metric
}

func measures() []measure {
	counter := func(figure store.FigureName, name, help string, per float64) measure {
		return measure{figure, name, help, true, per}
	}
	gauge := func(figure store.FigureName, name, help string, per float64) measure {
		return measure{figure, name, help, false, per}
	}
	return []measure{
		counter(store.RequestsEnded, "fika_requests_total", "Requests that have ended, by agent and outcome.", 1),
		counter(store.RequestTime, "fika_request_seconds_total", "Time from the start of requests to their end, waiting included.", 1e3),
		counter(store.ToolCalls, "fika_tool_calls_total", "Tool calls that have ended, by agent, tool and outcome (ok, error).", 1),
		counter(store.ToolTime, "fika_tool_seconds_total", "Time that tool calls took.", 1e3),
		counter(store.ModelCalls, "fika_model_calls_total", "Calls of models that used tokens, by agent and model.", 1),
		counter(store.InputTokens, "fika_input_tokens_total", "Tokens sent to models, cached ones included.", 1),
		counter(store.CachedTokens, "fika_cached_tokens_total", "Tokens sent to models that were read from a cache.", 1),
		counter(store.OutputTokens, "fika_output_tokens_total", "Tokens that models wrote, reasoning included.", 1),
		counter(store.ReasonedTokens, "fika_reasoning_tokens_total", "Tokens of reasoning that models wrote.", 1),
		counter(store.MicroDollars, "fika_cost_dollars_total", "Cost of model calls in US dollars, where prices are known.", 1e6),
		gauge(store.AgentUp, "fika_agent_up", "Whether the agent's process is alive.", 1),
		gauge(store.RequestsGoing, "fika_requests", "Requests that have not ended: open, running or waiting.", 1),
		gauge(store.ApprovalsOpen, "fika_approvals", "Tool calls and steps that wait for a person.", 1),
		gauge(store.ApprovalsAgeMS, "fika_approval_age_seconds", "How long the oldest of those has waited.", 1e3),
		gauge(store.EverythingPaused, "fika_paused", "Whether everything is paused.", 1),
	}
}

// metrics returns the figures that may be seen. A program sees those of the agents that its
// token is for, at the door that is made for it; agents see none.
func (v *sight) metrics(ctx context.Context) ([]store.Figure, error) {
	return atMost(v, 0, func(int, int, store.Figure) ([]store.Figure, error) { return v.c.store.AllFigures(ctx) }, func(f store.Figure) (bool, error) {
		who := v.c.who
		return who.Kind == api.Program && who.Door == api.DoorMetrics && (f.Agent == "" || who.Reaches(string(f.Agent))), nil
	})
}

// Alive fails if the database does not answer.
func (c *Service) Alive(ctx context.Context) error {
	_, err := c.store.Meta(ctx)
	return err
}

// Metrics returns the figures of the home, as far as they are about agents that the caller
// may see.
func (c *Service) Metrics(ctx context.Context) ([]api.Metric, error) {
	if err := c.may("home.metrics"); err != nil {
		return nil, err
	}
	figures, err := c.sight().metrics(ctx)
	if err != nil || len(figures) == 0 {
		return nil, err
	}
	meta, err := c.store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	engine, _, _ := strings.Cut(meta.Engine, " ")
	out := []api.Metric{{Name: "fika_store_info", Help: "Which database the home has.", Samples: []api.Sample{{Engine: engine, Value: 1}}}}
	for _, m := range measures() {
		metric := api.Metric{Name: m.name, Help: m.help, Counter: m.counter}
		for _, f := range figures {
			if f.Name == m.figure {
				metric.Samples = append(metric.Samples, api.Sample{Agent: string(f.Agent), Model: f.Model, Tool: f.Tool, Outcome: f.Outcome, Value: float64(f.Value) / m.per})
			}
		}
		if m.figure == store.RequestsEnded {
			metric.Samples = withZeros(metric.Samples, figures)
		}
		out = append(out, metric)
	}
	return out, nil
}

// withZeros adds samples for what has not ended yet: whoever sees a counter begin at 1 does
// not know that it was 0.
func withZeros(list []api.Sample, figures []store.Figure) []api.Sample {
	known := map[api.Sample]bool{}
	for _, s := range list {
		s.Value = 0
		known[s] = true
	}
	for _, f := range figures {
		if f.Name != store.AgentUp {
			continue
		}
		for _, state := range fika.EndedStates() {
			if zero := (api.Sample{Agent: string(f.Agent), Outcome: string(state)}); !known[zero] {
				list = append(list, zero)
			}
		}
	}
	return list
}
