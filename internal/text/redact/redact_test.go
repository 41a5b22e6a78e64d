package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"fika/internal/text/redact"
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
	if name, found := keys().FindKey("x" + other); !found || name != "OTHER" {
		t.Error(name, found)
	}
}

// TestD8Encoded: a key that was encoded is found, wherever it stands in what was
// encoded, and in lines that an encoder has broken.
func TestD8Encoded(t *testing.T) {
	hard := `p"a\ss/w+o<r>d&with 100% of ünusual`
	keys := redact.New(map[string]string{"KEY": other, "HARD": hard})
	jsonHTML, err := json.Marshal(hard)
	if err != nil {
		t.Fatal(err)
	}
	wrap := func(s string, n int) string {
		var b strings.Builder
		for i, r := range []byte(s) {
			if b.WriteByte(r); i%n == n-1 {
				b.WriteString("\r\n")
			}
		}
		return b.String()
	}
	for _, value := range []string{other, hard} {
		for before := range 80 {
			text := strings.Repeat("x", before) + value + "and more"
			for name, form := range map[string]string{
				"base64":      base64.StdEncoding.EncodeToString([]byte(text)),
				"for URLs":    base64.URLEncoding.EncodeToString([]byte(text)),
				"in lines":    wrap(base64.StdEncoding.EncodeToString([]byte(text)), 76),
				"hexadecimal": hex.EncodeToString([]byte(text)),
				"in capitals": wrap(strings.ToUpper(hex.EncodeToString([]byte(text))), 60),
				"a query":     url.QueryEscape(text),
				"a path":      strings.ToLower(url.PathEscape(value)),
				"JSON":        string(jsonHTML),
				"broken":      wrap(text, 20),
			} {
				if got := keys.Text(form); !strings.Contains(got, "[key ") {
					t.Errorf("%s with %d before it: %q", name, before, got)
				}
			}
		}
	}
	if got := keys.Text("xai-\n" + other[4:]); strings.Contains(got, other[4:]) {
		t.Errorf("broken early: %q", got)
	}
	if name, marked := keys.FindMark("echo [key HARD]"); !marked || name != "HARD" {
		t.Error("the mark is not known")
	}
	if _, marked := keys.FindMark("[key OTHER]"); marked {
		t.Error("a mark of no key")
	}
}

// TestD8LineIsNotHeldBack: the end of a line waits for nothing.
func TestD8LineIsNotHeldBack(t *testing.T) {
	s := keys().Stream()
	if got := s.Next([]byte("it ends in s\n")); string(got) != "it ends in s\n" {
		t.Errorf("only %q", got)
	}
}

// TestD8Follow: a key that is set later counts from then on, and one that is
// removed goes on counting.
func TestD8Follow(t *testing.T) {
	values, changed := map[string]string{}, false
	k := redact.NewFollowing(func() (map[string]string, bool) { defer func() { changed = false }(); return values, changed })
	if got := k.Text(short); got != short {
		t.Error(got)
	}
	values, changed = map[string]string{"A": short}, true
	if got := k.Text(short); got != "[key A]" {
		t.Error(got)
	}
	values, changed = map[string]string{"B": other}, true
	if got := k.Text(short + " " + other); got != "[key A] [key B]" {
		t.Error(got)
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
			if name, found := keys().FindKey(b.String()); found && !strings.Contains(s, "[key") {
				t.Fatalf("%q still holds %s: %q", s, name, b.String())
			}
		}
	})
}
