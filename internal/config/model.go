package config

import (
	"net/url"
	"strconv"
	"strings"

	"fika"
)

func itoa(i int) string { return strconv.Itoa(i) }

// The addresses of providers that need no definition.
const (
	openAIURL     = "https://api.openai.com/v1"
	anthropicURL  = "https://api.anthropic.com/v1"
	openRouterURL = "https://openrouter.ai/api/v1"
	ollamaURL     = "http://127.0.0.1:11434/v1"
)

// guessProvider tells the protocol from the host: Anthropic speaks its own,
// everybody else the OpenAI-compatible one.
func guessProvider(baseURL string) string {
	if h := hostOf(baseURL); h == "anthropic.com" || strings.HasSuffix(h, ".anthropic.com") {
		return Anthropic
	}
	return OpenAI
}

func hostOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// usualKey gives the variable that usually holds the key of a host; none for
// a loopback address or a host nobody knows.
func usualKey(baseURL string) string {
	switch h := hostOf(baseURL); {
	case h == "anthropic.com", strings.HasSuffix(h, ".anthropic.com"):
		return "ANTHROPIC_API_KEY"
	case h == "openai.com", strings.HasSuffix(h, ".openai.com"):
		return "OPENAI_API_KEY"
	case h == "openrouter.ai", strings.HasSuffix(h, ".openrouter.ai"):
		return "OPENROUTER_API_KEY"
	}
	return ""
}

// wellKnown tells where a model is reached from its name alone: claude-…,
// gpt-… and the like, VENDOR/NAME at OpenRouter.
func wellKnown(name string) (baseURL string) {
	low := strings.ToLower(name)
	switch {
	case strings.Contains(low, "/"):
		return openRouterURL
	case strings.HasPrefix(low, "claude-"):
		return anthropicURL
	case strings.HasPrefix(low, "gpt-"), strings.HasPrefix(low, "chatgpt-"),
		len(low) > 1 && low[0] == 'o' && low[1] >= '1' && low[1] <= '9':
		return openAIURL
	}
	return ""
}

// define finds the definition of a model by id or nickname.
func (c *Config) define(name string) (Model, bool) {
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
	return Model{}, false
}

// reachable reports whether a name leads to a model: by a definition; or,
// where nothing is defined, by what its name tells or a base_url for all.
func (c *Config) reachable(name string) bool {
	if _, ok := c.define(name); ok {
		return true
	}
	return c.BaseURL != "" || len(c.Models) == 0 && wellKnown(name) != ""
}

// Model gives the definition of a model by id or nickname, with everything
// filled in that can be told from it. Error kind: Invalid, with the nearest
// spelling.
func (c *Config) FindModel(name string) (Model, error) {
	m, ok := c.define(name)
	if !ok {
		if !c.reachable(name) {
			return Model{}, fika.Errorf(fika.Invalid, "choose model", "%s", c.unknownModel(name))
		}
		m = Model{ID: name}
	}
	return c.complete(m, overlay{baseURL: c.BaseURL, keyEnv: c.APIKeyEnv, provider: c.Provider})
}

// overlay replaces how a model is reached.
type overlay struct {
	baseURL, keyEnv, provider string
	force                     bool // replaces what the model says too
}

// complete fills in what the definition leaves open.
func (c *Config) complete(m Model, o overlay) (Model, error) {
	if m.BaseURL == "" || o.force && o.baseURL != "" {
		if o.baseURL != "" {
			m.BaseURL = o.baseURL
			if o.force {
				m.APIKeyEnv, m.Provider = "", ""
			}
		}
	}
	if m.APIKeyEnv == "" || o.force && o.keyEnv != "" {
		m.APIKeyEnv = o.keyEnv
	}
	if m.Provider == "" || o.force && o.provider != "" {
		m.Provider = o.provider
	}
	if m.BaseURL == "" && m.Provider != Scripted {
		switch {
		case wellKnown(m.ID) != "":
			m.BaseURL = wellKnown(m.ID)
		case m.Provider == Anthropic:
			m.BaseURL = anthropicURL
		default:
			return m, fika.Errorf(fika.Invalid, "choose model", "the model %s has no base_url, and its name does not tell where it is reached", quote(m.ID))
		}
	}
	m.BaseURL = trimEndpoint(m.BaseURL)
	if m.Provider == "" {
		m.Provider = guessProvider(m.BaseURL)
	}
	if m.APIKeyEnv == "" && m.Provider != Scripted {
		m.APIKeyEnv = usualKey(m.BaseURL)
	}
	if m.WireModel == "" {
		m.WireModel = m.ID
	}
	return m, nil
}

// trimEndpoint takes a method's path off an address: the whole one of a chat
// endpoint means its base.
func trimEndpoint(u string) string {
	u = strings.TrimRight(u, "/")
	for _, tail := range []string{"/chat/completions", "/messages"} {
		u = strings.TrimSuffix(u, tail)
	}
	return u
}

// Cost is what usage costs by these prices. Tokens of reasoning are part of
// the output.
func (p Prices) Cost(u fika.Usage) MicroDollars {
	fresh := max(0, u.Input-u.Cached)
	return MicroDollars(float64(fresh)*p.Input + float64(u.Cached)*p.Cached + float64(u.Output)*p.Output + 0.5)
}

// Known reports whether there are prices at all.
func (p Prices) Known() bool { return p != Prices{} }
