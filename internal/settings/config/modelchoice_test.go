package config

import (
	"slices"
	"strings"
	"testing"
)

const twoModels = `
[[models]]
id = "little"
nickname = "small"
base_url = "http://127.0.0.1:1/v1"
context_window = 32000
prices = {input = 1, output = 2}

[[models]]
id = "big"
nickname = "large"
base_url = "https://api.anthropic.com/v1"
context_window = 200000
`

// TestSeveralModels: what an agent with several models comes to, and what names one
// model alone.
func TestSeveralModels(t *testing.T) {
	c := mustParse(t, "model = \"small\"\n"+twoModels+`
[[agents]]
id = "coder"
models = ["small", "large"]
escalate = 2
max_tokens = 1000
tool_permissions = ["read", "bash"]
[[agents.model_rules]]
tokens = 20000
[[agents.model_rules]]
used = ["bash"]
use = "big"
[[agents]]
id = "other"
`)
	s, err := Resolve(Inputs{Home: "/h", Agent: "coder", Config: c})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Choice
	if !got.Several() || s.Model.ID != "little" || len(s.All()) != 2 || got.Models[1].Model.Provider != Anthropic || got.Models[1].ContextWindow != 200000 || got.Models[1].MaxTokens != 1000 {
		t.Errorf("got %+v", s.ModelUse)
	}
	want := []string{"small, then large", "rule 1: large from 20000 tokens on", "rule 2: large once bash was used", "the next after 2 failed in a row"}
	if words := got.Words(); !slices.Equal(words, want) {
		t.Errorf("said as %q", words)
	}
	if !strings.Contains(s.Origins["model"], "config.toml:") {
		t.Errorf("the model is from %q", s.Origins["model"])
	}
	if shown := s.Show(); !slices.ContainsFunc(shown, func(x Shown) bool {
		return x.Key == "models" && x.Value == `["little", "big"]` && x.Origin == s.Origins["model"]
	}) {
		t.Errorf("shown as %v", shown[:4])
	}
	if one := s.WithModel(got.Models[1]); one.Model.ID != "big" || one.ContextWindow != 200000 || one.Agent != "coder" {
		t.Errorf("the settings of the second: %+v", one.ModelUse)
	}
	s, err = Resolve(Inputs{Home: "/h", Agent: "coder", Config: c, Flags: map[string]string{"model": "large"}})
	if err != nil || s.Choice.Several() || s.Model.ID != "big" || len(s.All()) != 1 {
		t.Errorf("-m large: %+v, %v", s.ModelUse, err)
	}
	s, err = Resolve(Inputs{Home: "/h", Agent: "other", Config: c})
	if err != nil || s.Choice.Several() || s.Model.ID != "little" || s.Choice.Words() != nil {
		t.Errorf("another agent: %+v, %v", s.ModelUse, err)
	}
	local, err := ParseLocal("local.toml", []byte("base_url = \"http://127.0.0.1:9/v1\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = Resolve(Inputs{Home: "/h", Agent: "coder", Config: c, Local: local}); err == nil || !strings.Contains(err.Error(), "local.toml:1") {
		t.Errorf("an address for all of them: %v", err)
	}
}

// TestModelsInAnAgentsFile: an agent's file says the same in YAML.
func TestModelsInAnAgentsFile(t *testing.T) {
	l := loading{config: Default()}
	l.addFile(fileText{Path: "config.toml", Text: twoModels})
	l.addFile(fileText{Path: "agents/coder.md", Agent: true, Text: "---\nmodels: small, large\nescalate: 1\nmodel_rules:\n  - tokens: 100\n    use: large\n---\nYou are a coder.\n"})
	c, err := l.finishLoading()
	if err != nil {
		t.Fatal(err)
	}
	a := c.Agent("coder")
	if !slices.Equal(a.Models, []string{"small", "large"}) || a.Escalate != 1 || len(a.ModelRules) != 1 || a.ModelRules[0].Tokens != 100 {
		t.Errorf("got %+v", a)
	}
}

// TestWrongModels: each mistake is told with its place.
func TestWrongModels(t *testing.T) {
	for text, want := range map[string]string{
		`models = ["small", "larg"]`:                                            `:15:1: model "larg" not found; did you mean large?`,
		`models = ["small", "little"]`:                                          `the model "little" is in the list twice`,
		`models = ["large", "small"]`:                                           `"little" reads 32000 tokens and "big" before it 200000`,
		"model = \"small\"\nmodels = [\"small\", \"large\"]":                    "model and models are both set",
		"base_url = \"http://127.0.0.1:2/v1\"\nmodels = [\"small\", \"large\"]": "base_url would hold for all of models",
		`escalate = 2`:                       "escalate chooses among several models",
		`model_rules = [{tokens = 5}]`:       "model_rules chooses among several models",
		"models = [\"small\"]\nescalate = 1": "nothing to choose from",
		"models = [\"small\", \"large\"]\nmodel_rules = [{use = \"large\"}]":             "this rule says nothing of when it holds",
		"models = [\"small\", \"large\"]\nmodel_rules = [{tokens = 5, use = \"x\"}]":     `"x" is none of this agent's models: small, large`,
		"models = [\"small\", \"large\"]\nmodel_rules = [{tokens = 5, use = \"small\"}]": `"small" is the first of models`,
		"models = [\"small\", \"large\"]\nmodel_rules = [{tokens = 40000}]":              `"little" reads 32000 tokens only`,
		"models = [\"small\", \"large\"]\nmodel_rules = [{used = [\"bash\"]}]":           `this agent may not use "bash"`,
		"models = [\"small\", \"large\"]\nmodel_rules = [{tokens = 0}]":                  "tokens",
		"models = [\"small\", \"large\"]\nmodel_rules = [{attempt = 1}]":                 "attempt",
		"models = [\"small\", \"large\"]\nmodel_rules = [{token = 1}]":                   "did you mean tokens?",
		"models = [\"small\", \"large\"]\nmodel_rules = 7":                               "model_rules must be a list of tables",
		"models = [\"small\", \"large\"]\nescalate = -1":                                 "escalate",
		"models = [\"small\", \"large\"]\nmax_cost_per_chain = 1":                        `no price is known of the model "large"`,
		`models = "small"`: "models must be a list",
		"models = []":      "models is empty: name the agent's models",
	} {
		_, err := Parse("config.toml", []byte(twoModelsIn("[[agents]]\nid = \"coder\"\n"+text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func twoModelsIn(more string) string {
	return strings.Replace(strings.TrimPrefix(twoModels, "\n"), "https://api.anthropic.com/v1", "http://127.0.0.1:3/v1", 1) + more
}
