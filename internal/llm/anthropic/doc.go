// Package anthropic talks to Anthropic's messages API and to servers that
// speak it.
//
// It makes one streaming call per [llm.Model.Generate] and nothing else: no
// retries, no idle timeout, no prices (see internal/llm/retry), no environment
// variables. A stream that breaks off is an error of kind Provider with an
// [llm.ProviderError] cause; an error event in the middle of a stream gets the
// HTTP status it would have had (overloaded_error: 529).
//
// Response.Blob is the assistant message with its thinking blocks and their
// signatures, to be sent back to the same model. Where a running tool loop lacks
// them (another model began it), a thinking budget is not asked for, because the
// API would refuse.
//
// Reasoning is asked for in the words of the model's family; family.go has them
// and their sources. max_tokens is Request.MaxTokens (8192 if 0) plus what
// thinking may take, so the answer always has its room.
//
// The last tool, the system text and the last block that the next call will have
// are marked for the prompt cache, so every call reads what the one before it
// wrote. What is passing comes after the last mark.
//
// Read first: [New], [Options], family.go. A Model owns no goroutine and may be used by
// many at once.
package anthropic
