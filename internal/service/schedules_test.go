package service_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/store"
)

// clocked is a home whose schedules go by a clock that the test moves.
type clocked struct {
	*testing.T
	root string
	mu   sync.Mutex
	now  time.Time
}

const scheduledHome = `username = "anna"

[[models]]
id = "m"
provider = "scripted"
rules = "rules.toml"

[[agents]]
id = "coder"
`

func newClocked(t *testing.T, now time.Time, schedules string) *clocked {
	t.Helper()
	k := &clocked{T: t, root: t.TempDir(), now: now}
	check(t, os.WriteFile(filepath.Join(k.root, "rules.toml"), nil, 0o600))
	k.define(schedules)
	return k
}

// define writes the settings.
func (k *clocked) define(schedules string) {
	check(k.T, os.WriteFile(filepath.Join(k.root, "config.toml"), []byte(scheduledHome+schedules), 0o600))
}

func (k *clocked) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

func (k *clocked) set(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = now
}

// hub is a service as a hub has one, with settings as they are now.
func (k *clocked) hub() *service.Service {
	k.Helper()
	a := app.New(app.Options{Root: k.root, Getenv: func(string) string { return "" }, Dir: k.root, Now: k.Now})
	k.Cleanup(func() {
		if err := a.Close(); err != nil {
			k.Error(err)
		}
	})
	c, err := service.Open(k.Context(), a, api.Principal{Kind: api.System, Name: "hub"})
	check(k.T, err)
	return c
}

// look is what a hub does every two seconds. What it begins ends at once.
func (k *clocked) look(c *service.Service) {
	k.Helper()
	c.Schedules().BeginDue(k.Context())
	for _, r := range k.requests(c) {
		if r.State == fika.Open {
			_, err := c.Requests.Cancel(k.Context(), r.ID, "seen")
			check(k.T, err)
		}
	}
}

func (k *clocked) requests(c *service.Service) []service.RequestInfo {
	k.Helper()
	list, err := c.Requests.List(k.Context(), service.RequestFilter{})
	check(k.T, err)
	return list
}

func (k *clocked) begun(c *service.Service, want int) {
	k.Helper()
	if got := len(k.requests(c)); got != want {
		k.Errorf("%s: %d requests, not %d", k.Now().Format(time.RFC3339), got, want)
	}
}

const everyMinute = "\n[[schedules]]\nname = \"tick\"\ncron = \"* * * * *\"\nagent = \"coder\"\nprompt = \"now\"\n"

// TestScheduleCatchesUpOnce: every minute, and no hub for ten of them: one request
// catches up. A schedule that is new does not look back.
func TestScheduleCatchesUpOnce(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 20, 0, time.UTC)
	k := newClocked(t, start, everyMinute)
	c := k.hub()
	k.look(c)
	k.begun(c, 0)
	for minute := range 3 {
		k.set(start.Add(time.Duration(minute+1) * time.Minute))
		k.look(c)
		k.look(c)
		k.begun(c, minute+1)
	}
	k.set(start.Add(13 * time.Minute))
	c = k.hub() // a new one
	k.look(c)
	k.look(c)
	k.begun(c, 4)
	one, err := c.Schedules().Find(t.Context(), "tick")
	check(t, err)
	if one.Missed != 9 || !one.Planned.Equal(start.Add(13*time.Minute).Truncate(time.Minute)) || !one.Next.Equal(one.Planned.Add(time.Minute)) {
		t.Errorf("caught up: %+v", one.ScheduleState)
	}
	k.set(start.Add(12 * time.Minute)) // the clock is set back
	k.look(c)
	k.set(start.Add(13*time.Minute + time.Second))
	k.look(c)
	k.begun(c, 4)
	k.set(start.Add(14 * time.Minute))
	k.look(c)
	k.begun(c, 5)
}

// TestScheduleOnClockChanges: what comes in the night comes once in the night in
// which clocks go forward, and once in that in which they go back.
func TestScheduleOnClockChanges(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Stockholm")
	check(t, err)
	k := newClocked(t, time.Date(2026, 3, 28, 12, 0, 0, 0, zone),
		"\n[[schedules]]\nname = \"night\"\ncron = \"30 2 * * *\"\nzone = \"Europe/Stockholm\"\nagent = \"coder\"\nprompt = \"now\"\n")
	c := k.hub()
	want := 0
	for _, day := range []time.Time{time.Date(2026, 3, 28, 20, 0, 0, 0, zone), time.Date(2026, 10, 24, 20, 0, 0, 0, zone)} {
		k.set(day)
		k.look(c) // and what was missed in between
		want = len(k.requests(c))
		for at := day; at.Before(day.Add(15 * time.Hour)); at = at.Add(15 * time.Minute) {
			k.set(at)
			k.look(c)
		}
		k.begun(c, want+1)
	}
}

