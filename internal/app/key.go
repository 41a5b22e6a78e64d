package app

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"fika"
	"fika/internal/config"
	"fika/internal/keyfile"
)

// Keys gives the file in which this home's API keys are stored.
func (a *App) Keys() (keyfile.File, error) {
	_, err := a.Root()
	return keyfile.Open(a.KeysFile()), err
}

// SetKey stores an API key. Without hosts it is bound to those of the models
// that name it; a key that no model names yet is bound at its first use.
func (a *App) SetKey(name, value string, hosts []string) ([]string, error) {
	if wrong := config.WrongEnvName(name); wrong != "" {
		return nil, fika.Errorf(fika.Invalid, "keys", "%s", wrong)
	}
	if _, err := a.Home(); err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		var err error
		if hosts, err = (keyring{a}).hostsOf(name); err != nil {
			return nil, err
		}
	}
	return hosts, keyfile.Open(a.KeysFile()).Set(name, value, hosts, a.opts.Now())
}

// keyring finds API keys: in the environment of this process, else in the key
// file.
type keyring struct{ app *App }

// hostsOf are the hosts of the models whose key has a name.
func (k keyring) hostsOf(name string) ([]string, error) {
	c, err := k.app.Config()
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, m := range c.Models {
		full, err := c.FindModel(m.ID, k.app.opts.Getenv)
		if host := hostOf(full.BaseURL); err == nil && full.APIKeyEnv == name && !slices.Contains(hosts, host) {
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

// use returns the key of a model: from the environment of this process, else
// from the key file. A model that names none needs none.
func (k keyring) use(m config.Model) (string, error) {
	if m.APIKeyEnv == "" || m.Provider == config.Scripted {
		return "", nil
	}
	if v := k.app.opts.Getenv(m.APIKeyEnv); v != "" {
		return v, nil
	}
	f, err := k.app.Keys()
	if err != nil {
		return "", err
	}
	v, err := f.Use(m.APIKeyEnv, hostOf(m.BaseURL))
	if fika.IsKind(err, fika.NotFound) {
		return "", fika.Errorf(fika.Invalid, "model", "model %q needs the API key %s, which is neither stored nor in the environment of %s: fika key set %s", m.ID, m.APIKeyEnv, k.whoseEnvironment(), m.APIKeyEnv)
	}
	return v, err
}

// whoseEnvironment says where this process has its environment from.
func (k keyring) whoseEnvironment() string {
	if !k.app.byHub {
		return "this command"
	}
	if h, err := k.app.Home(); err == nil {
		if p, up := h.HubProcess(); up {
			return fmt.Sprintf("the hub (pid %d)", p.PID)
		}
	}
	return "the hub"
}

// lookup reads the names of keys as an environment is read: what there is of a
// key is not empty.
func (k keyring) lookup(name string) string {
	if v := k.app.opts.Getenv(name); v != "" {
		return v
	}
	if f, err := k.app.Keys(); err == nil && f.Has(name) {
		return "stored"
	}
	return ""
}

// KeyOrigin says where the key of a model comes from, never what it is.
func (a *App) KeyOrigin(m config.Model) string {
	f, err := a.Keys()
	switch {
	case m.APIKeyEnv == "" || m.Provider == config.Scripted:
		return "none is needed"
	case a.opts.Getenv(m.APIKeyEnv) != "":
		return "environment " + m.APIKeyEnv
	case err == nil && f.Has(m.APIKeyEnv):
		return "stored (fika key list)"
	}
	return "missing: fika key set " + m.APIKeyEnv
}
