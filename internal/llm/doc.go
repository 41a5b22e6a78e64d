// Package llm is the contract with language models: one streaming call, plain
// values, no provider.
//
// Read first: [Model], [Request], [Response]. Implementations live in
// internal/llm/openai, internal/llm/anthropic and internal/llm/scripted;
// internal/llm/llmtest has servers that speak the providers' wire formats, and
// the suite every implementation must pass. Retrying and idle timeouts are
// decorators in internal/llm/retry.
package llm
