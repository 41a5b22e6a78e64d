package config

import (
	"testing"

	"fika"
)

// What was used while no price was known keeps an unknown cost when a price is set, alone and
// in sums; only a model that is free can have used tokens and cost nothing. Trial row U3.
func TestUnknownCostStaysUnknown(t *testing.T) {
	const entry = "[[models]]\nid = \"m\"\nbase_url = \"http://127.0.0.1:1/v1\"\n"
	for text, want := range map[string][3]bool{
		entry: {false, true, false},
		entry + "prices = {input = 3, output = 15}\n": {false, true, false},
		entry + "prices = {input = 0, output = 0}\n":  {true, true, true},
	} {
		c, err := Parse("c.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for i, u := range []fika.Usage{{Input: 229_000}, {Input: 9, Cost: 7}, {Input: 9, Cost: 7, Unpriced: true}} {
			if got := c.CostKnown("m", u); got != want[i] {
				t.Errorf("%s: %+v is known: %v", text, u, got)
			}
		}
	}
}
