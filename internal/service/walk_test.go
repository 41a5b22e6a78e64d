package service_test

import (
	"path/filepath"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/rights/authority"
	"fika/internal/service"
	"fika/internal/store"
	"fika/internal/workflow"
)

// world is a home in which everything belongs to the person and @gendry: a chat, a
// request with entries in it, a request that waits for an approval, a run, a schedule.
type world struct {
	*testing.T
	person  *service.Service
	gendry  fika.Agent
	secret  fika.Conversation
	home    keyHome
	input   *service.Input // only after steer
	request fika.RequestID
	run     service.Run
	task    fika.TaskNumber
}

func walkWorld(t *testing.T) *world {
	home := keyHome{root: t.TempDir()}
	c, _ := openIn(t, home.root, `
[guard]
sandbox = "off"
[[agents]]
id = "arya"
[[agents]]
id = "gendry"
readable_by = []
[[schedules]]
name = "daily"
cron = "@daily"
agent = "gendry"
prompt = "sesame"
`)
	w := &world{T: t, home: home, person: c}
	ctx := t.Context()
	var err error
	for _, name := range []string{"arya", "gendry"} {
		w.gendry, err = c.Agents.Find(ctx, name)
		check(t, err)
	}
	w.secret, err = c.Chats.Create(ctx, "secret")
	check(t, err)
	_, err = c.Chats.Send(ctx, w.secret, "@gendry sesame", service.Alias{})
	check(t, err)
	accepted, err := c.Requests.Submit(ctx, w.gendry, service.Ask{Kind: fika.TaskRequest, Prompt: "sesame"})
	check(t, err)
	w.request = accepted.Request.ID
	d, err := workflow.Load("asks", "asks.toml", []byte("[[steps]]\nid = 'ask'\napprove = true\nprompt = 'sesame?'\n"), workflow.Known{})
	check(t, err)
	w.run, err = c.Runs().Start(ctx, d, nil)
	check(t, err)
	tasks, err := c.Board().Add(ctx, []service.NewTask{{Title: "sesame", Agent: "gendry"}})
	check(t, err)
	w.task = tasks[0].Number
	return w
}

// steer has @gendry begin with the chat, and says something to it meanwhile.
func (w *world) steer() {
	w.Helper()
	check(w.T, w.home.begin("gendry", 1))
	sent, err := w.person.Chats.Steer(w.Context(), w.secret, "@gendry sesame", nil, service.Alias{})
	check(w.T, err)
	if w.input = sent.Input; w.input == nil {
		w.Fatal("it does not wait for the turn")
	}
}

// startJob has @gendry run a command in the background in the chat. It is job 1.
func (w *world) startJob() {
	w.Helper()
	ctx := w.Context()
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(w.home.root, "fika.db")})
	check(w.T, err)
	defer s.Close()
	l, err := s.Acquire(ctx, w.gendry.ID, "test", time.Hour, true)
	check(w.T, err)
	_, err = s.StartJob(ctx, l, store.Job{Conversation: w.secret.ID, Command: "sesame", Log: w.TempDir()})
	check(w.T, err)
}

// elsewhere are verbs that act on files, processes or this machine: their commands ask
// package authority before anything else, and no door but the command line has them.
func elsewhere(v api.Verb) bool {
	switch v.Name {
	case "home.route", "agent.prompt", "agent.entries", "agent.create-context", "agent.summarise", "agent.restart", "agent.clear", "agent.continue",
		"conversation.export", "conversation.renew", "conversation.release", "agent.health", "request.changes":
		return true
	}
	return v.Host && v.Name != "request.undo"
}

// TestTheWalkOverAllVerbs calls every verb about what is foreign to everybody but the
// person, and holds that it is refused exactly where the table says so; what lists
// leaves it out. A verb without a call fails.
func TestTheWalkOverAllVerbs(t *testing.T) {
	w := walkWorld(t)
	w.steer()
	w.startJob()
	how := calls()
	for _, v := range api.Verbs() {
		if how[v.Name] == nil && !elsewhere(v) {
			t.Errorf("%s is not walked: say how it is called", v.Name)
		}
	}
	for _, who := range authority.Walkers() {
		rel := authority.Foreign
		if authority.SeesAll(who) {
			rel = authority.Own
		}
		s := w.person.As(who)
		for _, v := range api.Verbs() {
			call := how[v.Name]
			if call == nil {
				continue
			}
			want := authority.Check(who, v, rel)
			if want == authority.None && (v.Conduct > api.Looks || rel == authority.Own) {
				continue // allowed: what it then does is held elsewhere
			}
			rows, err := call(t.Context(), w, s)
			hidden := v.Object() == api.ScheduleObject && fika.IsKind(err, fika.NotFound) // not among those that it may know of
			switch {
			case want != authority.None && !refused(err) && !hidden:
				t.Errorf("%s %s: %s is not refused (%v)", who.Kind, who.Door, v.Name, err)
			case want == authority.None && refused(err):
				t.Errorf("%s %s: %s is refused: %v", who.Kind, who.Door, v.Name, err)
			case rows > 0:
				t.Errorf("%s %s: %s shows %d rows of what is foreign", who.Kind, who.Door, v.Name, rows)
			}
		}
	}
	// The person finds all of it, so that the lists above were not empty by accident.
	for _, name := range []string{"home.search", "home.top", "home.events", "conversation.list", "request.list", "run.list", "approval.list", "schedule.list", "board.list", "job.list"} {
		if rows, err := how[name](t.Context(), w, w.person); err != nil || rows == 0 {
			t.Errorf("person: %s shows %d rows, %v", name, rows, err)
		}
	}
}
