package redact_test

import (
	"strings"
	"testing"

	"fika/internal/redact"
)

const (
	short = "sk-0123456789abcdef"
	long  = "sk-0123456789abcdef-and-more"
	other = "xai-zzzzzzzzzzzzzzzzzzz"
)

func keys() *redact.Keys {
	return redact.New(map[string]string{"SHORT": short, "LONG": long, "OTHER": other + "\n", "TINY": "secret", "EMPTY": ""})
}

func TestD8Text(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"nothing secret":           "nothing secret",
		"a " + short + " b":        "a [key SHORT] b",
		long + other:               "[key LONG][key OTHER]",
		short + "-and-mor":         "[key SHORT]-and-mor",
		short + short:              "[key SHORT][key SHORT]",
		"sk-0123456789abcde":       "sk-0123456789abcde",
		`{"k":"` + other + `"}`:    `{"k":"[key OTHER]"}`,
		"sk-sk-" + long + "\nmore": "sk-sk-[key LONG]\nmore",
	} {
		if got := keys().Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	var none *redact.Keys
	if none.Text(short) != short || string(none.Bytes([]byte("x"))) != "x" || redact.New(map[string]string{"A": "short"}) != nil {
		t.Error("nil redacts something")
	}
	if name, found := keys().Holds("x" + other); !found || name != "OTHER" {
		t.Error(name, found)
	}
}

// FuzzD8: however a text is cut, the pieces give what the whole gives, and no
// key is left in it.
func FuzzD8(f *testing.F) {
	f.Add("a "+short+" "+long+other, uint8(3))
	f.Add(short[:10]+long+short, uint8(1))
	f.Add(short+"-and", uint8(7))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		for _, s := range []string{text, text + short + text, long + text, text + long[:len(text)%len(long)]} {
			var b strings.Builder
			w := keys().Writer(&b)
			n := int(size%13) + 1
			for rest := s; rest != ""; {
				k := min(n, len(rest))
				if _, err := w.Write([]byte(rest[:k])); err != nil {
					t.Fatal(err)
				}
				rest = rest[k:]
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if whole := keys().Text(s); b.String() != whole {
				t.Fatalf("%q in pieces of %d: %q, as a whole %q", s, n, b.String(), whole)
			}
			if name, found := keys().Holds(b.String()); found && !strings.Contains(s, "[key") {
				t.Fatalf("%q still holds %s: %q", s, name, b.String())
			}
		}
	})
}
