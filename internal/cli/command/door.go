package command

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
)

// Doorway is the service for a door: a command that goes on as long as another program
// uses it. The hub may come and go meanwhile.
type Doorway struct {
	env     *Env
	service *service.Service
	who     api.Principal

	mu     sync.Mutex // held while a hub is started
	failed time.Time  // when that failed last
}

// hubAgain is the wait after a failed start of a hub before the next attempt.
const hubAgain = 10 * time.Second

// OpenDoor opens the service for a door, for whoever runs this command: a person, or the
// agent in whose tool it runs.
func (e *Env) OpenDoor(ctx context.Context, at api.Door) (*Doorway, error) {
	e.App().StayOpen()
	who, err := e.Principal()
	if err != nil {
		return nil, err
	}
	if _, err := e.App().Config(); err != nil { // said now, with all positions
		return nil, err
	}
	e.App().FollowConfig(func(text string) { e.Warn(text) })
	subjects, err := e.App().Subjects()
	if err != nil {
		return nil, err
	}
	bus, err := e.App().ListenerBus(ctx)
	if err != nil {
		return nil, err
	}
	who.Door = at
	c, err := service.OnBus(ctx, e.App(), who, bus, subjects)
	if err != nil {
		return nil, err
	}
	return &Doorway{env: e, service: c, who: who}, nil
}

// At returns the environment of the same command in another folder, with an App of its
// own, which [Env.Reopen] closes.
func (e *Env) At(dir string) *Env {
	return &Env{Streams: e.Streams, Getenv: e.Getenv, Clock: e.Clock, Home: e.Home, Dir: dir, Version: e.Version, Keyboard: e.Keyboard}
}

// Caller returns the service of whoever runs this command.
func (d *Doorway) Caller() api.Service { return service.Door(d.service) }

// IsPerson reports whether a person runs this command.
func (d *Doorway) IsPerson() bool { return d.who.Kind == api.Person }

// Program returns the service of a program that speaks for itself although a person has
// started it: it has the person's rights, but answers nothing that only persons answer.
// name is what it says of itself. Inside a tool, it is the agent.
func (d *Doorway) Program(ctx context.Context, name string) api.Service {
	if !d.IsPerson() {
		return d.Caller()
	}
	return service.Door(d.service.As(api.Principal{
		Kind: api.Program, Name: d.programName(ctx, name), Door: d.who.Door, Agents: []string{"*"}, Most: api.Manages, For: d.who.Name,
	}))
}

// programName makes a name of what a program says of itself that belongs to no agent and
// to no person.
func (d *Doorway) programName(ctx context.Context, said string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		case r == ' ', r == '.', r == '/', r == '@':
			return '-'
		}
		return -1
	}, strings.ToLower(said))
	name = strings.Trim(name[:min(len(name), 20)], "-_")
	if name == "" {
		name = "program"
	}
	if strings.EqualFold(name, d.who.Name) || d.env.App().MayBeCalled(ctx, name) != nil {
		name += "-program"
	}
	return name
}

// Ready starts a hub if none runs and the settings allow it. Unless something was asked
// just now, it starts only one that was killed: one that a person has stopped stays down.
// What was asked is stored already: if no hub starts, the person is told on stderr, and
// work begins with the next hub.
func (d *Doorway) Ready(ctx context.Context, asked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.IsPerson() || time.Since(d.failed) < hubAgain {
		return
	}
	own := d.env.At(d.env.Dir) // an App is for one goroutine
	defer own.Reopen()
	conf, err := own.App().Config()
	if err != nil || !conf.Hub.Autostart {
		return
	}
	hub := service.HubOf(own.App())
	if _, up, err := hub.Process(); err != nil || up || !asked && !hub.WasKilled() {
		return
	}
	if _, _, err := hub.Start(ctx, d.env.Warn); err != nil && ctx.Err() == nil {
		d.failed = time.Now()
		d.env.Warn(fika.Wrap(fika.Failed, "start the hub", err).Error())
	}
}

// Self returns the command line that starts this program, with the home if it is not the
// usual one: for the settings of another program.
func (e *Env) Self(words ...string) ([]string, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "", err)
	}
	line := append([]string{binary}, words...)
	if e.Home != "" || e.Getenv("FIKA_HOME") != "" {
		root, err := e.App().Root()
		if err != nil {
			return nil, err
		}
		line = append(line, "--home", root)
	}
	return line, nil
}
