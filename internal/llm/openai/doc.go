// Package openai talks to every server that speaks OpenAI's chat completions: OpenAI
// itself, OpenRouter, Ollama, vLLM and many more, distinguished only by base URL.
//
// It makes one streaming call per [llm.Model.Generate] and nothing else: no retries, no
// idle timeout, no prices (see internal/llm/retry), no environment variables. It
// tolerates the differences between servers (calls in message instead of delta,
// everything in one chunk, no end mark, no usage, missing or duplicate ids) and never
// returns half an answer: a stream that breaks off is an error of kind Provider with an
// [llm.ProviderError] cause.
//
// An error reported in the middle of a stream gets the HTTP status it would have had.
// Response.Blob is the assistant message as it must be sent back to the same model,
// reasoning included: DeepSeek refuses a conversation whose tool calls have lost their
// reasoning, OpenRouter passes it on, others do not mind.
//
// Read first: [New], [Options], [ReasoningStyle]. A model owns no goroutine and is safe
// for concurrent use.
package openai
