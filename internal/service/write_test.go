package service_test

import (
	"errors"
	"fmt"
	"testing"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
	"fika/internal/store"
	"fika/internal/workflow"
)

// The same write with the same key has one effect and gives the same id each time,
// whoever has done it first; with another body it is refused, and another principal's
// key is another one.
func TestAWriteWithAKeyHappensOnce(t *testing.T) {
	c := open(t)
	ctx := t.Context()
	coder, err := c.Agents.Find(ctx, "coder")
	check(t, err)
	room, err := c.Chats.Create(ctx, "room")
	check(t, err)
	ended, err := c.Requests.Submit(ctx, coder, service.Ask{Kind: fika.TaskRequest, Prompt: "x"})
	check(t, err)
	_, err = c.Requests.Cancel(ctx, ended.Request.ID, "enough")
	check(t, err)
	run := func(s *service.Service, title string) (string, error) {
		d, err := workflow.Load("asks", "asks.toml", []byte("[[steps]]\nid = 'ask'\napprove = true\nprompt = '"+title+"'\n"), workflow.Known{})
		if err != nil {
			return "", err
		}
		r, err := s.Runs().Start(ctx, d, nil)
		return string(r.ID), err
	}
	ask := func(kind fika.RequestKind) func(*service.Service, string) (string, error) {
		return func(s *service.Service, text string) (string, error) {
			a, err := s.Requests.Submit(ctx, coder, service.Ask{Kind: kind, Prompt: text})
			return string(a.Request.ID), err
		}
	}
	for verb, do := range map[string]func(s *service.Service, text string) (string, error){
		"conversation.send": func(s *service.Service, text string) (string, error) {
			sent, err := s.Chats.Send(ctx, room, text, service.Alias{})
			return fmt.Sprint(sent.Entry.Seq, sent.Entry.ID), err
		},
		"conversation.create": func(s *service.Service, text string) (string, error) {
			conv, err := s.Chats.Create(ctx, text)
			return string(conv.ID), err
		},
		"agent.ask":  ask(fika.AskRequest),
		"agent.task": ask(fika.TaskRequest),
		"run.start":  run,
	} {
		write := api.Write{Key: "k " + verb}
		first, err := do(c.With(write), "one")
		check(t, err)
		for range 4 {
			if again, err := do(c.With(write), "one"); err != nil || again != first {
				t.Errorf("%s: %s, %v; the first time %s", verb, again, err, first)
			}
		}
		if _, err := do(c.With(write), "two"); !errors.Is(err, store.ErrKeyReused) {
			t.Errorf("%s: another body under the same key: %v", verb, err)
		}
		other := c.As(api.Principal{Kind: api.Person, Name: "bob", Door: api.DoorCLI}).With(write)
		if again, err := do(other, "three"); err != nil || again == first {
			t.Errorf("%s: somebody else's key: %s, %v", verb, again, err)
		}
	}
	id, err := c.With(api.Write{Key: "r"}).Requests.Retry(ctx, ended.Request.ID)
	check(t, err)
	if again, err := c.With(api.Write{Key: "r"}).Requests.Retry(ctx, ended.Request.ID); err != nil || again != id {
		t.Errorf("request.retry: %s, %v; the first time %s", again, err, id)
	}
	last, err := c.Chats.ByID(ctx, room.ID)
	if err != nil || last.LastSeq != 2 {
		t.Errorf("%d messages stand in the chat, %v", last.LastSeq, err)
	}
}
