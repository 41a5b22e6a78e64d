package app

import (
	"path/filepath"
	"time"

	"fika"
	busnats "fika/internal/bus/nats"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/redact"
)

// Secrets are the secrets that this process knows by value: those that models are
// used with, those of the key file, and the passwords of the bus. They are taken
// out of whatever is stored or shown. One that is set later counts from then on.
// They may be used from many goroutines.
func (a *App) Secrets() *redact.Keys {
	if a.secrets != nil {
		return a.secrets
	}
	src := &secretSource{opts: a.opts}
	src.opts.Log, src.opts.Warn, src.opts.LastGood = nil, nil, true
	if _, err := a.Config(); err == nil { // it is read already: most commands are over before anything changes
		if h, now, err := src.stamp(a); err == nil {
			src.before, src.first = now, keyring{a}.values(h)
		}
	}
	a.secrets = redact.Follow(src.look)
	return a.secrets
}

// secretSource looks for secrets that were set since it looked last. It is used
// by one goroutine at a time, so it has Apps of its own.
type secretSource struct {
	opts   Options
	looked time.Time
	before config.Stamp
	first  map[string]string // what is known before it has looked
}

// secretsRest is the least between two looks for new secrets.
const secretsRest = 20 * time.Millisecond

func (s *secretSource) look() (map[string]string, bool) {
	if first := s.first; first != nil {
		s.first, s.looked = nil, time.Now()
		return first, true
	}
	if time.Since(s.looked) < secretsRest {
		return nil, false
	}
	s.looked = time.Now()
	a := New(s.opts)
	h, now, err := s.stamp(a)
	if err != nil || now.Same(s.before) {
		return nil, false
	}
	s.before = now
	return keyring{a}.values(h), true
}

func (s *secretSource) stamp(a *App) (folder.Home, config.Stamp, error) {
	root, err := a.Root()
	if err != nil {
		return folder.Home{}, config.Stamp{}, err
	}
	h := folder.Home{Root: root}
	paths, err := a.ConfigPaths()
	return h, config.StampOf(append(paths, a.KeysFile(), filepath.Join(h.RunDir(), "credentials"))...), err
}

// values are all secrets by name.
func (k keyring) values(h folder.Home) map[string]string {
	values := map[string]string{}
	if f, err := k.app.Keys(); err == nil {
		values = f.Values()
	}
	add := func(name string) {
		if v := k.app.opts.Getenv(name); name != "" && v != "" {
			values[name] = v // the one that is used
		}
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"} {
		add(name)
	}
	if c, err := k.app.Config(); err == nil {
		for _, m := range c.Models {
			add(m.APIKeyEnv)
		}
		add(c.NATS.PasswordEnv)
		add(c.NATS.TokenEnv)
		values["nats.password"], values["nats.token"] = c.NATS.Password, c.NATS.Token
	}
	k.addBusPasswords(h, values)
	return values
}

// addBusPasswords adds the passwords of the embedded server, as far as there are any.
func (k keyring) addBusPasswords(h folder.Home, values map[string]string) {
	users := []string{busnats.UserHub, busnats.UserMember}
	if c, err := k.app.Config(); err == nil {
		for _, entry := range c.Agents {
			users = append(users, busnats.AgentUser(fika.AgentName(entry.ID)))
		}
	}
	for _, user := range users {
		if ep, err := busnats.Credentials(h.RunDir(), user); err == nil {
			values["bus "+user] = ep.Password
		}
	}
}
