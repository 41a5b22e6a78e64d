package service_test

import (
	"path/filepath"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
	"fika/internal/store"
)

// TestDoorBoard: doors see the board by state and page by page with the words of why, add a
// task once under a key, and show an agent without the permission nothing of it; what lands,
// and who is spoken to, is for persons.
func TestDoorBoard(t *testing.T) {
	c := openWith(t, twoAgents)
	d, ctx := service.Door(c), t.Context()
	for range 2 {
		n, err := d.AddTask(ctx, api.NewTask{Title: "first", Priority: 2}, api.Write{Key: "a"})
		check(t, err)
		if n.Number != 1 {
			t.Errorf("added again: %+v", n)
		}
	}
	for _, title := range []string{"second", "third"} {
		_, err := d.AddTask(ctx, api.NewTask{Title: title, Priority: 1, Needs: []string{"1"}}, api.Write{Key: title})
		check(t, err)
	}
	columns, err := d.Board(ctx, 2)
	check(t, err)
	if len(columns) != 1 || columns[0].State != "open" || columns[0].Count != 3 || len(columns[0].Tasks) != 2 || columns[0].Tasks[0].Title != "second" {
		t.Fatalf("the board is %+v", columns)
	}
	if why := columns[0].Tasks[0].Why; len(why) != 1 || why[0].Code != api.BoardNeeds {
		t.Errorf("a task waits because of %+v", why)
	}
	page, err := d.Tasks(ctx, "open", api.Page{Limit: 2})
	check(t, err)
	rest, err := d.Tasks(ctx, "open", api.Page{Limit: 2, After: page.Next})
	check(t, err)
	if len(page.Items) != 2 || len(rest.Items) != 1 || rest.Items[0].Title != "first" || rest.Next != "" {
		t.Errorf("the pages are %+v and %+v", page, rest)
	}
	if why := rest.Items[0].Why; len(why) != 1 || why[0].Code != api.BoardNobody {
		t.Errorf("nobody takes a task because of %+v", why)
	}
	if _, err := d.Tasks(ctx, "nothing", api.Page{}); api.CodeOf(err) != api.Invalid {
		t.Errorf("tasks in a state that there is not: %v", err)
	}
	one, err := d.Task(ctx, 1)
	check(t, err)
	if len(one.NeededBy) != 2 || len(one.Log) != 1 || one.Log[0].What != "added" {
		t.Errorf("the task is %+v", one)
	}
	if _, err := d.Landing(ctx); api.CodeOf(err) != api.Invalid {
		t.Errorf("without a project lands: %v", err)
	}
	coder := service.Door(c.As(asCoder()))
	if list, err := coder.Board(ctx, 10); err != nil || len(list) > 0 {
		t.Errorf("an agent sees %+v, %v", list, err)
	}
	if _, err := coder.Landing(ctx); api.CodeOf(err) != api.Denied {
		t.Errorf("an agent asks what lands: %v", err)
	}
	if err := coder.CloseTask(ctx, 1, false, "", api.Write{Key: "c"}); api.CodeOf(err) != api.Denied {
		t.Errorf("an agent closes a task: %v", err)
	}
}

// TestMentions: an agent that names the person is heard until they have said something there;
// a name in code is none, and nobody but a person has mentions.
func TestMentions(t *testing.T) {
	root := t.TempDir()
	c, _ := openIn(t, root, twoAgents)
	d, ctx := service.Door(c), t.Context()
	rows, err := store.Open(ctx, store.Options{Path: filepath.Join(root, "fika.db")})
	check(t, err)
	t.Cleanup(func() { _ = rows.Close() })
	room, err := c.Chats.Create(ctx, "room")
	check(t, err)
	say := func(id, text string) {
		t.Helper()
		_, err := rows.Import(ctx, room.ID, []fika.Entry{{
			ID: fika.EntryID(id), At: time.Now(), From: "coder", To: "room", Type: fika.Message, Content: text, Meta: fika.EntryMeta{Writer: fika.ByAgent, WriterName: "coder"},
		}})
		check(t, err)
	}
	count := func(d api.Service, since time.Duration) int {
		t.Helper()
		list, err := d.Mentions(ctx, time.Now().Add(-since))
		check(t, err)
		return len(list)
	}
	say("a", "they write `@user` there")
	if n := count(d, time.Hour); n != 0 {
		t.Errorf("a name in code counts: %d", n)
	}
	say("b", "@user shall I go on?")
	say("c", "@user or not?")
	if n := count(d, time.Hour); n != 1 {
		t.Errorf("%d mentions of one chat", n)
	}
	if n := count(d, -time.Hour); n != 0 {
		t.Errorf("%d mentions since later", n)
	}
	if n := count(service.Door(c.As(asCoder())), time.Hour); n != 0 {
		t.Errorf("an agent has %d mentions", n)
	}
	_, err = d.Send(ctx, api.Message{Conversation: "room", Text: "yes"}, api.Write{Key: "y"})
	check(t, err)
	if n := count(d, time.Hour); n != 0 {
		t.Errorf("after an answer there are %d mentions", n)
	}
}
