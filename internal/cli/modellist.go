package cli

import (
	"github.com/spf13/cobra"

	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/term"
)

func newModel(e *env) *cobra.Command {
	return group("model", "list the models", "", "  fika model list", newModelList(e))
}

type modelJSON struct {
	ID            string   `json:"id"`
	Nickname      *string  `json:"nickname"`
	Provider      string   `json:"provider"`
	BaseURL       *string  `json:"base_url"`
	APIKeyEnv     *string  `json:"api_key_env"`
	KeySet        bool     `json:"key_set"`
	ContextWindow *int64   `json:"context_window"`
	MaxTokens     *int64   `json:"max_tokens"`
	Prices        *pricing `json:"prices"`
	Default       bool     `json:"default"`
	Trouble       *string  `json:"trouble"`
}

// pricing is dollars per million tokens.
type pricing struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	Cached float64 `json:"cached"`
}

func toModelJSON(m app.ModelInfo) modelJSON {
	j := modelJSON{
		ID: m.ID, Nickname: optional(m.Nickname), Provider: m.Provider, BaseURL: optional(config.WithoutSecrets(m.BaseURL)), APIKeyEnv: optional(m.APIKeyEnv), KeySet: m.Key,
		ContextWindow: optional(m.ContextWindow), MaxTokens: optional(m.MaxTokens), Default: m.Default,
	}
	if m.Prices.Known() {
		j.Prices = &pricing{m.Prices.Input, m.Prices.Output, m.Prices.Cached}
	}
	if m.Trouble != nil {
		j.Trouble = optional(config.WithoutSecrets(m.Trouble.Error()))
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
	address := config.WithoutSecrets(m.BaseURL)
	if m.Trouble != nil {
		address = config.WithoutSecrets(m.Trouble.Error())
	}
	return []string{mark, m.ID, m.Nickname, m.Provider, window, key, address}
}
