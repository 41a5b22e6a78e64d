package worker

import (
	"encoding/json"
	"slices"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/openai"
	"fika/internal/settings/config"
	"fika/internal/tool"
	"fika/internal/turn"
)

// Each prompt pays for the system prompt and the tools that everybody has; it
// is measured where it is paid, in the body of the request.
func TestADefaultPromptCostsLittleMoreThanTwoKilobytes(t *testing.T) {
	const most = 2100
	x := sit(t, "")
	var body []byte
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		body = r.Body
		return llmtest.Script{llmtest.Text("hello")}
	})
	c, err := x.runtime.begin(t.Context(), RunOptions{Who: person, Prompt: "hi"})
	x.must(err)
	model := openai.New(openai.Options{BaseURL: srv.URL(), Model: "m"})
	res, err := turn.New(x.runtime.turnConfig(c, x.worker.Settings, []llm.Model{model}, nil, turn.ObserverFunc(func(turn.Event) {}))).Run(t.Context(), c)
	x.must(err)
	if res.State != fika.Done {
		t.Fatal(res.Reason)
	}
	var sent struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    json.RawMessage   `json:"tools"`
	}
	x.must(json.Unmarshal(body, &sent))
	if n := len(sent.Messages[0]) + len(sent.Tools) - len(x.runtime.workspace); n > most || len(sent.Messages) != 2 {
		t.Errorf("%d bytes besides the folder's name, %d are the most; say it in fewer words, or let an agent have a tool by name only (tool.Spec.ByName):\n%s\n%s", n, most, sent.Messages[0], sent.Tools)
	} else {
		t.Logf("%d bytes", n)
	}
}

// permitted are the tools that fika brings along and tool_permissions can name.
func permitted(t *testing.T) []tool.Tool {
	t.Helper()
	tools := append(sit(t, "").runtime.toolbox.builtins(), recallTool(nil))
	want := slices.DeleteFunc(config.BuiltinTools(), func(name string) bool {
		return name == "offer" || name == "board" || name == "run_workflow" // they come with a project, a board, workflows
	})
	if names := toolNames(tools); !slices.Equal(names, want) {
		t.Errorf("the tools are %q, and config.BuiltinTools are %q", names, want)
	}
	return tools
}

// Each request pays for the words that describe the tools.
func TestToolsAreDescribedInFewWords(t *testing.T) {
	type described struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	var all []described
	for _, one := range permitted(t) {
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
	if most := 234 * len(all); len(raw) > most {
		t.Errorf("%d bytes for %d tools, %d are the most; describe them in fewer words:\n%s", len(raw), len(all), most, raw)
	}
	t.Logf("%d bytes", len(raw))
}

// An agent changes nothing and reaches nothing that no person has named.
func TestWhatReachesFarIsHadByName(t *testing.T) {
	for _, one := range permitted(t) {
		s := one.Spec()
		far := s.Effect != fika.Pure || s.Name == "fetch" || s.Name == "recall"
		if far && !s.ByName {
			t.Errorf("%s is had by those who were not given it", s.Name)
		}
		if everybody := slices.Contains(config.DefaultTools(), s.Name); everybody == s.ByName {
			t.Errorf("%s: ByName is %v, and in config.DefaultTools: %v", s.Name, s.ByName, everybody)
		}
	}
}
