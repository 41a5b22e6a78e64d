package app

import (
	"fmt"
	"path/filepath"
	"time"

	"fika"
	busnats "fika/internal/bus/nats"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/text/redact"
)

// Secrets returns the secrets whose values this process knows: the keys of models,
// those in the key file, and the passwords of the bus. They are removed from whatever
// is stored or shown. A secret that is set later is included from then on. They are
// safe for concurrent use.
func (k *Keyring) Secrets() *redact.Keys {
	if k.secrets != nil {
		return k.secrets
	}
	src := &secretSource{opts: k.opts}
	src.opts.Log, src.opts.Warn, src.opts.LastGood = nil, nil, true
	if _, err := k.config.Config(); err == nil { // it has been read already: most commands end before anything changes
		if h, now, err := src.stampFiles(k); err == nil {
			src.before, src.first = now, k.secretValues(h)
		}
	}
	k.secrets = redact.NewFollowing(src.lookForNew)
	return k.secrets
}

// secretSource looks for secrets that were set since the last look. Only one goroutine
// at a time uses it, so it has Apps of its own.
type secretSource struct {
	opts   Options
	looked time.Time
	before config.Stamp
	first  map[string]string // what is known before the first look
}

// secretsRest is the minimum time between two looks for new secrets.
const secretsRest = 20 * time.Millisecond

func (s *secretSource) lookForNew() (map[string]string, bool) {
	if first := s.first; first != nil {
		s.first, s.looked = nil, time.Now()
		return first, true
	}
	if time.Since(s.looked) < secretsRest {
		return nil, false
	}
	s.looked = time.Now()
	k := New(s.opts).Keyring
	h, now, err := s.stampFiles(k)
	if err != nil || now.SameAs(s.before) {
		return nil, false
	}
	s.before = now
	return k.secretValues(h), true
}

func (s *secretSource) stampFiles(k *Keyring) (folder.Home, config.Stamp, error) {
	root, err := k.place.Root()
	if err != nil {
		return folder.Home{}, config.Stamp{}, err
	}
	h := folder.HomeAt(root)
	paths, err := k.place.ConfigPaths()
	return h, config.StampOf(append(paths, k.place.KeysFile(), filepath.Join(h.RunDir(), "credentials"), lentDir(h.RunDir()))...), err
}

// secretValues returns all secrets by name.
func (k *Keyring) secretValues(h folder.Home) map[string]string {
	values := map[string]string{}
	if f, err := k.Keys(); err == nil {
		values = f.Values()
	}
	add := func(name string) {
		if v := k.opts.Getenv(name); name != "" && v != "" {
			values[name] = v // the value in use
		}
	}
	for _, name := range config.UsualKeys() {
		add(name)
	}
	if c, err := k.config.Config(); err == nil {
		for _, m := range c.Models {
			for _, name := range m.KeyEnvs() {
				add(name)
			}
		}
		add(c.NATS.PasswordEnv)
		add(c.NATS.TokenEnv)
		for _, w := range c.Webhooks {
			add(w.SecretEnv)
		}
		add(c.OTLP.HeadersEnv)
		for _, s := range c.MCP {
			for _, name := range s.KeyEnvs() {
				add(name)
			}
			for _, name := range s.Env {
				add(name) // NAME=VALUE sets a value here, and names no variable
			}
		}
		values["nats.password"], values["nats.token"] = c.NATS.Password, c.NATS.Token
	}
	k.addBusPasswords(h, values)
	for _, l := range lent(h.RunDir()) {
		for name, v := range l.Values() {
			values[fmt.Sprintf("%s of session %d", name, l.of.PID)] = v
		}
	}
	return values
}

// addBusPasswords adds the passwords of the embedded server that exist.
func (k *Keyring) addBusPasswords(h folder.Home, values map[string]string) {
	users := []string{busnats.UserHub, busnats.UserMember}
	if c, err := k.config.Config(); err == nil {
		for _, entry := range c.Agents {
			users = append(users, busnats.AgentUser(fika.AgentName(entry.ID)))
		}
		for _, m := range c.BusMembers {
			users = append(users, busnats.MemberUser(m.Name))
		}
	}
	for _, user := range users {
		if ep, err := busnats.Credentials(h.RunDir(), user); err == nil {
			values["bus "+user] = ep.Password
		}
	}
}
