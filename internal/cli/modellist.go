package cli

import (
	"github.com/spf13/cobra"

	"fika/internal/app"
	"fika/internal/term"
)

func newModel(e *env) *cobra.Command {
	return group("model", "list the models", "", "  fika model list", newModelList(e))
}

type modelJSON struct {
	ID            string   `json:"id"`
	Nickname      string   `json:"nickname,omitempty"`
	Provider      string   `json:"provider"`
	BaseURL       string   `json:"base_url,omitempty"`
	APIKeyEnv     string   `json:"api_key_env,omitempty"`
	KeySet        bool     `json:"key_set"`
	ContextWindow int64    `json:"context_window,omitempty"`
	MaxTokens     int64    `json:"max_tokens,omitempty"`
	Prices        *pricing `json:"prices,omitempty"`
	Default       bool     `json:"default"`
	Trouble       string   `json:"trouble,omitempty"`
}

// pricing is dollars per million tokens.
type pricing struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	Cached float64 `json:"cached"`
}

func toModelJSON(m app.ModelInfo) modelJSON {
	j := modelJSON{
		ID: m.ID, Nickname: m.Nickname, Provider: m.Provider, BaseURL: m.BaseURL, APIKeyEnv: m.APIKeyEnv, KeySet: m.Key,
		ContextWindow: m.ContextWindow, MaxTokens: m.MaxTokens, Default: m.Default,
	}
	if m.Prices.Known() {
		j.Prices = &pricing{m.Prices.Input, m.Prices.Output, m.Prices.Cached}
	}
	if m.Trouble != nil {
		j.Trouble = m.Trouble.Error()
	}
	return j
}

func newModelList(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list the models of config.toml and models.toml", Args: exactly(0, "no arguments"),
		Long:    "Lists the models that are defined; * marks the one the current context uses.\nEither name works with -m and in local.toml.",
		Example: "  fika model list\n  fika run -m opus \"…\"",
		RunE: func(*cobra.Command, []string) error {
			list, err := e.open().Models()
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, list, toModelJSON)
			}
			return e.Table([]string{"", "MODEL", "NICKNAME", "PROVIDER", "WINDOW", "KEY", "ADDRESS"}, rows(list, modelRow))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

func modelRow(m app.ModelInfo) []string {
	mark, key, window := "", "not needed", ""
	if m.Default {
		mark = "*"
	}
	if m.APIKeyEnv != "" {
		key = m.APIKeyEnv
		if !m.Key {
			key += " (not set)"
		}
	}
	if m.ContextWindow > 0 {
		window = term.Count(m.ContextWindow)
	}
	address := m.BaseURL
	if m.Trouble != nil {
		address = m.Trouble.Error()
	}
	return []string{mark, m.ID, m.Nickname, m.Provider, window, key, address}
}
