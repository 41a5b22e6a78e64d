package app

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"fika"
	"fika/internal/bus"
	busnats "fika/internal/bus/nats"
	"fika/internal/store"
)

// Status is how a home is.
type Status struct {
	Home    string
	Hub     fika.Process         // PID 0: no hub runs
	Trouble string               // why the hub that runs does not answer; empty: it does
	HubFrom time.Time            // since when; zero: not known
	BusURL  string               // empty: none
	BusOwn  bool                 // the hub's own server
	BusUp   bool                 // it answers
	BusTrip time.Duration        // how long that took
	Stream  *busnats.StreamState // of foreign requests; nil: it did not tell
	// Warnings say what programs that are not fika cannot rely on, or have lost.
	Warnings []string
	Store    store.Meta
	Bytes    int64 // of the database, its log included
	Agents   []AgentView
	Waiting  int // requests and chats that could be taken now, of all agents
	Paused   bool
}

// Status looks at everything; it needs no hub and starts none.
func (a *App) Status(ctx context.Context) (Status, error) {
	var st Status
	agents, err := a.Agents(ctx)
	if err != nil {
		return st, err
	}
	h := agents.home
	st.Home = h.Root
	if p, up := h.HubProcess(); up {
		st.Hub = p
		st.HubFrom = h.HubSince()
		st.BusURL, st.BusOwn = agents.config().NATS.Server, false
		if !a.External(agents.config(), h) {
			st.BusOwn = true
			if info, err := busnats.ReadEndpoint(h.RunDir()); err == nil {
				st.BusURL = info.URL
			}
		}
	}
	st.Trouble = agents.Client.Trouble
	st.Warnings = append(st.Warnings, busnats.DamageWarnings(h.RunDir())...)
	_, off := agents.Client.Bus.(bus.Nobody)
	if !off {
		st.readBus(ctx, agents.Client)
	}
	s := agents.Client.Store
	if st.Store, err = s.Meta(ctx); err != nil {
		return st, err
	}
	st.Bytes = st.Store.Bytes
	if a.readOnly && strings.HasPrefix(st.Store.Engine, "sqlite") {
		st.Store.Path = h.DatabaseFile() // not that of the copy that is read
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(st.Store.Path + suffix); err == nil {
			st.Bytes += info.Size()
		}
	}
	if st.Paused, err = s.AllPaused(ctx); err != nil {
		return st, err
	}
	work, err := s.WithWork(ctx)
	if err != nil {
		return st, err
	}
	for _, w := range work {
		st.Waiting += w.Open
	}
	st.Agents, err = agents.List(ctx, false)
	return st, err
}

// readBus asks the bus how it is, and does not wait for long.
func (st *Status) readBus(ctx context.Context, c *Client) {
	var err error
	if st.BusTrip, err = busnats.RoundTrip(c.Bus); err != nil {
		return
	}
	st.BusUp = true
	ctx, cancel := context.WithTimeout(ctx, streamPatience)
	defer cancel()
	s, err := busnats.ReadStream(ctx, c.Bus, c.Subjects.Prefix)
	switch {
	case err == nil:
		st.Stream = &s
	case errors.Is(err, busnats.ErrNoJetStream) || !st.BusOwn:
		st.Warnings = append(st.Warnings, busnats.UnkeptWarning(err))
	}
}

// streamPatience is how long a status may wait for the numbers of a stream: a
// server may leave the question of somebody who may not ask unanswered.
const streamPatience = time.Second

// BusAccess is how a program that is not fika reaches the bus, and as whom.
type BusAccess struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	Token    string `json:"token"`
	NKey     string `json:"nkey"`  // path of a seed file
	Creds    string `json:"creds"` // path of a credentials file
	TLSCA    string `json:"tls_ca"`
	TLSCert  string `json:"tls_cert"`
	TLSKey   string `json:"tls_key"`
	Own      bool   `json:"embedded"`
}

// BusAccess returns the place and the credential for a foreign program: those
// of a member of the hub's own server, or those that config names for
// somebody else's.
func (a *App) BusAccess() (BusAccess, error) {
	h, err := a.Home()
	if err != nil {
		return BusAccess{}, err
	}
	c, err := a.Config()
	if err != nil {
		return BusAccess{}, err
	}
	if a.External(c, h) {
		var o busnats.Options
		a.ExternalOptions(c, &o)
		return BusAccess{URL: o.URL, User: o.User, Password: o.Password, Token: o.Token, NKey: o.NKeyFile, Creds: o.CredsFile,
			TLSCA: o.TLSCA, TLSCert: o.TLSCert, TLSKey: o.TLSKey}, nil
	}
	ep, err := busnats.Credentials(h.RunDir(), busnats.UserMember)
	return BusAccess{URL: ep.URL, User: ep.User, Password: ep.Password, Own: true}, err
}

// Listen connects to the bus as one that only listens: while no hub runs it
// waits for one.
func (a *App) Listen(ctx context.Context) (bus.Bus, error) {
	return a.Bus(ctx, busnats.UserMember, true)
}
