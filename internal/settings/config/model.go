package config

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/settings/toml"
	"fika/internal/system/address"
)

// The addresses of providers that need no definition.
const (
	openAIURL     = "https://api.openai.com/v1"
	anthropicURL  = "https://api.anthropic.com/v1"
	openRouterURL = "https://openrouter.ai/api/v1"
	geminiURL     = "https://generativelanguage.googleapis.com/v1beta"
	ollamaURL     = "http://127.0.0.1:11434/v1"
)

// guessProvider returns the protocol for a host: Anthropic and Google speak their own, all
// others the OpenAI-compatible one, as does Google below /openai.
func guessProvider(baseURL string) string {
	switch {
	case withinDomain(baseURL, "anthropic.com"):
		return Anthropic
	case withinDomain(baseURL, "generativelanguage.googleapis.com") && !strings.Contains(baseURL, "/openai"):
		return Gemini
	}
	return OpenAI
}

// withinDomain reports whether an address is at a domain or below it.
func withinDomain(baseURL, domain string) bool {
	h := hostOf(baseURL)
	return h == domain || strings.HasSuffix(h, "."+domain)
}

func hostOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// usualKey returns the variable that usually holds the key of a host; "" for a loopback
// address or an unknown host.
func usualKey(baseURL string) string {
	switch {
	case withinDomain(baseURL, "anthropic.com"):
		return "ANTHROPIC_API_KEY"
	case withinDomain(baseURL, "openai.com"):
		return "OPENAI_API_KEY"
	case withinDomain(baseURL, "openrouter.ai"):
		return "OPENROUTER_API_KEY"
	case withinDomain(baseURL, "generativelanguage.googleapis.com"):
		return "GEMINI_API_KEY"
	}
	return ""
}

// wellKnown returns the address of a model from its provider or its name alone:
// claude-…, gpt-…, gemini-… and the like, VENDOR/NAME at OpenRouter.
func wellKnown(m Model) (baseURL string) {
	low := strings.ToLower(m.ID)
	switch {
	case m.Provider == Anthropic:
		return anthropicURL
	case m.Provider == Gemini:
		return geminiURL
	case m.Provider == Responses:
		return openAIURL
	case strings.Contains(low, "/"):
		return openRouterURL
	case m.Provider == "" && strings.HasPrefix(low, "claude-"):
		return anthropicURL
	case m.Provider == "" && strings.HasPrefix(low, "gemini-"):
		return geminiURL
	case strings.HasPrefix(low, "gpt-"), strings.HasPrefix(low, "chatgpt-"),
		len(low) > 1 && low[0] == 'o' && low[1] >= '1' && low[1] <= '9':
		return openAIURL
	}
	return ""
}

// defineModel returns the definition of a model by id or nickname. The name scripted
// needs none: it is the scripted model, with the rules in the person's rules.toml.
func (c *Config) defineModel(name string) (Model, bool) {
	for _, m := range c.Models {
		if m.ID == name {
			return m, true
		}
	}
	for _, m := range c.Models {
		if m.Nickname == name && name != "" {
			return m, true
		}
	}
	if name == Scripted {
		return Model{ID: Scripted, Provider: Scripted, Rules: filepath.Join(c.userFolder(), "rules.toml")}, true
	}
	return Model{}, false
}

// userFolder returns where relative paths in a person's settings start if a project's
// are laid over them; "" if there is no such layer and they start at the home.
func (c *Config) userFolder() string {
	if len(c.texts) > 0 && c.texts[0].Layer == userLayer {
		return c.texts[0].Base
	}
	return ""
}

// isReachable reports whether a name leads to a model: by a definition; or, if nothing
// is defined, by a well-known name or a base_url for all.
func (c *Config) isReachable(name string) bool {
	if _, ok := c.defineModel(name); ok {
		return true
	}
	return c.BaseURL != "" || len(c.Models) == 0 && wellKnown(Model{ID: name}) != ""
}

// FindModel returns the definition of a model by id or nickname, with everything filled
// in that follows from it. An Invalid error suggests the nearest spelling. getenv reads
// the environment; nil: an empty one.
func (c *Config) FindModel(name string, getenv func(string) string) (Model, error) {
	m, ok := c.defineModel(name)
	if !ok {
		if !c.isReachable(name) {
			return Model{}, fika.Errorf(fika.NotFound, "choose model", "%s", c.unknownModel(name))
		}
		m = Model{ID: name}
	}
	return c.completeModel(m, route{}, getenv)
}

// route is how a model is reached; nil leaves a part unchanged.
type route struct {
	baseURL, keyEnv, provider *string
}

