package config_test

import (
	"errors"
	"strings"
	"testing"

	"fika/internal/settings/config"
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
		priced + "[[agents]]\nid = \"claude\"\nengine = \"acp\"\ncommand = [\"x/claude-agent-acp\"]\n" + budget("money = 5"): "the program claude-agent-acp of agent claude tells what it costs only after a turn",
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
