package model

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/app"
	"fika/internal/cli/command"
	"fika/internal/settings/config"
	"fika/internal/system/term"
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
	MaxOutput     *int64   `json:"max_output"` // the most that the model can write
	Known         *string  `json:"known"`      // the page that window, max_output and prices are from, unless they are set, and the day it was read
	Prices        *pricing `json:"prices"`
	Default       bool     `json:"default"`
	Trouble       *string  `json:"trouble"`
}

// pricing is a price in US dollars per million tokens.
type pricing struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	Cached     float64  `json:"cached"`
	CacheWrite float64  `json:"cache_write"` // 0: as the protocol's provider charges it
	Over       int64    `json:"over"`        // prompts of more tokens cost long
	Long       *pricing `json:"long"`
	Source     string   `json:"source"` // "config", or the page the prices are from and the day it was read
}

func toPricing(p config.Prices, source string) *pricing {
	out := &pricing{Input: p.Input, Output: p.Output, Cached: p.Cached, CacheWrite: p.CacheWrite, Over: p.Over, Source: source}
	if p.Long != nil {
		out.Long = toPricing(*p.Long, "")
	}
	return out
}

func toModelJSON(m app.ModelInfo) modelJSON {
	j := modelJSON{
		ID: m.ID, Nickname: command.Optional(m.Nickname), Provider: m.Provider, BaseURL: command.Optional(config.WithoutSecrets(m.BaseURL)), APIKeyEnv: command.Optional(m.APIKeyEnv), KeySet: m.Key,
		ContextWindow: command.Optional(m.ContextWindow), MaxTokens: command.Optional(m.MaxTokens), MaxOutput: command.Optional(m.MaxOutput), Known: command.Optional(m.Known), Default: m.Default,
	}
	if m.PriceKnown() {
		j.Prices = toPricing(m.Prices, m.Priced)
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
		Long:    "Lists the models that are defined; * marks the one that the current context\nuses. -m and local.toml accept either name. WINDOW is what a model can read and\nwrite together, OUTPUT the longest answer, both in tokens. PRICE is in US dollars per million\ntokens read and written, with the day on which the provider's page gave it, or\n\"config\" for your own prices; ? marks what is not known: set it in the\n[[models]] entry (context_window, max_tokens, prices).",
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
				e.Say("no models: export ANTHROPIC_API_KEY or OPENAI_API_KEY, or add [[models]] to config.toml (docs/reference/config.md)")
				return nil
			}
			return e.Table([]string{"", "MODEL", "NICKNAME", "PROVIDER", "WINDOW", "OUTPUT", "KEY", "PRICE", "ADDRESS"}, command.TableRows(list, modelRow))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func modelRow(m app.ModelInfo) []string {
	mark, key, window, output := "", "not needed", "?", "?"
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
	if most := cmp.Or(m.MaxTokens, m.MaxOutput); most > 0 {
		output = term.ShortCount(most)
	}
	address := config.WithoutSecrets(m.BaseURL)
	if m.Trouble != nil {
		address = config.WithoutSecrets(m.Trouble.Error())
	}
	return []string{mark, m.ID, m.Nickname, m.Provider, window, output, key, price(m.Model), address}
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
