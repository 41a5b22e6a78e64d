package openai

import (
	"slices"
	"strconv"
	"strings"

	"fika/internal/llm"
)

// askReasoning puts the requested reasoning into the form that the server knows. The
// plain field takes no number of tokens, so a number becomes the nearest effort.
// Sources, read in November 2026:
//
//   - ReasoningEffort of openai-go v3.95.0 (shared/shared.go): none, minimal,
//     low, medium, high, xhigh, max;
//   - https://developers.openai.com/api/docs/guides/reasoning
//   - https://openrouter.ai/docs/use-cases/reasoning-tokens: an object with
//     effort up to xhigh, or max_tokens;
//   - https://api-docs.deepseek.com/guides/thinking_mode: a switch of its own.
func (m *model) askReasoning(r *llm.Reasoning, b *options) {
	if r == nil || *r == (llm.Reasoning{}) {
		return
	}
	switch {
	case m.opts.ReasoningStyle == ReasoningNone:
	case m.opts.ReasoningStyle == ReasoningObject && r.MaxTokens > 0:
		b.Reasoning = map[string]any{"max_tokens": r.MaxTokens}
	case m.opts.ReasoningStyle == ReasoningObject:
		b.Reasoning = map[string]any{"effort": nearestEffort(r.Effort, effortsBetween("none", "xhigh"))}
	case r.Effort == "none" && isHost(m.endpoint.Host(), "deepseek.com"):
		b.Thinking = map[string]any{"type": "disabled"}
	default:
		b.ReasoningEffort = nearestEffort(wireEffort(r), effortsOf(m.opts.Model))
	}
}

func wireEffort(r *llm.Reasoning) string {
	switch {
	case r.Effort != "":
		return r.Effort
	case r.MaxTokens <= 2048:
		return "low"
	case r.MaxTokens <= 8192:
		return "medium"
	}
	return "high"
}

// effortsBetween lists the efforts from least to most, both included.
func effortsBetween(least, most string) []string {
	all := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	return all[slices.Index(all, least) : slices.Index(all, most)+1]
}

// effortsOf lists the efforts that an OpenAI model takes; nil: it does not reason. A
// name that is not OpenAI's takes all of them: its server decides.
//
// The sources are the reasoning guide and the comments on ReasoningEffort in OpenAI's
// API description: "none" since gpt-5.1, "minimal" for gpt-5 only, "xhigh" since gpt-5.2
// (and gpt-5.1-codex-max), "max" since gpt-5.6.
func effortsOf(model string) []string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	switch {
	case strings.HasPrefix(name, "gpt-oss"):
		return effortsBetween("low", "high")
	case strings.HasPrefix(name, "gpt-"):
	case len(name) > 1 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9':
		return effortsBetween("low", "high")
	case strings.HasPrefix(name, "chatgpt-"):
		return nil
	default:
		return effortsBetween("none", "max")
	}
	switch version := versionOf(name); {
	case version < 500, strings.Contains(name, "-chat"):
		return nil
	case version == 500:
		return effortsBetween("minimal", "high")
	case version == 501 && !strings.Contains(name, "-max"):
		return []string{"none", "low", "medium", "high"}
	case version < 506:
		return []string{"none", "low", "medium", "high", "xhigh"}
	}
	return []string{"none", "low", "medium", "high", "xhigh", "max"}
}

// versionOf returns the version in gpt-MAJOR.MINOR as 100 × major + minor; 0: there is
// none.
func versionOf(name string) int {
	number, _, _ := strings.Cut(strings.TrimPrefix(name, "gpt-"), "-")
	major, minor, _ := strings.Cut(number, ".")
	n, err := strconv.Atoi(strings.TrimRight(major, "abcdefghijklmnopqrstuvwxyz"))
	if err != nil {
		return 0
	}
	m, _ := strconv.Atoi(minor)
	return 100*n + m
}

// nearestEffort returns effort itself if it is known, else the next lower known one,
// else the lowest; empty if none is known.
func nearestEffort(effort string, known []string) string {
	order := effortsBetween("none", "max")
	for i := slices.Index(order, effort); i >= 0; i-- {
		if slices.Contains(known, order[i]) {
			return order[i]
		}
	}
	if len(known) == 0 {
		return ""
	}
	return known[0]
}
