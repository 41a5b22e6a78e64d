package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/system/term"
)

// TestMoneyLimits holds that each mistake about money is told once, and that money
// is not limited where it could not be.
func TestMoneyLimits(t *testing.T) {
	const free = "model = \"m\"\n[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n"
	const priced = free + "prices = {input = 1, output = 2}\n"
	budget := func(amount string) string { return "[[budgets]]\nscope = \"home\"\nper = \"day\"\n" + amount + "\n" }
	for text, want := range map[string]string{
		priced + budget("money = 5"):        "",
		priced + budget("money = -5"):       "money ",
		priced + budget("money = 0"):        "money: a budget is more than 0",
		priced + budget("tokens = -1"):      "tokens ",
		priced + budget("money = \"five\""): "money must be a number",
		free + budget("money = 5"):          "money cannot be limited",
		priced + "[[agents]]\nid = \"claude\"\nengine = \"acp\"\ncommand = [\"x/claude-agent-acp\"]\n" + budget("money = 5"):                "",
		priced + "[[agents]]\nid = \"arya\"\nbilling = \"free\"\n":                                                                          "billing needs engine = \"acp\"",
		priced + "[[agents]]\nid = \"claude\"\nengine = \"acp\"\ncommand = [\"x\"]\nbilling = \"free\"\nprices = {input = 1, output = 2}\n": "prices mean nothing with billing = \"free\"",
		free + budget("tokens = 5"):                                            "",
		free + "[chat]\nmax_cost_per_chain = 0.5\n":                            "money cannot be limited",
		priced + "[chat]\nmax_cost_per_chain = 0.5\n":                          "",
		free + "[[agents]]\nid = \"arya\"\nmax_cost_per_chain = 0.5\n":         "of agent arya",
		free + "[[agents]]\nid = \"arya\"\nmax_cost_per_chain = 0\n":           "",
		priced + "[[agents]]\nid = \"arya\"\nmax_cost_per_chain = 0.5\n":       "",
		free + "[chat]\nmax_cost_per_chain = 0.5\n[[agents]]\nid = \"arya\"\n": "money cannot be limited",
		free + "[[agents]]\nid = \"arya\"\nmodel = \"other\"\nmax_cost_per_chain = 1\n[[models]]\nid = \"other\"\nprovider = \"scripted\"\nrules = \"r.toml\"\nprices = {input = 0, output = 0}\n": "",
	} {
		_, err := config.Parse("config.toml", []byte(text))
		var problems *config.Problems
		switch {
		case want == "" && err != nil, want != "" && err == nil:
			t.Errorf("%s\n%v, want %q", text, err, want)
		case err == nil:
		case !errors.As(err, &problems) || len(problems.List) != 1 || !strings.Contains(problems.List[0].Message, want):
			t.Errorf("%s\n%v, want %q, once", text, err, want)
		}
	}
}

// TestGuestsAreBilled holds what the turn of a guest costs, and when that is known.
func TestGuestsAreBilled(t *testing.T) {
	tokens := fika.Usage{Input: 1_000_000, Output: 100_000}
	said := tokens
	said.Cost = 7
	for keys, want := range map[string][3]string{ // of a turn that counts tokens, of one that tells its cost too, and of one that tells nothing
		"":                                      {"?", "$0.000007", "?"},
		"prices = {input = 1.0, output = 10.0}": {"$2.00", "$0.000007", "?"},
		"billing = \"subscription\"":            {"subscription", "subscription", "subscription"},
		"billing = \"free\"":                    {"-", "-", "-"},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		c, err := config.Parse(path, []byte("[[agents]]\nid = \"codex\"\nengine = \"acp\"\ncommand = [\"x/codex-acp\"]\n"+keys+"\n"))
		if err != nil {
			t.Fatal(keys, err)
		}
		s, err := config.Resolve(config.Inputs{Config: c, Agent: "codex"})
		if err != nil {
			t.Fatal(keys, err)
		}
		for i, u := range []fika.Usage{tokens, said, {}} {
			u = s.Model.Bill(u)
			if got := term.Money(u, !c.CostKnown(s.Model.ID, u)); got != want[i] {
				t.Errorf("%q: turn %d of %s costs %s, want %s", keys, i+1, s.Model.ID, got, want[i])
			}
		}
		if s.Model.PriceKnown() != (keys != "") {
			t.Errorf("%q: price known: %t", keys, s.Model.PriceKnown())
		}
	}
}
