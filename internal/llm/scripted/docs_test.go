package scripted

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestB13TheRulesAreDocumented: docs/reference/scripted.md names every key of a rule, and
// its example is valid.
func TestB13TheRulesAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../../docs/reference/scripted.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	_, rest, _ := strings.Cut(page, "answers:\n\n```toml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("no example")
	}
	if _, err := Parse([]byte(example), "scripted.md"); err != nil {
		t.Error(err)
	}
	for _, key := range ruleKeys(t) {
		if !strings.Contains(page, "`"+key+"`") {
			t.Errorf("the page does not name %s", key)
		}
	}
}

func ruleKeys(t *testing.T) []string {
	t.Helper()
	var keys []string
	r := reflect.TypeFor[rawRule]()
	for i := range r.NumField() {
		if name, _, _ := strings.Cut(r.Field(i).Tag.Get("toml"), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	if len(keys) < 10 {
		t.Fatalf("keys of a rule: %q", keys)
	}
	return keys
}
