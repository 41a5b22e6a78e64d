// Package resume makes one answer of several model calls: where a provider cut the text off
// at the model's own output limit, and where it paused.
//
// A limit that the request sets is a person's, and is kept. A cut tool call is not resumed,
// because nobody can write the second half of another's JSON; the turn tells the model.
//
// Read first: [Model].
package resume

import (
	"context"
	"slices"
	"strings"

	"fika/internal/llm"
)

// MaxCalls bounds the calls of one answer.
const MaxCalls = 4

// goOn asks for the rest of a text that was cut off. It is a message of the user, because
// newer models refuse a conversation that ends with their own words.
const goOn = "Your answer was cut off at the output limit. Continue exactly where it stopped, without repeating anything."

// Model returns m with its cut and paused answers continued, in up to [MaxCalls] calls. The
// text, reasoning and usage of the answer are the sums; an answer of several calls has no
// Blob. If a later call fails, its error is returned, and nothing of the answer is.
func Model(m llm.Model) llm.Model { return &model{m} }

type model struct{ inner llm.Model }

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	whole, err := m.inner.Generate(ctx, r, emit)
	for calls := 1; err == nil && calls < MaxCalls && resumable(r, whole); calls++ {
		more := r
		more.Messages = append(slices.Clone(r.Messages), llm.Message{Role: llm.Assistant, Text: whole.Text, Blob: whole.Blob, Passing: true})
		if whole.Stop == llm.StopLength {
			more.Messages = append(more.Messages, llm.Message{Role: llm.User, Text: goOn, Passing: true})
		}
		var next llm.Response
		next, err = m.inner.Generate(ctx, more, repeatAfterRestart(emit, whole))
		whole = join(whole, next)
	}
	if err != nil {
		return llm.Response{Usage: whole.Usage, Wasted: whole.Wasted}, err // it has to be paid
	}
	return whole, nil
}

func resumable(r llm.Request, res llm.Response) bool {
	if len(res.Calls) > 0 {
		return false
	}
	return res.Stop == llm.StopPause || res.Stop == llm.StopLength && r.MaxTokens == 0 && strings.TrimSpace(res.Text) != ""
}

// join returns the answer that two calls make. What the second was asked repeats what the
// first was, and both were paid for.
func join(a, b llm.Response) llm.Response {
	b.Text, b.Reasoning, b.Blob = a.Text+b.Text, a.Reasoning+b.Reasoning, nil
	b.Usage, b.Wasted = a.Usage.Add(b.Usage), a.Wasted.Add(b.Wasted)
	return b
}

// repeatAfterRestart shows what earlier calls have said again when a retry takes back
// everything that was shown.
func repeatAfterRestart(emit func(llm.Event) error, said llm.Response) func(llm.Event) error {
	return func(e llm.Event) error {
		if err := emit(e); err != nil || e.Kind != llm.Restarted {
			return err
		}
		if said.Reasoning != "" {
			if err := emit(llm.Event{Kind: llm.ReasoningDelta, Text: said.Reasoning}); err != nil {
				return err
			}
		}
		return emit(llm.Event{Kind: llm.TextDelta, Text: said.Text})
	}
}
