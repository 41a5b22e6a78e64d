package join

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	busnats "fika/internal/bus/nats"
	"fika/internal/settings/config"
	"fika/internal/store"
	"fika/internal/system/address"
	"fika/internal/text/hint"
)

// Wanted is what a person gives. What is empty is as the settings say, or as the other
// hosts have it.
type Wanted struct {
	Store       string // the address of the database
	Server      string // of NATS
	User        string
	PasswordEnv string
	Creds       string
	CA          string
	Prefix      string
}

// Report says how a home and the servers fit together.
type Report struct {
	Lacks []string // what has to be different first; nothing was written if there is any
	Notes []string
	Hosts []string // that share the database already
	File  string   // the settings that were written; empty: none
}

// Join tries both servers from here, and writes their addresses into the settings of the
// home if nothing is missing.
func Join(ctx context.Context, a *app.App, w Wanted) (Report, error) {
	var r Report
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return r, err
	}
	if p, up := h.HubProcess(); up {
		r.Lacks = append(r.Lacks, fmt.Sprintf("a hub runs here with the settings of before (process %d): %s first", p.PID, hint.Down))
	}
	fit := store.Probe(ctx, store.Options{URL: w.Store, BusyWait: time.Second, Offset: func() time.Duration { return time.Until(a.Now()) }})
	r.Lacks, r.Notes = append(r.Lacks, fit.Lacks...), fit.Notes
	id, err := h.ID()
	if err != nil {
		return r, err
	}
	fit.Hosts = slices.DeleteFunc(fit.Hosts, func(o store.Host) bool { return o.ID == id })
	for _, o := range fit.Hosts {
		r.Hosts = append(r.Hosts, o.Name)
	}
	with, lacks := w.bus(c, fit.Hosts)
	r.Lacks = append(r.Lacks, lacks...)
	if with.Server != "" {
		there := *c
		there.NATS = with
		o := busnats.Options{Name: "fika joining", Timeout: patience}
		if err := a.ExternalOptions(&there, &o); err != nil {
			r.Lacks = append(r.Lacks, err.Error())
		} else {
			r.Lacks = append(r.Lacks, busnats.Probe(ctx, o, with.SubjectPrefix, ours(fit))...)
		}
	}
	if _, err := os.Stat(h.DatabaseFile()); err == nil && c.Store.URL == "" {
		r.Notes = append(r.Notes, "what this home has in fika.db stays there and is used no more; "+hint.StoreMove.With("URL")+" takes it along, into a database that nobody uses yet")
	}
	if len(r.Lacks) > 0 {
		return r, nil
	}
	r.File = h.ConfigFile()
	return r, w.write(r.File, c, with)
}

// ours returns a function that reports whether a database is the one that was tried; nil: which
// that is could not be found out.
func ours(fit store.Fit) func(id string) bool {
	if fit.ID == "" && !fit.Empty {
		return nil
	}
	return func(id string) bool { return id == fit.ID }
}

// patience bounds the attempt to reach NATS.
const patience = 5 * time.Second

// bus returns the settings of the bus, and what is wrong with them.
func (w Wanted) bus(c *config.Config, hosts []store.Host) (n config.NATS, lacks []string) {
	n = c.NATS
	for _, set := range []struct {
		to   *string
		want string
	}{{&n.Server, w.Server}, {&n.User, w.User}, {&n.PasswordEnv, w.PasswordEnv}, {&n.Creds, w.Creds}, {&n.TLS.CA, w.CA}, {&n.SubjectPrefix, w.Prefix}} {
		if set.want != "" {
			*set.to = set.want
		}
	}
	_, chosen := c.WhereSet("nats.subject_prefix")
	chosen = chosen || w.Prefix != ""
	for _, o := range hosts {
		if o.Bus.Prefix == "" {
			continue
		}
		switch {
		case !chosen:
			n.SubjectPrefix, chosen = o.Bus.Prefix, true
		case n.SubjectPrefix != o.Bus.Prefix:
			lacks = append(lacks, fmt.Sprintf("the host %s has the subject_prefix %s, and this one would have %s: they would not hear each other", o.Name, o.Bus.Prefix, n.SubjectPrefix))
		}
		if n.Server == "" {
			n.Server = o.Bus.Server
		}
	}
	if n.Server == "" {
		lacks = append(lacks, "no NATS server is named (--nats tls://HOST:4222): the one inside the hub is for one machine alone")
	}
	return n, lacks
}

// write stores the addresses, that of the database last: it is what makes the home one of
// several.
func (w Wanted) write(path string, c *config.Config, n config.NATS) error {
	for _, set := range []struct{ key, have, want string }{
		{"nats.server", c.NATS.Server, n.Server}, {"nats.user", c.NATS.User, n.User}, {"nats.password_env", c.NATS.PasswordEnv, n.PasswordEnv},
		{"nats.creds", c.NATS.Creds, n.Creds}, {"nats.tls.ca", c.NATS.TLS.CA, n.TLS.CA}, {"nats.subject_prefix", c.NATS.SubjectPrefix, n.SubjectPrefix},
		{"store.url", c.Store.URL, w.Store},
	} {
		if set.have == set.want {
			continue
		}
		if err := config.SetKey(path, set.key, set.want); err != nil {
			return err
		}
	}
	return nil
}

// AddHost makes a role on the server for the host of a name: see [store.AddHostRole].
func AddHost(ctx context.Context, c *config.Config, name string) (store.HostRole, error) {
	if c.Store.URL == "" {
		_, _, err := Invitation(c, "")
		return store.HostRole{}, err
	}
	role := "fika_" + strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	return store.AddHostRole(ctx, store.Options{URL: c.Store.URL, BusyWait: time.Second}, name, role)
}

// Invitation is what a person gives to [Join] on another machine so that it shares the
// database and the bus of this home, and what else it needs there. With a role, the machine
// uses the database with that.
func Invitation(c *config.Config, role string) (w Wanted, needs []string, err error) {
	switch {
	case c.Store.URL == "":
		return w, nil, fika.WithHint(fika.Errorf(fika.Invalid, "", "the database of this home is a file, which no other machine can share: move it to PostgreSQL first"), hint.StoreMove.With("URL"))
	case c.NATS.Server == "":
		return w, nil, fika.Errorf(fika.Invalid, "", "this home has no NATS server of its own in [nats] (server = \"tls://HOST:4222\"): the one inside the hub is for one machine alone")
	}
	n := c.NATS
	w = Wanted{Store: config.WithoutSecrets(c.Store.URL), Server: n.Server, User: n.User, PasswordEnv: n.PasswordEnv, Creds: n.Creds, CA: n.TLS.CA}
	if u, err := url.Parse(w.Store); err == nil && role != "" {
		u.User = url.User(role)
		w.Store = u.String()
	}
	if _, set := c.WhereSet("nats.subject_prefix"); set {
		w.Prefix = n.SubjectPrefix
	}
	for _, server := range []string{w.Store, n.Server} {
		if address.LoopbackURL(server) {
			needs = append(needs, server+" is this machine: another one needs an address that leads here")
		}
	}
	for _, f := range []string{n.TLS.CA, n.TLS.Cert, n.TLS.Key, n.Creds, n.NKey} {
		if f != "" {
			needs = append(needs, "the file "+f)
		}
	}
	if n.PasswordEnv != "" {
		needs = append(needs, "the variable "+n.PasswordEnv+", or "+hint.KeySet.With(n.PasswordEnv))
	}
	return w, append(needs, "the password of the database: "+store.PasswordPlaces), nil
}
