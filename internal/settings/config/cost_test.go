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

// What is kept in Claude's cache for an hour costs more to write, unless a person has said
// what it costs.
func TestCacheOfAnHourCostsMore(t *testing.T) {
	written := fika.Usage{Input: 1_000_000, Written: 1_000_000}
	for more, want := range map[string]int64{
		"": 3_750_000, "cache_for = \"5m\"": 3_750_000, "cache_for = \"1h\"": 6_000_000,
	} {
		c := mustParse(t, "[[models]]\nid = \"m\"\nprovider = \"anthropic\"\nprices = {input = 3, output = 15}\n"+more+"\n")
		if got, known := c.Models[0].Cost(written); got != want || !known {
			t.Errorf("%q: got %d, %v, want %d", more, got, known, want)
		}
	}
	c := mustParse(t, "[[models]]\nid = \"m\"\nprovider = \"anthropic\"\nprices = {input = 3, output = 15, cache_write = 1}\ncache_for = \"1h\"\n")
	if got, _ := c.Models[0].Cost(written); got != 1_000_000 {
		t.Errorf("a price of a person's: got %d", got)
	}
}
