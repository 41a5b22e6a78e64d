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
// signatures, to be sent back within the turn. Where a running tool loop lacks
// them (another model began it), thinking is not asked for, because the API
// would refuse.
//
// Reasoning: models since 4.6 think adaptively and get the effort as it is
// (minimal counts as low). Older ones, and every wish for a number of tokens,
// get a thinking budget: minimal 1024, low 2048, medium 8192, high 24576, at
// least 1024. max_tokens is the budget plus Request.MaxTokens (8192 if 0), so
// the answer always has its room.
//
// System prompt and last message are marked for the prompt cache, so every
// round of a turn reads what the round before it wrote.
//
// Read first: [New], [Options]. A Model owns no goroutine and may be used by
// many at once.
package anthropic