// TestManyHubsBeginOnce: however many look, at whatever moment, each time comes
// once, and nothing else is written.
func TestManyHubsBeginOnce(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 20, 0, time.UTC)
	k := newClocked(t, start, everyMinute)
	hubs := []*service.Service{k.hub(), k.hub(), k.hub()}
	for minute := range 4 {
		k.set(start.Add(time.Duration(minute) * time.Minute))
		var wg sync.WaitGroup
		for _, c := range hubs {
			wg.Go(func() { c.Schedules().BeginDue(t.Context()) })
		}
		wg.Wait()
		k.look(hubs[0])
		k.begun(hubs[0], minute)
	}
}

// TestScheduleTrouble: what hinders a schedule is said with it and holds up no
// other; a run and a message in a chat that is not there yet begin.
func TestScheduleTrouble(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 20, 0, time.UTC)
	k := newClocked(t, start, `
[[schedules]]
name = "a"
cron = "* * * * *"
chat = "room"
prompt = "@nobody are you there?"

[[schedules]]
name = "b"
cron = "* * * * *"
workflow = "nothing"

[[schedules]]
name = "c"
cron = "* * * * *"
chat = "standup"
prompt = "@coder what is next?"

[[schedules]]
name = "d"
cron = "* * * * *"
workflow = "one"
prompt = "hello"
`)
	check(t, os.Mkdir(filepath.Join(k.root, "workflows"), 0o700))
	check(t, os.WriteFile(filepath.Join(k.root, "workflows", "one.toml"), []byte("[inputs]\nprompt = {}\n[[steps]]\nid = \"a\"\nagent = \"coder\"\nprompt = \"{{.inputs.prompt}}\"\n"), 0o600))
	c := k.hub()
	c.Schedules().BeginDue(t.Context())
	k.set(start.Add(time.Minute))
	if !c.Schedules().BeginDue(t.Context()) {
		t.Error("nothing is going to be due")
	}
	list, err := c.Schedules().List(t.Context())
	check(t, err)
	var said []string
	for _, s := range list {
		said = append(said, fmt.Sprint(s.Schedule.Name, " ", s.Going, " ", s.Trouble))
	}
	for i, want := range []string{`a false agent "nobody" not found`, `b false workflow "nothing" not found`, "c true ", "d true "} {
		if i >= len(said) || !strings.Contains(said[i], want) {
			t.Errorf("%q, not %q", said, want)
		}
	}
	k.set(start.Add(2 * time.Minute)) // nobody answers: it does not pile up
	c.Schedules().BeginDue(t.Context())
	conv, err := c.Chats.Find(t.Context(), "standup")
	check(t, err)
	if conv.LastSeq != 1 {
		t.Errorf("%d messages in the chat", conv.LastSeq)
	}
	if s, err := c.Schedules().Find(t.Context(), "c"); err != nil || s.Trouble != "what it began last is still running" {
		t.Errorf("%q, %v", s.Trouble, err)
	}
}

// TestScheduleGoes: a schedule that the settings define no more leaves nothing
// behind, and one that is paused stays so until it is resumed.
func TestScheduleGoes(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 20, 0, time.UTC)
	k := newClocked(t, start, everyMinute)
	c := k.hub()
	_, err := c.Schedules().Pause(t.Context(), "tick")
	check(t, err)
	k.set(start.Add(5 * time.Minute))
	if c.Schedules().BeginDue(t.Context()) {
		t.Error("something paused is going to be due")
	}
	k.begun(c, 0)
	_, err = c.Schedules().Resume(t.Context(), "tick")
	check(t, err)
	k.look(c)
	k.begun(c, 0)
	k.set(start.Add(6 * time.Minute))
	k.look(c)
	k.begun(c, 1)
	k.define("")
	c = k.hub()
	if c.Schedules().BeginDue(t.Context()) {
		t.Error("something that is gone is going to be due")
	}
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(k.root, "fika.db"), Existing: true})
	check(t, err)
	defer func() { check(t, s.Close()) }()
	if list, _, err := s.ScheduleStates(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestScheduledSummary: what begins is a task whose answer is a summary, once; of a
// pool no member is chosen by itself.
func TestScheduledSummary(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 20, 0, time.UTC)
	k := newClocked(t, start, "\n[[schedules]]\nname = \"evening\"\ncron = \"0 18 * * *\"\nagent = \"coder\"\nsummarise = true\n")
	c := k.hub()
	k.look(c)
	k.set(start.Add(7 * time.Hour))
	k.look(c)
	k.look(c)
	k.begun(c, 1)
	if r := k.requests(c)[0]; !r.Payload.Summary || r.Kind != fika.TaskRequest || r.AgentName != "coder" || r.Payload.Prompt == "" {
		t.Errorf("begun: %+v", r.Request)
	}
	k.define("instances = 2\n")
	c = k.hub()
	sum := config.Schedule{Name: "pooled", Cron: "@daily", Agent: "coder", Summarise: true}
	if _, err := c.Schedules().Add(t.Context(), sum); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "coder-1") {
		t.Errorf("of a pool: %v", err)
	}
	sum.Agent = "coder-2"
	if one, err := c.Schedules().Add(t.Context(), sum); err != nil || one.WhatBegins() != "summary of coder-2" {
		t.Errorf("of a member: %v, %v", one, err)
	}
	if text, err := os.ReadFile(filepath.Join(k.root, "config.toml")); err != nil || !strings.Contains(string(text), "summarise = true\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
