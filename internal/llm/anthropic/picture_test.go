package anthropic

import (
	"encoding/json"
	"testing"

	"fika/internal/llm"
)

// TestPicture: a picture stands before its text, and the cache mark is on the
// text.
func TestPicture(t *testing.T) {
	m := llm.Message{Role: llm.User, Text: "what?", Images: []llm.Image{{MIME: "image/png", Data: []byte("abc")}}}
	raw, err := json.Marshal(acceptedMessages([]llm.Message{m}, replayAll, cacheMark))
	want := `[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}},` +
		`{"type":"text","text":"what?","cache_control":{"type":"ephemeral"}}]}]`
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
}
