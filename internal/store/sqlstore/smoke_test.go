package sqlstore

import (
	"path/filepath"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

func TestSmoke(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, Options{Path: filepath.Join(t.TempDir(), "h", "fika.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.EnsureAgent(ctx, store.NewAgent{Name: "coder"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(ctx, a.ID, "1@x", time.Minute, false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Begin(ctx, l, store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Payload: fika.Payload{Prompt: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.CommitModel(ctx, c.Fence, store.ModelCommit{Round: 1, Text: "x", Calls: []store.PlannedCall{{CallID: "1", Tool: "read", Effect: fika.Pure}}, Usage: fika.Usage{Input: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginTool(ctx, c.Fence, p.Steps[0].N, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CommitTool(ctx, c.Fence, p.Steps[0].N, store.ToolCommit{Text: "r"}); err != nil {
		t.Fatal(err)
	}
	f, err := s.Finish(ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 2, Text: "done"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", f)
	ch, err := s.CreateChat(ctx, "room")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Post(ctx, store.Post{Conversation: ch.ID, From: "user", Writer: fika.ByHuman, Content: "hello @coder", Notify: []fika.AgentName{"coder"}}); err != nil {
		t.Fatal(err)
	}
	w, err := s.WithWork(ctx)
	if err != nil || len(w) != 1 {
		t.Fatal(w, err)
	}
	k, err := s.Claim(ctx, l, store.Limits{})
	if err != nil || k == nil {
		t.Fatal(k, err)
	}
	if _, err := s.SetPaused(ctx, ch.ID, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ListConversations(ctx, store.ConversationFilter{}); err != nil {
		t.Fatal(err)
	}
	if fs, err := s.Search(ctx, "hello", store.ConversationFilter{}); err != nil || len(fs) != 1 {
		t.Fatal(fs, err)
	}
	if _, err := s.Cleanup(ctx, store.CleanupOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteConversation(ctx, ch.ID); err != nil {
		t.Fatal(err)
	}
}
