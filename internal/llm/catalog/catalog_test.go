package catalog_test

import (
	"strings"
	"testing"

	"fika"
	"fika/internal/llm/catalog"
)

const entry = "[[model]]\nid = \"m\"\nhost = \"example.com\"\nsource = \"https://example.com\"\nread = \"2026-11-23\"\n"

// The table that is shipped can be read, and gives what its makers publish. Trial row U14.
func TestShipped(t *testing.T) {
	table := catalog.Shipped()
	if table.Len() < 20 {
		t.Fatalf("%d models", table.Len())
	}
	for id, want := range map[string]struct{ window, most int64 }{
		"claude-opus-5-5":           {1_000_000, 128_000},
		"claude-haiku-4-5-20251001": {200_000, 64_000},
		"anthropic/claude-opus-5.5": {1_000_000, 128_000},
		"gpt-4.1-2025-04-14":        {1_047_576, 32_768},
		"gemini-2.5-flash":          {1_048_576, 65_536},
	} {
		m, ok := table.Find(id)
		if !ok || m.Window != want.window || m.MaxTokens != want.most || m.Prices == nil {
			t.Errorf("%s: %+v, %v", id, m, ok)
		}
	}
	for _, id := range []string{"", "claude", "claude-opus-9", "claude-opus-5-5-mini", "qwen3:8b"} {
		if m, ok := table.Find(id); ok {
			t.Errorf("%q is taken for %s", id, m.ID)
		}
	}
}

// What is written to the cache has a price of its own, and a long prompt another. The first
// is the example of trial row P6.
func TestCost(t *testing.T) {
	sonnet := catalog.Prices{Input: 3, Output: 15, Cached: 0.3, CacheWrite: 3.75}
	tiered := catalog.Prices{Input: 1, Output: 1, Over: 100, Long: &catalog.Prices{Input: 10, Output: 20}}
	for name, c := range map[string]struct {
		prices catalog.Prices
		usage  fika.Usage
		want   int64
	}{
		"cache writes":        {sonnet, fika.Usage{Input: 12_010, Written: 12_000}, 45_030},
		"all four":            {sonnet, fika.Usage{Input: 600, Cached: 400, Written: 100, Output: 10}, 300 + 120 + 375 + 150},
		"no price of writing": {catalog.Prices{Input: 2}, fika.Usage{Input: 10, Written: 4}, 20},
		"free":                {catalog.Prices{}, fika.Usage{Input: 10, Output: 10}, 0},
		"less than the least": {catalog.Prices{Input: 0.01}, fika.Usage{Input: 1}, 1},
		"at the border":       {tiered, fika.Usage{Input: 100, Output: 1}, 101},
		"a long prompt":       {tiered, fika.Usage{Input: 101, Output: 1}, 1030},
	} {
		if got := c.prices.Cost(c.usage); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A file that takes the table's place is checked as a whole.
func TestParse(t *testing.T) {
	if table, err := catalog.Parse([]byte(entry + "prices = {input = 1, output = 2, cached = 0}\n")); err != nil || table.Len() != 1 {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"":                             "no [[model]]",
		"x = 1":                        "1:1: unknown key x",
		"[[model]]\n":                  "id is missing",
		entry + entry:                  "listed twice",
		entry + "color = 1":            "6:1: unknown key model.color",
		entry + "context_window = -1":  "negative",
		entry + "context_window = 1.5": "6:18",
		entry + "prices = {input = -1, output = 1, cached = 0}":                     "negative",
		entry + "prices = {input = nan, output = 1, cached = 0}":                    "negative",
		entry + "prices = {input = 1, output = 1, cached = 0, over = 5}":            "over needs long",
		strings.Replace(entry, "2026-11-23", "yesterday", 1):                        "a day",
		strings.Replace(entry, "host = \"example.com\"", "host = \"https://x\"", 1): "domain",
		strings.Repeat("#", catalog.MaxFile+1):                                      "larger than",
	} {
		if _, err := catalog.Parse([]byte(text)); err == nil || !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(entry)
	f.Add(entry + "prices = {input = 1, output = 2, cached = 0, over = 5, long = {input = 2}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := catalog.Parse([]byte(text))
		if err != nil {
			return
		}
		if m, ok := table.Find("m"); ok && m.Prices != nil && m.Prices.Cost(fika.Usage{Input: 1 << 40, Cached: 1, Output: 1 << 40}) < 0 {
			t.Error("a cost is negative")
		}
	})
}
