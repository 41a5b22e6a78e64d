package service_test

import (
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/service"
)

func TestParseChecklist(t *testing.T) {
	list, err := service.ParseChecklist("# Plan\n\nnot - [ ] this\n- [x] old\n  - [ ] below what is done\n- [ ] release\n  Say so.\n\n  * [ ] write the parser\n    priority: 0\n    agent: coder\n\n    ```\n    - [ ] no item\n    ```\n" +
		"  + [ ] test it\n    needs: write the parser, 7\n    capability: Go\n- [X] done\n\n- [ ] last")
	check(t, err)
	var out []string
	for _, n := range list {
		out = append(out, fmt.Sprintf("%s|%q|%d|%s|%s|%s", n.Title, n.Body, n.Priority, n.Agent, n.Capability, strings.Join(n.Needs, "+")))
	}
	want := []string{
		`below what is done|""|2|||`,
		`release|"Say so."|2|||write the parser+test it`,
		"write the parser|\"```\\n- [ ] no item\\n```\"|0|coder||",
		`test it|""|2||Go|write the parser+7`,
		`last|""|2|||`,
	}
	if got := strings.Join(out, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	for _, bad := range []string{"", "words\n- [x] done", "- [ ]  ", "- [ ] a\n  priority: high"} {
		if _, err := service.ParseChecklist(bad); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseChecklist(f *testing.F) {
	f.Add("- [ ] a\n  - [ ] b\n    text\n  ```\n- [x] c")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := service.ParseChecklist(text)
		if err == nil && len(list) == 0 {
			t.Error("nothing, and no error")
		}
		for _, n := range list {
			if n.Title == "" {
				t.Errorf("a task without a title of %q", text)
			}
		}
	})
}
