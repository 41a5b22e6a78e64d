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
	o := a.opts
	o.Log, o.Warn, o.LastGood = nil, nil, true
	var before config.Stamp
	var looked time.Time
	a.secrets = redact.Follow(func() (map[string]string, bool) {
		if time.Since(looked) < secretsRest {
			return nil, false
		}
		looked = time.Now()
		at := New(o)
		root, err := at.Root()
		if err != nil {
			return nil, false
		}
		h := folder.Home{Root: root}
		now := config.StampOf(append(config.HomeFiles(root), h.KeysFile(), filepath.Join(h.RunDir(), "credentials"))...)
		if now.Same(before) {
			return nil, false
		}
		before = now
		return at.secretValues(h), true
	})
	return a.secrets
}

// secretsRest is the least between two looks for new secrets.
const secretsRest = 20 * time.Millisecond

func (a *App) secretValues(h folder.Home) map[string]string {
	values := map[string]string{}
	if f, err := a.Keys(); err == nil {
		values = f.Values()
	}
	add := func(name string) {
		if v := a.opts.Getenv(name); name != "" && v != "" {
			values[name] = v // the one that is used
		}
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"} {
		add(name)
	}
	if c, err := a.Config(); err == nil {
		for _, m := range c.Models {
			add(m.APIKeyEnv)
		}
		add(c.NATS.PasswordEnv)
		add(c.NATS.TokenEnv)
		values["nats.password"], values["nats.token"] = c.NATS.Password, c.NATS.Token
	}
	a.busKeys(h, values)
	return values
}

// busKeys adds the passwords of the embedded server, as far as there are any.
func (a *App) busKeys(h folder.Home, values map[string]string) {
	users := []string{busnats.UserHub, busnats.UserMember}
	if c, err := a.Config(); err == nil {
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
