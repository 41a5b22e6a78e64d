package turn_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// TestBrokenChatAnswersAgain: testdata/brokenchat.db.gz is a store of an earlier version
// in which an agent was mentioned while it answered, called a tool in its next turn, and
// from then on was refused by its provider in that chat. It answers again, and nothing is
// lost (trial row F1).
func TestBrokenChatAnswersAgain(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Path: unpack(t, "testdata/brokenchat.db.gz")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w := &world{T: t, store: s, model: &model{}}
	a, err := s.Agent(t.Context(), "a")
	w.ok(err)
	w.lease, err = s.Acquire(t.Context(), a.ID, "test", time.Hour, true)
	w.ok(err)
	chat, err := s.Conversation(t.Context(), "c")
	w.ok(err)
	before := w.entries(chat.ID)
	_, err = s.Post(t.Context(), store.Post{Conversation: chat.ID, From: "user", Writer: fika.ByHuman, Content: "@a are you there?", Notify: []fika.AgentName{"a"}})
	w.ok(err)
	server := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("yes")} })
	none, err := tool.NewSet(nil, tool.Permissions{})
	w.ok(err)
	cfg := w.config()
	cfg.ModelID, cfg.Model, cfg.Tools = "m", openai.New(openai.Options{Model: "m", BaseURL: server.URL()}), none
	result, err := turn.New(cfg).Run(t.Context(), w.claim())
	w.ok(err)
	if result.State != fika.Done || result.Outcome.Answer != "yes" {
		t.Fatalf("it answered %q: %s %s", result.Outcome.Answer, result.State, result.Reason)
	}
	after := w.entries(chat.ID)
	for i, e := range before {
		if after[i].ID != e.ID || after[i].Content != e.Content {
			t.Errorf("entry %d was %q, is %q", e.Seq, e.Content, after[i].Content)
		}
	}
	var answered []llm.Message
	for _, m := range server.Requests()[0].Messages {
		if m.Role == llm.Assistant {
			answered = append(answered, m)
		}
	}
	if len(answered) != 2 || answered[0].Text != "the first thing is done now" || len(answered[1].Calls) != 1 {
		t.Errorf("the model sees as its own %+v", answered)
	}
}

// unpack returns the path of a copy of a compressed file.
func unpack(t *testing.T, path string) string {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "fika.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, z); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}
