package config

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"fika"
)

func userHome() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// usual is the model that a provider's usual key means where no file chooses one.
type usual struct{ variable, id string }

func usualModels() []usual {
	return []usual{
		{"ANTHROPIC_API_KEY", "claude-sonnet-5-5"},
		{"OPENAI_API_KEY", "gpt-5.5"},
		{"OPENROUTER_API_KEY", "openrouter/auto"},
		{"GEMINI_API_KEY", "gemini-2.5-pro"},
	}
}

// UsualKeys returns the variables that hold the keys of the providers that are known
// without a setting, in the order in which [DefaultModel] looks for them.
func UsualKeys() []string {
	var names []string
	for _, u := range usualModels() {
		names = append(names, u.variable)
	}
	return names
}

// DefaultModel chooses a model if no file does: by the first of [UsualKeys] that env has,
// else the first model of an Ollama on this machine (asked for at most a fifth of a
// second). An Invalid error says what to set.
func DefaultModel(env func(string) string) (Model, error) {
	return defaultModel(env, ollamaURL)
}

func defaultModel(env func(string) string, ollama string) (Model, error) {
	none := Default()
	for _, p := range usualModels() {
		if env != nil && env(p.variable) != "" {
			return none.completeModel(Model{ID: p.id, APIKeyEnv: p.variable}, route{}, env)
		}
	}
	if id := askOllama(ollama); id != "" {
		return none.completeModel(Model{ID: id, BaseURL: ollama}, route{}, env)
	}
	return Model{}, fika.Errorf(fika.Invalid, "", `no model is configured, and none was found. Do one of these:
  fika key set ANTHROPIC_API_KEY (or OPENAI_API_KEY, OPENROUTER_API_KEY, GEMINI_API_KEY)
  export ANTHROPIC_API_KEY=...   (or one of the others)
  ollama pull NAME               (a model on this machine, once Ollama runs)
  a server of your own: fika help models
To look around without a model: fika demo`)
}

// namingModels extends the error that no model was found by the models that are
// defined, if any: one of them has to be chosen.
func (c *Config) namingModels(err error) error {
	if len(c.Models) == 0 {
		return err
	}
	var names []string
	for _, m := range c.Models {
		name := m.ID
		if m.Nickname != "" {
			name += " (" + m.Nickname + ")"
		}
		names = append(names, name)
	}
	first := cmp.Or(c.Models[0].Nickname, c.Models[0].ID)
	return fika.Errorf(fika.Invalid, "choose model", "which model? config.toml defines %s; choose one for all with model = %s at its top, or for this prompt with -m %s",
		strings.Join(names, ", "), QuoteTOML(first), first)
}

// askOllama returns the first model of a local Ollama, or "".
func askOllama(base string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/v1")+"/api/tags", nil)
	if err != nil {
		return ""
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&tags) != nil || len(tags.Models) == 0 {
		return ""
	}
	return tags.Models[0].Name
}
