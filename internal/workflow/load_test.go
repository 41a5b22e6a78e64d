package workflow_test

import (
	"os"
	"strings"
	"testing"

	"fika/internal/workflow"
)

// FuzzLoad: any file is either a definition that survives being frozen, or a list of
// problems each of which has a place in the file.
func FuzzLoad(f *testing.F) {
	f.Add("[[steps]]\nid = \"a\"\nagent = \"b\"\nprompt = \"{{.inputs.x}}\"\n")
	f.Add("[inputs]\nx = [1]\n[[steps]]\nid='a'\nagent='b'\nfor_each='inputs.x'\nprompt='{{.item}}'\nrepeat={until='output==\"1\"'}\nretry=2")
	f.Add("[[steps]]\nid='a'\napprove=true\nprompt='\\u00e9{{'\n[[steps]]\nid='a'\nneeds=['a']\nschema={type='x'}")
	f.Add("[[steps]]\nworkflow='w'\nchat={agents=['a'],topic='{{range .inputs}}{{end}}'}\nwhen='all(x, any(#, #)) + 1..2'")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := workflow.Load("w", "w.toml", []byte(text), workflow.Known{})
		if err != nil {
			return
		}
		data, err := d.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := workflow.Thaw(data); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		d.Bind(nil, nil)
	})
}

// TestShipped: the workflows that come with fika are valid in every home, and a run
// of each comes to its end.
func TestShipped(t *testing.T) {
	known := workflow.Known{Agents: []workflow.Agent{}, Names: workflow.ShippedNames(), Read: func(name string) (string, []byte, error) {
		text, _ := workflow.ShippedText(name)
		return name + ".toml", text, nil
	}}
	if len(known.Names) < 5 {
		t.Fatalf("%v", known.Names)
	}
	for _, name := range known.Names {
		text, _ := workflow.ShippedText(name)
		d, err := workflow.Load(name, name+".toml", text, known)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if d.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for _, in := range d.Inputs {
			if in.Description == "" {
				t.Errorf("%s: the input %s has no description", name, in.Name)
			}
		}
	}
}

// TestShippedStartWithTheTeams: the built-in workflows find their agents in the teams of
// fika init.
func TestShippedStartWithTheTeams(t *testing.T) {
	for team, names := range map[string][]string{
		"coder reviewer tester": workflow.ShippedNames(), "researcher coder tester": workflow.ShippedNames(),
		"moderator researcher reviewer": {"debate", "review", "tandem"},
	} {
		agents := []workflow.Agent{}
		for name := range strings.FieldsSeq(team) {
			agents = append(agents, workflow.Agent{Name: name})
		}
		known := workflow.Known{Agents: agents, Names: workflow.ShippedNames(), Read: func(name string) (string, []byte, error) {
			text, _ := workflow.ShippedText(name)
			return name + ".toml", text, nil
		}}
		for _, name := range names {
			text, _ := workflow.ShippedText(name)
			d, err := workflow.Load(name, name+".toml", text, known)
			if err != nil {
				t.Errorf("%s: %v", team, err)
				continue
			}
			given := map[string]string{}
			for _, in := range d.Inputs {
				if in.Default == nil {
					given[in.Name] = "x"
				}
			}
			if _, err := d.Bind(given, agents); err != nil {
				t.Errorf("%s does not start with %s: %v", name, team, err)
			}
		}
	}
}

// TestDocument: the file shown in docs/guides/workflows.md is valid.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## A file\n")
	_, text, ok := strings.Cut(text, "```toml\n")
	text, _, closed := strings.Cut(text, "```")
	if !ok || !closed {
		t.Fatal("it shows no file")
	}
	if _, err := workflow.Load("w", "docs/guides/workflows.md", []byte(text), home()); err != nil {
		t.Error(err)
	}
}
