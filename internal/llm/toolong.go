package llm

import (
	"errors"
	"strings"
)

// tooLong holds the words with which servers refuse a conversation that is longer than the
// model's window, in lower case.
var tooLong = []string{
	"context_length_exceeded",       // OpenAI and many alike: the code
	"maximum context length",        // OpenAI, vLLM, DeepSeek, OpenRouter, Mistral
	"exceeds the context window",    // OpenAI responses
	"prompt is too long",            // Anthropic
	"exceed context limit",          // Anthropic: prompt and max_tokens together
	"input token count",             // Gemini: "The input token count (…) exceeds the maximum number of tokens allowed"
	"exceed_context_size",           // llama-server: the type
	"available context size",        // llama-server
	"longer than the maximum model", // vLLM: "The decoder prompt (length …) is longer than the maximum model length"
	"exceeds the context length",    // Ollama: "input length exceeds the context length"
	"exceeded max context length",   // Ollama: "prompt too long; exceeded max context length by … tokens"
	"maximum prompt length",         // xAI
	"input is too long for",         // Bedrock
	"reduce the length of the",      // Groq, OpenAI
	"too large for model with",      // Mistral: "Prompt contains … tokens …, too large for model with … maximum context length"
	"context overflow",              // LM Studio, MLX
	"loaded with context length of", // LM Studio
	"too many tokens",               // Cohere
}

// IsTooLong reports whether a provider has refused a call because the conversation is
// longer than the model's window, so that a shorter one may be accepted: by the status, the
// provider's code and its words, which no two of them share.
func IsTooLong(err error) bool {
	var p *ProviderError
	if !errors.As(err, &p) {
		return false
	}
	switch {
	case p.Status == 413:
		return true
	case p.Status != 0 && p.Status < 400, p.Status == 401, p.Status == 403, p.Status == 404, p.Status == 408:
		return false
	}
	words := strings.ToLower(p.Message)
	if p.Status == 429 { // a conversation that no minute has room for; else waiting helps
		return strings.Contains(words, "request too large")
	}
	for _, w := range tooLong {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}
