// Package responses talks to OpenAI's responses API and to servers that speak it, such as
// Azure's and vLLM's.
//
// It makes one streaming call per [llm.Model.Generate] and nothing else, and keeps nothing at
// the provider: store is false, and what the model has thought comes back encrypted.
// Response.Blob has the items of the answer as the server made them, reasoning included, to
// be sent back to the same model before the results of its calls. The shapes are those of
// openai-go v3.96.0 (responses/response.go).
//
// Read first: [New], [Options]. A model owns no goroutine and is safe for concurrent use.
package responses