// completeModel fills in what a definition leaves open, after a context's own route has
// been applied. A key is never sent to another address than the one it was named for: a
// new base_url drops the model's key and provider, and the top-level ones apply only to
// models without an address.
func (c *Config) completeModel(m Model, own route, getenv func(string) string) (Model, error) {
	switch {
	case own.baseURL != nil:
		m.BaseURL, m.APIKeyEnv, m.Provider, m.Insecure = *own.baseURL, "", "", false
	case m.BaseURL == "" && m.Provider != Scripted:
		m.BaseURL = c.BaseURL
		m.APIKeyEnv, m.Provider = cmp.Or(m.APIKeyEnv, c.APIKeyEnv), cmp.Or(m.Provider, c.Provider)
	}
	if own.provider != nil {
		m.Provider = *own.provider
	}
	if m.BaseURL == "" && m.Provider != Scripted {
		var err error
		if m, err = inEnvironment(m, getenv); err != nil {
			return m, err
		}
	}
	if m.BaseURL == "" && m.Provider != Scripted {
		m.BaseURL = wellKnown(m)
		if m.BaseURL == "" {
			return m, fika.Errorf(fika.Invalid, "choose model", "%s", noAddress(m.ID))
		}
	}
	m.BaseURL = trimEndpoint(m.BaseURL)
	if m.Provider == "" {
		m.Provider = guessProvider(m.BaseURL)
	}
	if m.APIKeyEnv == "" && m.Provider != Scripted {
		m.APIKeyEnv = usualKey(m.BaseURL)
	}
	if own.keyEnv != nil {
		m.APIKeyEnv = *own.keyEnv
	}
	m.WireModel = cmp.Or(m.WireModel, m.ID)
	return c.fillKnown(m), nil
}

// inEnvironment gives a model without an address the one that the environment names for
// its provider, as the providers' own programs read it, and with it the provider's
// usual key if that is set: a proxy that holds the keys needs none.
func inEnvironment(m Model, getenv func(string) string) (Model, error) {
	known := wellKnown(m)
	provider, key, names := OpenAI, "OPENAI_API_KEY", []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}
	switch {
	case getenv == nil:
		return m, nil
	case m.Provider == Anthropic || known == anthropicURL:
		provider, key, names = Anthropic, "ANTHROPIC_API_KEY", []string{"ANTHROPIC_BASE_URL"}
	case m.Provider == Responses:
		provider = Responses
	case m.Provider != OpenAI && known != openAIURL:
		return m, nil
	}
	for _, name := range names {
		u := strings.TrimSpace(getenv(name))
		if u == "" {
			continue
		}
		if wrong := checkURL(value{Text: u}, nil); wrong != "" {
			return m, fika.Errorf(fika.Invalid, "choose model", "the environment variable %s: %s", name, wrong)
		}
		m.BaseURL, m.BaseURLFrom, m.Provider = u, name, provider
		if m.APIKeyEnv == "" && getenv(key) != "" {
			m.APIKeyEnv = key
		}
		return m, nil
	}
	return m, nil
}

// HeaderEnv returns the name of the variable or key that holds the value of a header; "" if
// the header has its value itself.
func HeaderEnv(header string) string {
	_, value, _ := strings.Cut(header, ":")
	if env, ok := strings.CutPrefix(strings.TrimSpace(value), "$"); ok {
		return env
	}
	return ""
}

// KeyEnvs returns the names of all variables and keys that are sent to the model's provider.
func (m Model) KeyEnvs() []string {
	var out []string
	if m.APIKeyEnv != "" {
		out = append(out, m.APIKeyEnv)
	}
	for _, h := range m.Headers {
		if env := HeaderEnv(h); env != "" {
			out = append(out, env)
		}
	}
	return out
}

// checkHeaders allows headers that a call to a model does not set by itself.
func checkHeaders(_ value, at any) string {
	return wrongHeaders(*at.(*[]string), func(name string) string {
		switch name {
		case "authorization", "x-api-key", "api-key", "x-goog-api-key":
			return "put the key into the variable that api_key_env names"
		}
		return ""
	})
}

// wrongHeaders says what is wrong with headers; "" if nothing. own returns what to do
// instead of setting a header that fika sends by itself, by its name in lower case; "" if
// it does not.
func wrongHeaders(headers []string, own func(name string) string) string {
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		lower := strings.ToLower(name)
		switch {
		case !ok || name == "" || strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
			return toml.Quote(h) + " is not a header: write it as \"name: value\""
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
			return "the value of " + name + " can only hold printable characters of ASCII"
		}
		if instead := own(lower); instead != "" {
			return name + " is sent by fika itself: " + instead
		}
		switch lower {
		case "host", "content-type", "content-length", "content-encoding", "transfer-encoding", "accept", "accept-encoding", "connection", "user-agent":
			return name + " is sent by fika itself"
		}
		if env := HeaderEnv(h); env != "" {
			if wrong := envName(env); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// keyInClear says what is wrong with a model whose key would cross a network
// unencrypted; "" if nothing.
func keyInClear(m Model) string {
	u, err := url.Parse(m.BaseURL)
	keys := m.KeyEnvs()
	if err != nil || u.Scheme != "http" || len(keys) == 0 || m.Insecure || address.IsLoopback(u.Hostname()) {
		return ""
	}
	return "the key in " + keys[0] + " would go to " + u.Host + " over plain http, where others can read it: use https, or set insecure = true in the model's [[models]] entry"
}

func noAddress(id string) string {
	return "the model " + toml.Quote(id) + " has no base_url, and its name does not tell where it is reached"
}

// trimEndpoint removes a method's path from an address, so that the full address of a
// chat endpoint is accepted as its base.
func trimEndpoint(u string) string {
	u = strings.TrimRight(u, "/")
	for _, tail := range []string{"/chat/completions", "/responses", "/messages"} {
		u = strings.TrimSuffix(u, tail)
	}
	return u
}
