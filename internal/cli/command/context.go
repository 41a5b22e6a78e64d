package command

import (
	"fika"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/text/spelling"
)

// Person returns the person at this terminal.
func (e *Env) Person() app.Person {
	p := app.Person{Stderr: e.Err, Warn: e.Warn}
	if e.InTTY {
		p.Stdin = e.In
	}
	return p
}

// NearContext returns the context whose name is most like name; "" if none is.
func (e *Env) NearContext(h folder.Home, name fika.AgentName) string {
	names, _, err := h.List()
	if err != nil {
		return ""
	}
	var all []string
	for _, n := range names {
		all = append(all, string(n))
	}
	return spelling.Nearest(string(name), all)
}

// CurrentContext returns the current context of the home.
func (e *Env) CurrentContext() (fika.AgentName, error) {
	h, err := e.App().Home()
	if err != nil {
		return "", err
	}
	state, err := h.State()
	return state.Current, err
}
