package llm_test

import (
	"testing"

	"fika"
	"fika/internal/llm"
)

// The words of the servers of the field. Trial row U5.
func TestTooLongIsToldFromOtherRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		words  string
		want   bool
	}{
		{400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", true},
		{400, "Your input exceeds the context window of this model. Please adjust your input and try again.", true},
		{400, "prompt is too long: 209000 tokens > 200000 maximum", true},
		{400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", true},
		{400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", true},
		{400, "the request exceeds the available context size (8192 tokens), try increasing it", true},
		{400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", true},
		{400, "the input length exceeds the context length", true},
		{500, "prompt too long; exceeded max context length by 12 tokens", true},
		{400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", true},
		{400, "Input is too long for requested model.", true},
		{413, "Request Entity Too Large", true},
		{429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.", true},
		{429, "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.", false},
		{429, "Too many tokens, please wait before trying again.", false},
		{400, "max_tokens is too large", false},
		{401, "invalid x-api-key", false},
		{529, "Overloaded", false},
		{0, "no answer: dial tcp: connection refused", false},
	} {
		err := fika.Wrap(fika.Provider, "model call", &llm.ProviderError{Status: c.status, Message: "host answered: " + c.words})
		if got := llm.IsTooLong(err); got != c.want {
			t.Errorf("%d %q: %v", c.status, c.words, got)
		}
	}
	if llm.IsTooLong(nil) || llm.IsTooLong(fika.Errorf(fika.Limit, "", "prompt is too long")) {
		t.Error("no provider said so")
	}
}
