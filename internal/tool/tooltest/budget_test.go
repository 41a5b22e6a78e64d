package tooltest_test

import (
	"encoding/json"
	"testing"

	"fika"
	"fika/internal/tool"
	"fika/internal/tool/file"
	"fika/internal/tool/recall"
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
	for _, one := range workTools() {
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
		t.Errorf("%d bytes, 1300 are the most; describe it in fewer words, or raise the bound for a tool that is worth it:\n%s", len(raw), raw)
	}
	t.Logf("%d bytes", len(raw))
}

// An agent changes nothing and reaches nothing that no person has named.
func TestWhatReachesFarIsHadByName(t *testing.T) {
	for _, one := range append(workTools(), recall.New(nil)) {
		s := one.Spec()
		far := s.Effect != fika.Pure || s.Name == "fetch" || s.Name == recall.Name
		if s.ByName != far {
			t.Errorf("%s: by name only is %t", s.Name, s.ByName)
		}
	}
}

// workTools are the tools that work on files and the web, and commands.
func workTools() []tool.Tool {
	return append(file.Tools(file.Options{}), shell.New(shell.Options{}), web.New(web.Options{}))
}
