package app

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/settings/keyfile"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
	"fika/internal/text/redact"
)

// Keys returns the file in which this home's API keys are stored.
func (k *Keyring) Keys() (keyfile.File, error) {
	_, err := k.place.Root()
	return keyfile.Open(k.place.KeysFile()), err
}

// SetKey stores an API key. Without hosts it is bound to the hosts of the models that
// name it; a key that no model names yet is bound at its first use. When SetKey
// returns, every process of this home removes the value from what it stores or shows.
func (k *Keyring) SetKey(ctx context.Context, name, value string, hosts []string) ([]string, error) {
	if wrong := config.WrongEnvName(name); wrong != "" {
		return nil, fika.Errorf(fika.Invalid, "keys", "%s", wrong)
	}
	if _, err := k.home.Home(); err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		var err error
		if hosts, err = k.hostsOf(name); err != nil {
			return nil, err
		}
	}
	if err := keyfile.Open(k.place.KeysFile()).Set(name, value, hosts, k.opts.Now()); err != nil {
		return nil, err
	}
	_ = sleep.For(ctx, secretsRest) // others may have looked just before; it is stored in any case
	return hosts, nil
}

// Keyring finds API keys: in the environment of this process, else in the key file. A
// process that the hub has started looks first at what sessions lend: see
// [Keyring.LendKeys].
type Keyring struct {
	opts    Options
	place   *Place
	home    *OpenedHome
	config  *Configuration
	byHub   bool         // this is the hub, or an agent with the hub's environment
	secrets *redact.Keys // nil: not needed yet
}

// StartedByHub says that this process is the hub or has its environment from it, so
// that advice about a missing key names the hub.
func (k *Keyring) StartedByHub() { k.byHub = true }

// hostsOf returns the hosts of the models that use the named key.
func (k *Keyring) hostsOf(name string) ([]string, error) {
	c, err := k.config.Config()
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, m := range c.Models {
		full, err := c.FindModel(m.ID, k.opts.Getenv)
		if host := hostOf(full.BaseURL); err == nil && slices.Contains(full.KeyEnvs(), name) && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// useKey returns the key of a model: from the environment of this process, else from
// the key file. A model that names no key needs none.
func (k *Keyring) useKey(m config.Model) (string, error) {
	if m.APIKeyEnv == "" || m.Provider == config.Scripted {
		return "", nil
	}
	return k.named(m, m.APIKeyEnv)
}

// named returns a key that is sent to a model's provider.
func (k *Keyring) named(m config.Model, name string) (string, error) {
	if l, ok := k.lender(name); ok {
		if v, err := l.Use(name, hostOf(m.BaseURL)); err == nil { // else it is for other hosts, or the session has just ended
			return v, nil
		}
	}
	if v := k.opts.Getenv(name); v != "" {
		return v, nil
	}
	f, err := k.Keys()
	if err != nil {
		return "", err
	}
	v, err := f.Use(name, hostOf(m.BaseURL))
	if fika.IsKind(err, fika.NotFound) {
		return "", fika.WithHint(fika.Errorf(fika.Invalid, "model", "model %q needs the API key %s, which is neither stored nor in the environment of %s", m.ID, name, k.whoseEnvironment()), hint.KeySet.With(name))
	}
	return v, err
}

// headers returns the headers of a model's own.
func (k *Keyring) headers(m config.Model) (map[string]string, error) {
	return headersOf(m.Headers, func(env string) (string, error) { return k.named(m, env) })
}

// ServerHeaders returns the headers that are sent to a remote MCP server.
func (k *Keyring) ServerHeaders(s config.MCPServer) (map[string]string, error) {
	return headersOf(s.Headers, func(env string) (string, error) { return k.ServerKey(env, s) })
}

// headersOf returns headers of the settings by name; key returns the value of a variable
// or stored key.
func headersOf(lines []string, key func(env string) (string, error)) (map[string]string, error) {
	out := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		out[name] = strings.TrimSpace(value)
		if env := config.HeaderEnv(line); env != "" {
			var err error
			if out[name], err = key(env); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// whoseEnvironment says where the environment of this process comes from.
func (k *Keyring) whoseEnvironment() string {
	if !k.byHub {
		return "this command"
	}
	if h, err := k.home.Home(); err == nil {
		if p, up := h.HubProcess(); up {
			return fmt.Sprintf("the hub (pid %d)", p.PID)
		}
	}
	return "the hub"
}

// lookupName is like looking up a variable in an environment, but never returns the
// value of a key from the key file: only that it is not empty.
func (k *Keyring) lookupName(name string) string {
	if v := k.opts.Getenv(name); v != "" {
		return v
	}
	if _, ok := k.lender(name); ok {
		return "lent"
	}
	if f, err := k.Keys(); err == nil && f.Has(name) {
		return "stored"
	}
	return ""
}

// ServerKey returns a secret of an MCP server: from the environment of this process,
// else from the key file, where it is bound to the server's host, or to mcp:NAME for a
// server that is started here.
func (k *Keyring) ServerKey(name string, s config.MCPServer) (string, error) {
	if v := k.opts.Getenv(name); v != "" {
		return v, nil
	}
	f, err := k.Keys()
	if err != nil {
		return "", err
	}
	to := "mcp:" + s.Name
	if s.IsRemote() {
		to = hostOf(s.URL)
	}
	v, err := f.Use(name, to)
	if fika.IsKind(err, fika.NotFound) {
		return "", fika.WithHint(fika.Errorf(fika.Invalid, "mcp server "+s.Name, "it needs %s, which is neither stored nor in the environment of %s", name, k.whoseEnvironment()), hint.KeySet.With(name))
	}
	return v, err
}

// WebhookSecret returns what signs the messages to a receiver of events: from the
// environment of this process, else from the key file, where it is bound to the receiver's
// host.
func (k *Keyring) WebhookSecret(w config.Webhook) (string, error) {
	return k.forHost("webhook", w.SecretEnv, w.URL)
}

// CollectorHeaders returns the headers for a collector, found like a webhook's secret; empty
// if the setting names none.
func (k *Keyring) CollectorHeaders(o config.OTLP) (string, error) {
	if o.HeadersEnv == "" {
		return "", nil
	}
	return k.forHost("otlp", o.HeadersEnv, o.Endpoint)
}

// forHost returns a value of the environment, else of the key file, where it is bound to the
// host of an address.
func (k *Keyring) forHost(op, name, address string) (string, error) {
	if v := k.opts.Getenv(name); v != "" {
		return v, nil
	}
	f, err := k.Keys()
	if err != nil {
		return "", err
	}
	v, err := f.Use(name, hostOf(address))
	if fika.IsKind(err, fika.NotFound) {
		return "", fika.WithHint(fika.Errorf(fika.Invalid, op, "%s is neither stored nor in the environment of %s", name, k.whoseEnvironment()), hint.KeySet.With(name))
	}
	return v, err
}

// KeyOrigin says where the key of a model comes from, but never its value.
func (k *Keyring) KeyOrigin(m config.Model) string {
	f, err := k.Keys()
	switch {
	case m.APIKeyEnv == "" || m.Provider == config.Scripted:
		return "no key needed"
	case k.opts.Getenv(m.APIKeyEnv) != "":
		return "environment " + m.APIKeyEnv
	case err == nil && f.Has(m.APIKeyEnv):
		return "stored: " + hint.KeyList.With()
	}
	return "missing: " + hint.KeySet.With(m.APIKeyEnv)
}
