package otlp

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"fika"
	"fika/internal/api"
	"fika/internal/report/trace"
	"fika/internal/store"
)

const (
	maxName = 128     // bytes of a name that a model has chosen
	maxText = 8 << 10 // bytes of what somebody has said
)

// Projection makes spans of requests. It only computes.
type Projection struct {
	Home string // id of the database: part of each id
	// Provider returns who makes a model available, as the conventions name them; empty: it
	// is not known.
	Provider func(model string) string
	Redact   func(string) string // takes known keys out of a text
	Content  bool                // prompts, answers, arguments and errors are sent, too
}

// Spans returns the spans of a request that has ended, that of the request first. Because
// is what it came from.
func (p Projection) Spans(r store.Traced, because []store.Cause) []Span {
	one := trace.SpansOf([]store.Traced{r}, r.FinishedAt).Requests[0]
	whole := Span{
		Trace: trace.TraceID(p.Home, r.Chain), ID: trace.SpanID(p.Home, r.ID, 0), Name: "invoke_agent " + string(r.AgentName), Kind: internalKind,
		Start: nanos(r.CreatedAt), End: nanos(later(r.FinishedAt, r.CreatedAt)), Attributes: p.about(r, one.Usage),
	}
	if store.StandsForRun(r.Request) {
		whole.Name = "invoke_workflow"
	}
	for _, c := range because {
		if c.Chain == r.Chain && whole.Parent == "" {
			whole.Parent = trace.SpanID(p.Home, c.Request, c.Step)
			continue
		}
		whole.Links = append(whole.Links, link{trace.TraceID(p.Home, c.Chain), trace.SpanID(p.Home, c.Request, c.Step)})
	}
	if trace, span := api.ParseTrace(r.Payload.Trace); trace != "" {
		whole.Links = append(whole.Links, link{trace, span})
	}
	if r.State != fika.Done {
		kind := string(r.Outcome.ErrorKind)
		if kind == "" {
			kind = string(r.State)
		}
		whole.Attributes = append(whole.Attributes, text("error.type", kind))
		whole.Status = &status{Code: 2}
		if p.Content {
			whole.Status.Message = p.say(r.Outcome.Error)
		}
	}
	out := []Span{whole}
	for i, s := range one.Spans {
		if s.Kind == trace.Commit || s.Kind == trace.Wait && s.Took == 0 {
			continue
		}
		out = append(out, p.part(r, whole, i, s))
	}
	return out
}

// about returns the attributes of a request.
func (p Projection) about(r store.Traced, used fika.Usage) []attribute {
	operation := "invoke_agent"
	if store.StandsForRun(r.Request) {
		operation = "invoke_workflow"
	}
	out := []attribute{
		text("gen_ai.operation.name", operation), text("gen_ai.agent.name", string(r.AgentName)), text("gen_ai.agent.id", string(r.Agent)),
		text("gen_ai.conversation.id", string(r.ConversationName)), text("fika.request", string(r.ID)), text("fika.chain", string(r.Chain)),
		text("fika.kind", string(r.Kind)), text("fika.state", string(r.State)), number("fika.depth", int64(r.Depth)),
	}
	if r.RetryOf != "" {
		out = append(out, text("fika.retry_of", string(r.RetryOf)))
	}
	if r.Task != 0 {
		out = append(out, number("fika.task", int64(r.Task)))
	}
	out = append(out, spent(used)...)
	if !p.Content {
		return out
	}
	for _, said := range []struct{ key, role, text string }{{"gen_ai.input.messages", "user", r.Payload.Prompt}, {"gen_ai.output.messages", "assistant", r.Outcome.Answer}} {
		if said.text == "" {
			continue
		}
		type part struct {
			Type    string `json:"type"`
			Content string `json:"content"`
		}
		type message struct {
			Role  string `json:"role"`
			Parts []part `json:"parts"`
		}
		raw, _ := json.Marshal([]message{{said.role, []part{{"text", p.say(said.text)}}}}) // of text it cannot fail
		out = append(out, text(said.key, string(raw)))
	}
	return out
}

// part returns the i-th span of time of a request.
func (p Projection) part(r store.Traced, whole Span, i int, s trace.Span) Span {
	out := Span{
		Trace: whole.Trace, ID: trace.SpanID(p.Home, r.ID, s.Step), Parent: whole.ID, Kind: internalKind,
		Start: nanos(s.Start), End: nanos(later(s.Start.Add(s.Took), s.Start)),
	}
	who := []attribute{text("gen_ai.agent.name", string(r.AgentName)), text("gen_ai.conversation.id", string(r.ConversationName)), text("fika.request", string(r.ID))}
	switch s.Kind {
	case trace.Wait:
		out.ID, out.Name = trace.Hash(8, p.Home, "wait", r.ID, i), "wait"
		out.Attributes = who
		return out
	case trace.Tool:
		name := cut(p.Redact(s.Name), maxName)
		out.Name = "execute_tool " + name
		out.Attributes = append(who, text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", name), text("gen_ai.tool.type", "function"),
			text("gen_ai.tool.call.id", store.CallID(r.ID, s.Step)))
		if p.Content && s.Args != "" {
			out.Attributes = append(out.Attributes, text("gen_ai.tool.call.arguments", p.say(s.Args)))
		}
	default:
		out.Name, out.Kind = strings.TrimSpace("chat "+s.Name), clientKind
		out.Attributes = append(who, text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", s.Name))
		if provider := p.Provider(s.Name); provider != "" {
			out.Attributes = append(out.Attributes, text("gen_ai.provider.name", provider))
		}
		if s.Kind == trace.Compaction {
			out.Attributes = append(out.Attributes, flag("fika.compaction"))
		}
	}
	out.Attributes = append(out.Attributes, number("fika.step", int64(s.Step)), number("fika.round", int64(s.Round)))
	out.Attributes = append(out.Attributes, spent(s.Usage)...)
	if s.Failed {
		out.Attributes = append(out.Attributes, text("error.type", "failed"))
		out.Status = &status{Code: 2}
	}
	return out
}

// spent returns the attributes of usage, without those that are 0.
func spent(u fika.Usage) (out []attribute) {
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"gen_ai.usage.input_tokens", u.Input}, {"gen_ai.usage.output_tokens", u.Output}, {"gen_ai.usage.cache_read.input_tokens", u.Cached},
		{"gen_ai.usage.reasoning.output_tokens", u.Reasoning},
	} {
		if n.value != 0 {
			out = append(out, number(n.key, n.value))
		}
	}
	if u.Cost != 0 {
		out = append(out, amount("fika.cost_usd", float64(u.Cost)/1e6))
	}
	if u.Estimated {
		out = append(out, flag("fika.estimated"))
	}
	return out
}

// say returns the beginning of what somebody has said, without known keys.
func (p Projection) say(words string) string { return cut(p.Redact(words), maxText) }

// cut returns a text of at most so many bytes, of whole characters.
func cut(words string, most int) string {
	words = strings.ToValidUTF8(words, "\ufffd")
	if len(words) <= most {
		return words
	}
	for most > 0 && !utf8.RuneStart(words[most]) {
		most--
	}
	return words[:most] + "…"
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
