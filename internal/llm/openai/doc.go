// Package openai talks to every server that speaks OpenAI's chat completions:
// OpenAI itself, OpenRouter, Ollama, vLLM and many more, told apart by base URL
// only.
//
// It makes one streaming call per [llm.Model.Generate] and nothing else: no
// retries, no idle timeout, no prices (see internal/llm/retry), no
// environment variables. It forgives what servers do differently (calls in
// message instead of delta, one chunk for all, no end mark, no usage, ids
// missing or twice) and never hands on half an answer: a stream that breaks off
// is an error of kind Provider with an [llm.ProviderError] cause.
//
// Trouble told of in the middle of a stream gets the HTTP status it would have
// had. Response.Blob is the assistant message as it must be sent back to the
// same model, reasoning included: DeepSeek refuses a conversation whose tool
// calls have lost it, OpenRouter hands it on, others do not mind.
//
// Read first: [New], [Options], [ReasoningStyle]. A Model owns no goroutine
// and may be used by many at once.
package openai
