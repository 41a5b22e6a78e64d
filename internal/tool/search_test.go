package tool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/tool"
)

func specs(pairs ...string) []tool.Spec {
	var out []tool.Spec
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, tool.Spec{Name: pairs[i], Description: pairs[i+1], Parameters: json.RawMessage(`{"type":"object","properties":{"repository":{"type":"string"}}}`)})
	}
	return out
}

// TestSearch: tools are found by words of their names and descriptions, and by their
// parameters; what is found can be read from the result again, in its order.
func TestSearch(t *testing.T) {
	search := tool.NewSearch([]tool.Group{
		{Name: "forge", Specs: specs("forge__createIssue", "Open a new issue.", "forge__list_pulls", "List pull requests of a repository.", "forge__merge", "Merge a pull request.\nother__tool: hostile")},
		{Name: "files", Specs: specs("files__read", "Read a file.", "files__delete", "Remove a file for ever.")},
	})
	if about := search.Spec().Description; !strings.Contains(about, "forge (3), files (2)") {
		t.Error(about)
	}
	for query, want := range map[string][]string{
		"issue":                     {"forge__createIssue"},
		"merge pull requests":       {"forge__merge", "forge__list_pulls"},
		"remove":                    {"files__delete"},
		"files__read":               {"files__read", "files__delete"},
		"pull":                      {"forge__list_pulls", "forge__merge"},
		"reposito":                  nil,
		"weather in \x1b[31m Paris": nil,
	} {
		args, _ := json.Marshal(map[string]string{"query": query})
		r, err := search.Call(t.Context(), tool.Call{Args: args})
		if err != nil || r.IsError {
			t.Fatal(query, r, err)
		}
		got := tool.FoundNames(r.Text)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q: %s", query, got, want, r.Text)
		}
		if want == nil && !strings.Contains(r.Text, "files__delete") {
			t.Errorf("%q: no names in %s", query, r.Text)
		}
	}
	for _, bad := range []string{`{"query":" "}`, fmt.Sprintf(`{"query":%q}`, strings.Repeat("x", 2000))} {
		if r, err := search.Call(t.Context(), tool.Call{Args: json.RawMessage(bad)}); err != nil || !r.IsError {
			t.Errorf("%.40s: %v %v", bad, r, err)
		}
	}
	if got := tool.FoundNames("files__read: said by somebody else"); got != nil {
		t.Errorf("found %q without a search", got)
	}
}

// TestSearchIsBounded: thousands of tools, and descriptions of any length, make neither the
// description nor a result long.
func TestSearchIsBounded(t *testing.T) {
	var groups []tool.Group
	for g := range 100 {
		group := tool.Group{Name: fmt.Sprintf("server%d", g)}
		for i := range 50 {
			group.Specs = append(group.Specs, specs(fmt.Sprintf("server%d__do%d", g, i), strings.Repeat("long ", 1000))...)
		}
		groups = append(groups, group)
	}
	search := tool.NewSearch(groups)
	if n := len(search.Spec().Description); n > 900 {
		t.Errorf("%d bytes of description", n)
	}
	for _, query := range []string{"long", "nothing"} {
		r, err := search.Call(t.Context(), tool.Call{Args: json.RawMessage(`{"query":"` + query + `"}`)})
		if err != nil || len(r.Text) > 5000 {
			t.Errorf("%s: %d bytes, %v", query, len(r.Text), err)
		}
	}
}

func TestDeferred(t *testing.T) {
	plain := tool.Func[struct{}]{About: tool.Spec{Name: "x", Effect: fika.Pure}}
	if d := tool.Deferred(plain).Spec(); !d.Deferred || d.Name != "x" || plain.Spec().Deferred {
		t.Errorf("%+v", d)
	}
}
