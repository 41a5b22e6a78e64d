package openai

import (
	"encoding/json"
	"testing"

	"fika/internal/llm"
)

// TestPicture: a picture goes with its text as a part of the message.
func TestPicture(t *testing.T) {
	m := llm.Message{Role: llm.User, Text: "what?", Images: []llm.Image{{MIME: "image/png", Data: []byte("abc")}}}
	raw, err := json.Marshal((&model{}).wireMessages(llm.Request{Messages: []llm.Message{m}}))
	want := `[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}]}]`
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
}
