package tooltest_test

import (
	"encoding/json"
	"testing"

	"fika/internal/tool/file"
	"fika/internal/tool/shell"
	"fika/internal/tool/web"
)

// Each request pays for the words that describe the tools.
func TestToolsAreDescribedInFewWords(t *testing.T) {
	type described struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	var all []described
	for _, one := range append(file.Tools(file.Options{}), shell.New(shell.Options{}), web.New(web.Options{})) {
		s := one.Spec()
		if err := s.Validate(json.RawMessage(`{"no":1}`)); err == nil {
			t.Errorf("%s takes arguments it does not have", s.Name)
		}
		all = append(all, described{s.Name, s.Description, s.Parameters})
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 1300 {
		t.Errorf("%d bytes, 1300 are the most:\n%s", len(raw), raw)
	}
	t.Logf("%d bytes", len(raw))
}
