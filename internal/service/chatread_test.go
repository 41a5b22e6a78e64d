package service

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/bus/message"
)

// TestAWatchShowsAQuestionBeforeItsAnswer: a status that arrives before the store was
// read waits for the reading.
func TestAWatchShowsAQuestionBeforeItsAnswer(t *testing.T) {
	root := t.TempDir()
	conf := "model = \"m\"\n[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"coder\"\n"
	if err := os.WriteFile(filepath.Join(root, "config.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() { _ = a.Close() })
	s, err := Open(t.Context(), a, api.Principal{Kind: api.Person, Name: "anna", Door: api.DoorCLI})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	conv, err := s.Chats.Create(ctx, "design")
	if err != nil {
		t.Fatal(err)
	}
	live, err := s.Chats.Watch(conv)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	var shown []string
	note := func(text string) {
		if shown = append(shown, text); len(shown) == 3 {
			stop()
		}
	}
	err = live.ShowStatuses(ctx, conv, func(st message.Status) { note(st.Data.Chunk) })
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"It is", " here."} {
		live.statuses.pass(message.Status{RequestID: "r", AgentName: "coder", Status: "streaming", ConversationID: "design", Data: message.StatusData{Chunk: text}})
	}
	if _, err := s.Chats.Send(ctx, conv, "Where is it?", Alias{}); err != nil {
		t.Fatal(err)
	}
	err = live.Run(ctx, EntryQuery{Conversation: conv.ID, Types: []fika.EntryType{fika.Message}}, func(x fika.Entry) error {
		note(x.Content)
		return nil
	})
	if want := []string{"Where is it?", "It is", " here."}; err != nil || !slices.Equal(shown, want) {
		t.Errorf("shown %q, %v", shown, err)
	}
}
