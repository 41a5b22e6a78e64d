package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Guest confines another agent program, which may work several turns: its confinement is fixed
// when it starts, and protected files are checked around each turn ([Guest.Watch]), because
// between turns the person may change them.
type Guest struct{ *call }

// Guest returns the confinement of another agent program that works in a folder.
func (a *Agent) Guest(p Place, workspace string) *Guest {
	o := a.opts
	o.Write = append(slices.Clone(o.Write), p.Home)
	if p.Socket != "" {
		o.Sockets = append(slices.Clone(o.Sockets), p.Socket)
	}
	return &Guest{&call{agent: &Agent{opts: o}, workspace: workspace, program: p.Program, shown: p.Shown, long: true}}
}

// Key returns the same text for as long as a process that is started now would be confined as
// one that was started then.
func (g *Guest) Key() (string, error) {
	p, env, _, err := g.profile()
	if err != nil {
		return "", err
	}
	o := g.agent.opts
	text, err := json.Marshal([]any{p, env, o.Mode, o.Hosts, o.Limits, o.User})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// Watch remembers protected files before a turn, as [Server.Watch] does before a call.
func (g *Guest) Watch() (end func() []string, err error) { return (&Server{g.call}).Watch() }
