package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/app"
	"fika/internal/cli/command"
	"fika/internal/config"
	"fika/internal/term"
)

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

// pricing is a price in US dollars per million tokens.
type pricing struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	Cached float64 `json:"cached"`
	Source string  `json:"source"` // "config", or the page the prices are from and the day it was read
}

func toModelJSON(m app.ModelInfo) modelJSON {
	j := modelJSON{
		ID: m.ID, Nickname: command.Optional(m.Nickname), Provider: m.Provider, BaseURL: command.Optional(config.WithoutSecrets(m.BaseURL)), APIKeyEnv: command.Optional(m.APIKeyEnv), KeySet: m.Key,
		ContextWindow: command.Optional(m.ContextWindow), MaxTokens: command.Optional(m.MaxTokens), Default: m.Default,
	}
	if m.PriceKnown() {
		j.Prices = &pricing{m.Prices.Input, m.Prices.Output, m.Prices.Cached, m.Priced}
	}
	if m.Trouble != nil {
		j.Trouble = command.Optional(config.WithoutSecrets(m.Trouble.Error()))
	}
	return j
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the models in config.toml and models.toml", Args: command.Exactly(0, "no arguments"),
		Long:    "Lists the models that are defined; * marks the one that the current context\nuses. -m and local.toml accept either name. PRICE is in US dollars per million\ntokens read and written, with the day on which the provider's page gave it, or\n\"config\" for your own prices; ? marks a model whose price is not known: set\nprices in its [[models]] entry.",
		Example: "  fika model list\n  fika run -m opus \"…\"",
		RunE: func(*cobra.Command, []string) error {
			list, err := e.App().Models()
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, toModelJSON)
			}
			if len(list) == 0 {
				e.Say("no models: export ANTHROPIC_API_KEY or OPENAI_API_KEY, or add [[models]] to config.toml (docs/CONFIG.md)")
				return nil
			}
			return e.Table([]string{"", "MODEL", "NICKNAME", "PROVIDER", "WINDOW", "KEY", "PRICE", "ADDRESS"}, command.TableRows(list, modelRow))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
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
		window = term.ShortCount(m.ContextWindow)
	}
	address := config.WithoutSecrets(m.BaseURL)
	if m.Trouble != nil {
		address = config.WithoutSecrets(m.Trouble.Error())
	}
	return []string{mark, m.ID, m.Nickname, m.Provider, window, key, price(m.Model), address}
}

// price returns what a model costs, and the day or source of that price; "?" if it is
// not known.
func price(m config.Model) string {
	if !m.PriceKnown() {
		return "?"
	}
	from := m.Priced
	if i := strings.LastIndex(from, ", "); i >= 0 {
		from = from[i+len(", "):]
	}
	return fmt.Sprintf("$%s/$%s (%s)", trimmed(m.Prices.Input), trimmed(m.Prices.Output), from)
}

func trimmed(dollars float64) string { return strconv.FormatFloat(dollars, 'f', -1, 64) }
