// Package anthropic talks to Anthropic's messages API and to servers that
// speak it.
//
// It makes one streaming call per [llm.Model.Generate] and nothing else: no
// retries, no idle timeout, no prices (see internal/llm/retry), no environment
// variables. A stream that breaks off is an error of kind Provider with an
// [llm.ProviderError] cause; an error event in the middle of a stream gets the
// HTTP status it would have had (overloaded_error: 529).
//
// Response.Blob is the assistant message with its thinking blocks and their signatures,
// to be sent back to the same model. If a running tool loop lacks them (because another
// model began it), no thinking budget is requested, because the API would refuse it.
//
// Reasoning is requested in the form that the model's family understands; family.go has
// the forms and their sources. max_tokens is Request.MaxTokens (8192 if 0) plus what
// thinking may take, so that the answer always has its room.
//
// The last tool, the system text and the last block that the next call will repeat are
// marked for the prompt cache, so that every call reads what the one before it wrote.
// Passing messages come after the last mark.
//
// Read first: [New], [Options], family.go. A model owns no goroutine and is safe for
// concurrent use.
package anthropic
