// Package gemini talks to Google's Gemini API: generateContent, streamed.
//
// It makes one streaming call per [llm.Model.Generate] and nothing else. Response.Blob is the
// content of the answer with the signatures of its thoughts, to be sent back to the same
// model: newer models refuse a call whose signature is missing. The shapes are those of
// google.golang.org/genai v1.77.0 (types.go).
//
// Read first: [New], [Options]. A model owns no goroutine and is safe for concurrent use.
package gemini
