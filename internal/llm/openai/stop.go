package openai

import "fika/internal/llm"

// stopOf returns why an answer ended, and the server's word if it is not known here.
// OpenAI's own words are those of ChatCompletionChunkChoice.FinishReason in openai-go
// v3.96.0 (chatcompletion.go); the others are those of servers that speak its protocol: of
// models behind gateways, of text-generation-inference, llama.cpp, Mistral and Cohere.
// A server that gives no reason but ends its stream properly was finished.
func stopOf(reason string) (llm.Stop, string) {
	switch reason {
	case "", "stop", "tool_calls", "function_call", "tool_use", "tool-calls", "end_turn", "stop_sequence", "eos", "eos_token", "end", "STOP", "COMPLETE", "complete", "completed":
		return llm.StopEnd, ""
	case "length", "max_tokens", "max_output_tokens", "MAX_TOKENS":
		return llm.StopLength, ""
	case "model_length", "model_context_window_exceeded":
		return llm.StopWindow, ""
	case "content_filter", "content-filter", "safety", "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST":
		return llm.StopFilter, ""
	case "refusal":
		return llm.StopRefusal, ""
	case "pause_turn":
		return llm.StopPause, ""
	case "malformed_function_call", "MALFORMED_FUNCTION_CALL":
		return llm.StopBadCall, ""
	}
	return llm.StopUnknown, reason
}
