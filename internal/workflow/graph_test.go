package workflow_test

import (
	"strings"
	"testing"

	"fika/internal/workflow"
)

func shipped(t *testing.T, name string) *workflow.Definition {
	t.Helper()
	text, _ := workflow.ShippedText(name)
	d, err := workflow.Load(name, name+".toml", text, workflow.Known{Names: workflow.ShippedNames(), Read: func(name string) (string, []byte, error) {
		text, _ := workflow.ShippedText(name)
		return name, text, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTree(t *testing.T) {
	want := strings.TrimLeft(`
research-implement-test: find out, build on what was found, test, and again until it works
└─ research  @researcher; retried once
   └─ build  workflow implement-test; until output.passed, at most 3 times
      ┆  └─ implement  @coder
      ┆     └─ test  @tester; gives JSON
`, "\n")
	if got := shipped(t, "research-implement-test").TreeText(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := shipped(t, "tandem").TreeText(); strings.Count(got, "\n") != 5 || !strings.Contains(got, "after rich_side, quick_side, careful_side, whatever came of them") {
		t.Errorf("got\n%s", got)
	}
}

// TestTreeOfPeople: what people are asked, what is posted, and agents that are known later.
func TestTreeOfPeople(t *testing.T) {
	d := load(t, "[inputs]\nroom='news'\n[[steps]]\nid='pick'\nchoice=['x', 'y']\nprompt='which?'\n[[steps]]\nid='each'\nneeds=['pick']\nfor_each='[{}]'\nagent='{{.item.who}}'\nprompt='do'\n"+
		"[[steps]]\nid='tell'\nneeds=['each']\njoin='ended'\npost='{{.inputs.room}}'\nprompt='done'\n[[steps]]\nid='why'\nneeds=['tell']\nanswer='text'\nprompt='why?'\n", nil)
	want := `
└─ pick  a person chooses one of x, y
   └─ each  @(item.who); for each of [{}], 8 at a time
      └─ tell  posts in news; whatever came of each
         └─ why  a person answers
`
	if got := d.TreeText(); !strings.HasSuffix(got, strings.TrimLeft(want, "\n")) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDot(t *testing.T) {
	got := shipped(t, "research-implement-test").DotGraph()
	for _, want := range []string{`"research" -> "build";`, `subgraph "cluster_build" {`, `"build/implement" -> "build/test";`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if strings.Count(got, "{\n") != strings.Count(got, "}\n") {
		t.Errorf("%s", got)
	}
}
