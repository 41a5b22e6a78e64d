package service_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/service"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/store/pgtest"
)

var servers pgtest.Shared

func TestMain(m *testing.M) { goleak.VerifyTestMain(withServers{m}) }

// withServers ends the database server after the tests, before anybody looks for what is
// left of them.
type withServers struct{ *testing.M }

func (m withServers) Run() int {
	defer servers.Stop()
	return m.M.Run()
}

// open makes a home with one agent and a service of it. No hub runs.
func open(t *testing.T) *service.Service {
	t.Helper()
	return openWith(t, "\n[[agents]]\nid = \"coder\"\n")
}

// openWith makes a home with these settings besides a model, and a service of it.
func openWith(t *testing.T, settings string) *service.Service {
	t.Helper()
	c, _ := openHome(t, settings)
	return c
}

// openHome is openWith for a home whose settings change: the function that it returns
// writes others, which the service follows.
func openHome(t *testing.T, settings string) (*service.Service, func(string)) {
	t.Helper()
	return openIn(t, t.TempDir(), settings)
}

func openIn(t *testing.T, root, settings string) (*service.Service, func(string)) {
	t.Helper()
	write := func(settings string) {
		t.Helper()
		conf := "model = \"m\"\nusername = \"anna\"\n\n[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n" + settings
		path := filepath.Join(root, "config.toml")
		check(t, os.WriteFile(path+".new", []byte(conf), 0o600))
		check(t, os.Rename(path+".new", path))
	}
	write(settings)
	if err := os.WriteFile(filepath.Join(root, "rules.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := service.Open(t.Context(), a, person)
	if err != nil {
		t.Fatal(err)
	}
	return c, func(settings string) {
		t.Helper()
		a.FollowConfig(func(text string) { t.Error(text) })
		write(settings)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPauseLease: a chat stays paused for as long as the lease is held, and goes
// on when it is released; a chat that was paused before stays so.
func TestPauseLease(t *testing.T) {
	c := open(t)
	ctx := t.Context()
	conv, err := c.Chats.Create(ctx, "design")
	check(t, err)
	lease, err := c.ChatControl.HoldPaused(ctx, conv, "anna")
	check(t, err)
	if now, err := c.Chats.ByID(ctx, conv.ID); err != nil || !now.Paused || !lease.First {
		t.Errorf("held: paused %v, first %v, %v", now.Paused, lease.First, err)
	}
	check(t, lease.Renew(ctx))
	if resumed, err := lease.Release(); err != nil || !resumed {
		t.Errorf("released: %v, %v", resumed, err)
	}
	if resumed, err := lease.Release(); err != nil || resumed {
		t.Errorf("released twice: %v, %v", resumed, err)
	}
	check(t, c.ChatControl.Pause(ctx, conv))
	if lease, err = c.ChatControl.HoldPaused(ctx, conv, "anna"); err != nil || lease.First {
		t.Errorf("paused before: first %v, %v", lease.First, err)
	}
	if resumed, err := lease.Release(); err != nil || resumed {
		t.Errorf("paused before: resumed %v, %v", resumed, err)
	}
	check(t, c.ChatControl.Resume(ctx, conv))
	if lease, err = c.ChatControl.HoldPaused(ctx, conv, "anna"); err != nil {
		t.Fatal(err)
	}
	lease.Forget() // somebody resumes on purpose
	if resumed, err := lease.Release(); err != nil || resumed {
		t.Errorf("forgotten: resumed %v, %v", resumed, err)
	}
	var none *service.PauseLease
	none.Forget()
	check(t, none.Renew(ctx))
}

// TestLeaseFromManyGoroutines: whoever watches renews, whoever leaves releases.
func TestLeaseFromManyGoroutines(t *testing.T) {
	c := open(t)
	conv, err := c.Chats.CreateUnnamed(t.Context())
	check(t, err)
	lease, err := c.ChatControl.HoldPaused(t.Context(), conv, "anna")
	check(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := lease.Renew(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(lease.Forget)
	all.Wait()
}

// TestNobodyTakesAnAgentsName: whatever is said, a person cannot say it as an
// agent, and nothing is written then.
func TestNobodyTakesAnAgentsName(t *testing.T) {
	c := open(t)
	ctx := t.Context()
	conv, err := c.Chats.Create(ctx, "design")
	check(t, err)
	row, err := c.Agents.Find(ctx, "coder")
	check(t, err)
	as := service.Alias{Name: "coder", Option: "--as"}
	said := map[string]error{"check": c.CheckAlias(ctx, as)}
	_, said["send"] = c.Chats.Send(ctx, conv, "hello", as)
	_, said["enter"] = c.Chats.Enter(ctx, conv, as)
	_, said["ask"] = c.Requests.Submit(ctx, row, service.Ask{Kind: fika.AskRequest, Prompt: "x", As: as})
	_, said["context"] = c.SendToContext(ctx, "coder", "x", as)
	for what, err := range said {
		if !fika.IsKind(err, fika.Denied) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := c.Requests.SubmitPrompt(ctx, row, "x", nil, map[string]string{"username": "coder"}, service.Alias{}); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("prompt: %v", err)
	}
	list, err := c.Requests.List(ctx, service.RequestFilter{})
	if err != nil || len(list) > 0 {
		t.Errorf("%d requests, %v", len(list), err)
	}
	if n, err := c.Chats.Read(ctx, service.EntryQuery{Conversation: conv.ID}, func(fika.Entry) error { return nil }); err != nil || n != 0 {
		t.Errorf("up to %d, %v", n, err)
	}
}

// TestWithoutHub: everything can be asked, and it is said what nobody does.
func TestWithoutHub(t *testing.T) {
	c := open(t)
	ctx := t.Context()
	row, err := c.Agents.Find(ctx, "coder")
	check(t, err)
	accepted, err := c.Requests.Submit(ctx, row, service.Ask{Kind: fika.TaskRequest, Prompt: "write", Background: true})
	check(t, err)
	if p := accepted.Request.Payload; p.From != "anna" || p.Writer != fika.ByHuman || !p.Background {
		t.Errorf("%+v", p)
	}
	if why := c.Availability.NeverAnswers(ctx, row); !why.NeedsPerson || len(why.Help) == 0 {
		t.Errorf("never answers: %+v", why)
	}
	follow, err := c.Requests.Follow(row.Name)
	check(t, err)
	defer follow.Close()
	if _, err := c.Requests.Cancel(ctx, accepted.Request.ID, "no longer"); err != nil {
		t.Fatal(err)
	}
	info, err := follow.Await(ctx, accepted.Request.ID, nil)
	if err != nil || info.State != fika.Cancelled {
		t.Errorf("%s, %v", info.State, err)
	}
	id, err := c.Requests.Retry(ctx, accepted.Request.ID)
	check(t, err)
	family, err := c.Requests.Family(ctx, id)
	if err != nil || family.RetryOf != accepted.Request.ID || family.Count() != 0 {
		t.Errorf("%+v, %v", family.RequestInfo, err)
	}
	if _, err := c.Agents.Statuses(ctx, row); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("statuses: %v", err)
	}
	v, err := c.Agents.View(ctx, "coder")
	if err != nil || v.Waiting != 1 || v.Alive() || !v.Entry {
		t.Errorf("%+v, %v", v, err)
	}
	st, err := c.Status(ctx)
	if err != nil || st.Hub.PID != 0 || st.Waiting != 1 || c.Connected() || !c.BusTrouble().IsClear() {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestFindsChats: by name, by pattern, and with the nearest name.
func TestFindsChats(t *testing.T) {
	c := open(t)
	ctx := t.Context()
	for _, name := range []string{"review-a", "review-b", "design"} {
		_, err := c.Chats.Create(ctx, name)
		check(t, err)
	}
	if _, err := c.Chats.Create(ctx, "design"); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("twice: %v", err)
	}
	if found, wild, err := c.Chats.Match(ctx, []string{"review-*", "design", "review-a"}); err != nil || !wild || len(found) != 3 {
		t.Errorf("%d, %v, %v", len(found), wild, err)
	}
	if _, _, err := c.Chats.Match(ctx, []string{"x*"}); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("no match: %v", err)
	}
	if _, err := c.Chats.Find(ctx, "desing"); !fika.IsKind(err, fika.NotFound) || !strings.Contains(err.Error(), `did you mean "design"?`) {
		t.Errorf("misspelt: %v", err)
	}
}

// TestAwaitIdle: a chat in which nothing goes on is at rest; one that is paused
// with somebody mentioned waits for a person, and says so.
func TestAwaitIdle(t *testing.T) {
	c := open(t)
	ctx := t.Context()
	_, err := c.Agents.Find(ctx, "coder")
	check(t, err)
	conv, err := c.Chats.Create(ctx, "design")
	check(t, err)
	if left, err := c.Chats.AwaitIdle(ctx, conv, nil); err != nil || len(left) > 0 {
		t.Errorf("at rest: %v, %v", left, err)
	}
	check(t, c.ChatControl.Pause(ctx, conv))
	sent, err := c.Chats.Send(ctx, conv, "@coder go", service.Alias{})
	if err != nil || !sent.Paused || len(sent.Notified) > 1 {
		t.Errorf("%+v, %v", sent, err)
	}
	stuck := make(chan []service.QueueItem, 8)
	done := make(chan error, 1)
	go func() {
		_, err := c.Chats.AwaitIdle(ctx, conv, func(items []service.QueueItem) { stuck <- items })
		done <- err
	}()
	if items := <-stuck; len(items) != 1 || items[0].Agent != "coder" {
		t.Errorf("stuck: %+v", items)
	}
	if d, err := c.ChatControl.Stop(ctx, conv); err != nil || d.Notifications != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	check(t, <-done)
}

// TestAssignedTo: which member a message has gone to is told where the text names the
// pool alone.
func TestAssignedTo(t *testing.T) {
	k := newClocked(t, time.Now(), "instances = 2\n")
	c := k.hub()
	conv, err := c.Chats.Create(t.Context(), "design")
	check(t, err)
	for text, want := range map[string]string{"@coder hello": "@coder-1 of @coder", "@coder-2 hello": ""} {
		sent, err := c.Chats.Send(t.Context(), conv, text, service.Alias{})
		check(t, err)
		if got := strings.Join(c.Chats.AssignedTo(text, sent.Notified), "; "); got != want {
			t.Errorf("%s: %q, not %q (%v)", text, got, want, sent.Notified)
		}
	}
}

// person is who asks in these tests.
var person = api.Principal{Kind: api.Person, Name: "user", Door: api.DoorCLI}

// An agent whose work waits for its model's provider says so, wherever agents are listed.
func TestAgentsSayThatTheirProviderFails(t *testing.T) {
	ctx := t.Context()
	root := t.TempDir()
	c, _ := openIn(t, root, "\n[[agents]]\nid = \"coder\"\n")
	_, err := c.Agents.Find(ctx, "coder")
	check(t, err)
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(root, "fika.db")})
	check(t, err)
	defer s.Close()
	home, err := folder.HomeAt(root).ID()
	check(t, err)
	a, err := s.EnsureAgent(ctx, store.NewAgent{Name: "coder", HomeID: home})
	check(t, err)
	conv, err := s.ActiveAsk(ctx, a.ID)
	check(t, err)
	_, err = s.Accept(ctx, store.NewRequest{Kind: fika.AskRequest, Agent: a.ID, Conversation: conv.Name, Payload: fika.Payload{Prompt: "hi"}})
	check(t, err)
	l, err := s.Acquire(ctx, a.ID, "test", time.Hour, true)
	check(t, err)
	k, err := s.Claim(ctx, l, store.Limits{}, nil)
	check(t, err)
	_, err = s.Spend(ctx, k.Fence, store.Spent{Round: 1, Kind: fika.FailedStep, Notice: "the provider of @coder fails"})
	check(t, err)
	check(t, s.Suspend(ctx, k.Fence, fika.WaitProvider, time.Now().Add(time.Hour)))
	check(t, s.Renew(ctx, l, time.Hour, store.Beat{State: fika.AgentStopped})) // as a process that rests leaves it
	view, err := c.Agents.View(ctx, "coder")
	check(t, err)
	if want := api.Stands(api.WaitingNotice, "notice", "the provider of @coder fails"); !view.Why.Equal(want) {
		t.Errorf("it says %v", view.Why)
	}
}
