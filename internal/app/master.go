package app

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"github.com/google/uuid"

	"fika"
	"fika/internal/bus"
	"fika/internal/folder"
	"fika/internal/master"
	"fika/internal/process"
	"fika/internal/store"
	"fika/internal/turn"
)

// Master is what the console needs of this home: it implements the small
// interfaces of package master.
type Master struct {
	agents *Agents
	app    *App
	memory *masterMemory
	subs   []bus.Subscription
	ended  chan struct{} // capacity 1: one look reads any number of outcomes
	news   chan string   // capacity 8: display only
	warn   func(string)
}

// Master opens what a console needs. warn tells what a prompt worked here has
// to say. Close it.
func (a *App) Master(ctx context.Context, warn func(string)) (*Master, error) {
	agents, err := a.Agents(ctx)
	if err != nil {
		return nil, err
	}
	if err := agents.home.EnsureDir(agents.home.RunDir()); err != nil {
		return nil, err
	}
	m := &Master{agents: agents, app: a, ended: make(chan struct{}, 1), news: make(chan string, 8), warn: warn}
	m.memory = newMasterMemory(agents.home)
	if !m.memory.shared {
		warn("another console is open here: what this one waits for is not kept for the next")
	}
	if err := m.listen(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// listen rings when some agent ended something, and tells how the bus is.
func (m *Master) listen() error {
	c := m.agents.Client
	sub, err := c.Bus.Subscribe(c.Subjects.Response("*"), func(bus.Msg) {
		select {
		case m.ended <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	last := bus.Connected
	watch := c.Bus.Watch(func(s bus.State, _ error) {
		if s == last || s == bus.Closed || s == bus.Off {
			return
		}
		last = s
		text := "the bus is back"
		if s != bus.Connected {
			text = "the bus is away; work goes on, and outcomes are read from the store"
		}
		select {
		case m.news <- text:
		default:
		}
	})
	m.subs = append(m.subs, sub, watch)
	return nil
}

// Close ends the subscriptions and lets another console keep what it waits for.
func (m *Master) Close() error {
	var errs []error
	for _, s := range m.subs {
		errs = append(errs, s.Close())
	}
	m.subs = nil
	return errors.Join(append(errs, m.memory.Close())...)
}

// Options are those of the console, but for the screen.
func (m *Master) Options() master.Options {
	c := m.agents.config()
	o := master.Options{
		Router: m, Keeper: m, Archive: m, Memory: m.memory, Ended: m.ended, News: m.news,
		Agents: len(c.Agents) > 0, Default: fika.AgentName(strings.ToLower(c.Master.DefaultAgent)),
		Health: min(c.Master.HeartbeatCheckInterval, 5*time.Second), Now: m.app.Now,
		NewID: func() fika.RequestID { return fika.RequestID(uuid.Must(uuid.NewV7()).String()) },
	}
	if o.Health <= 0 {
		o.Health = 5 * time.Second
	}
	return o
}

// BusLine says how the console is connected.
func (m *Master) BusLine() string {
	if _, off := m.agents.Client.Bus.(bus.Nobody); off {
		return "Not connected: no hub is running, so requests wait in the store (fika up)"
	}
	return "Connected to the bus (" + m.agents.Client.Subjects.All() + ")"
}

// Agent finds an agent by what was typed; one that only the config names is
// made.
func (m *Master) Agent(ctx context.Context, name string) (fika.Agent, error) {
	return m.agents.Find(ctx, name)
}

// Submit commits a request, wakes its agent, and says why that will not come to
// it by itself.
func (m *Master) Submit(ctx context.Context, id fika.RequestID, kind fika.RequestKind, row fika.Agent, prompt string) (never string, err error) {
	settings, err := m.app.Settings(row.Name, nil, false)
	if err != nil && !fika.IsKind(err, fika.Invalid) {
		return "", err
	}
	_, err = m.agents.Client.Submit(ctx, store.NewRequest{
		ID: id, Kind: kind, Origin: fika.Queued, Agent: row.ID,
		Payload: fika.Payload{Prompt: prompt, From: settings.Username, Writer: fika.ByHuman, Sender: "master"},
	}, row.Name)
	if err != nil {
		return "", err
	}
	if conf, err := m.app.Config(); err == nil && conf.Hub.Autostart {
		if _, up := m.agents.home.HubProcess(); !up {
			return "", nil // the console starts one
		}
	}
	return m.agents.NeverAnswers(ctx, row), nil
}

// Request reads one.
func (m *Master) Request(ctx context.Context, id fika.RequestID) (store.RequestInfo, error) {
	return m.agents.Client.Store.Request(ctx, id)
}

// Cancel asks for a request to end.
func (m *Master) Cancel(ctx context.Context, id fika.RequestID) (fika.Request, error) {
	info, err := m.agents.Client.Store.Request(ctx, id)
	if err != nil {
		return info.Request, err
	}
	return m.agents.Client.Cancel(ctx, info.ID, "cancelled from the master console")
}

// Here works a prompt in the current context, as fika run does.
func (m *Master) Here(ctx context.Context, prompt string) (store.RequestInfo, error) {
	state, err := m.agents.home.State()
	if err != nil {
		return store.RequestInfo{}, err
	}
	here := m.app.Again() // an App is for one goroutine
	defer here.Close()
	began := m.app.Now()
	ran, err := here.Run(ctx, RunOptions{
		Context: state.Current, Prompt: prompt, Observer: turn.ObserverFunc(func(turn.Event) {}), Warn: m.warn,
	})
	if err != nil {
		return store.RequestInfo{}, err
	}
	return store.RequestInfo{AgentName: ran.Context, Request: fika.Request{
		ID: ran.Request, State: ran.State, Reason: ran.Reason, Outcome: ran.Outcome, StartedAt: began, FinishedAt: m.app.Now(),
	}}, nil
}

// List gives the agents as they are.
func (m *Master) List(ctx context.Context) ([]master.Agent, error) {
	views, err := m.agents.List(ctx, false)
	if err != nil {
		return nil, err
	}
	out := make([]master.Agent, 0, len(views))
	for _, v := range views {
		a := master.Agent{
			Name: v.Row.Name, Status: v.Status, Model: v.Model, PID: v.PID, Uptime: -1, Requests: v.Processed, Waiting: v.Waiting,
			Seen: v.Row.SeenAt, Trouble: v.Trouble, Why: v.Why,
		}
		if v.Alive() && !v.Since.IsZero() {
			a.Uptime = m.app.Now().Sub(v.Since)
		}
		out = append(out, a)
	}
	return out, nil
}

// Start starts an agent and waits for its first sign of life.
func (m *Master) Start(ctx context.Context, name string) (pid int, already bool, err error) {
	before, err := m.agents.View(ctx, name)
	if err != nil {
		return 0, false, err
	}
	v, err := m.agents.Start(ctx, before.Row, 20*time.Second)
	return v.PID, err == nil && v.PID == before.PID, err
}

// Stop stops one in the given manner.
func (m *Master) Stop(ctx context.Context, name string, how fika.Desired) error {
	row, err := m.agents.Find(ctx, name)
	if err != nil {
		return err
	}
	patience := 45 * time.Second
	if how == fika.DesiredFinish {
		patience = 24 * time.Hour
	}
	_, err = m.agents.Stop(ctx, row, how, patience)
	return err
}

// Reset gives one a new ask conversation.
func (m *Master) Reset(ctx context.Context, name string) (fika.AgentName, error) {
	row, err := m.agents.Find(ctx, name)
	if err != nil {
		return "", err
	}
	_, err = m.agents.Reset(ctx, row)
	return row.Name, err
}

// Switch makes another ask conversation the active one.
func (m *Master) Switch(ctx context.Context, name, conversation string) error {
	row, err := m.agents.Find(ctx, name)
	if err != nil {
		return err
	}
	_, err = m.agents.Switch(ctx, row, conversation)
	return err
}

// Conversations lists those of one agent, or of all, newest first.
func (m *Master) Conversations(ctx context.Context, name string, kind fika.ConversationKind) ([]store.ConversationInfo, error) {
	f := store.ConversationFilter{Kind: kind, Limit: 30}
	if name != "" {
		row, err := m.agents.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		f.Agent = row.ID
	}
	return m.agents.Client.Store.ListConversations(ctx, f)
}

// Active tells which ask conversations are gone on with.
func (m *Master) Active(ctx context.Context) (map[fika.ConversationID]bool, error) {
	rows, err := m.agents.Client.Store.ListAgents(ctx)
	out := map[fika.ConversationID]bool{}
	for _, r := range rows {
		out[r.ActiveAsk] = true
	}
	return out, err
}

// Usage tells what was spent since ever.
func (m *Master) Usage(ctx context.Context) ([]store.UsageRow, error) {
	return m.agents.Client.Store.UsageSince(ctx, time.Time{})
}

// masterMemory keeps the ids a console waits for in run/master.json. Only one
// console of a home does; the others remember nothing.
type masterMemory struct {
	path   string
	lock   *os.File // nil: it cannot be opened
	shared bool     // this console has the file
	mu     sync.Mutex
}

func newMasterMemory(h folder.Home) *masterMemory {
	m := &masterMemory{path: filepath.Join(h.RunDir(), "master.json")}
	lock, err := os.OpenFile(filepath.Join(h.RunDir(), "master.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		m.lock, m.shared = lock, process.LockFile(lock) == nil
	}
	return m
}

// Load reads the ids; a file that makes no sense is set aside.
func (m *masterMemory) Load() ([]fika.RequestID, error) {
	if !m.shared {
		return nil, nil
	}
	data, err := os.ReadFile(m.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "console", err)
	}
	var ids []fika.RequestID
	if err := json.Unmarshal(data, &ids); err != nil {
		_ = os.Rename(m.path, m.path+".bad")
		return nil, fika.Errorf(fika.Invalid, "console", "%s is not readable and was set aside as master.json.bad; fika request list shows what is at work", m.path)
	}
	return ids, nil
}

// Save replaces them.
func (m *masterMemory) Save(ids []fika.RequestID) error {
	if !m.shared {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data, err := json.Marshal(ids)
	if err == nil {
		err = renameio.WriteFile(m.path, append(data, '\n'), 0o600)
	}
	return fika.Wrap(fika.Storage, "console", err)
}

// Close lets another console have the file.
func (m *masterMemory) Close() error {
	if m.lock == nil {
		return nil
	}
	return m.lock.Close()
}
