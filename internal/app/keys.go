package app

import (
	"context"
	"io"

	"fika"
	busnats "fika/internal/bus/nats"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/redact"
)

// Secrets are the secrets that this process knows by value: those that models are
// used with, those of the key file, and the passwords of the bus. They are taken out of whatever is
// stored or shown.
func (a *App) Secrets() *redact.Keys {
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
	if h, err := a.Home(); err == nil {
		a.busKeys(h, values)
	}
	return redact.New(values)
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

// cleanHooks takes keys out of what hooks answer.
type cleanHooks struct {
	hook.Runner
	keys *redact.Keys
}

// Fire implements [hook.Runner].
func (c cleanHooks) Fire(ctx context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	out, err := c.Runner.Fire(ctx, at, p)
	for name, v := range out {
		if s, ok := v.(string); ok {
			out[name] = c.keys.Text(s)
		}
	}
	return out, err
}

// cleanWriter takes keys out of each piece that is written: for a person, who
// is shown every piece at once.
type cleanWriter struct {
	io.Writer
	keys *redact.Keys
}

// Write implements [io.Writer].
func (c cleanWriter) Write(p []byte) (int, error) {
	if _, err := c.Writer.Write(c.keys.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
