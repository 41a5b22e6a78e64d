package modelcheck

import (
	"net/http/httptest"
	"strings"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/gemini"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/llmtest/strict"
	"fika/internal/llm/openai"
	"fika/internal/llm/responses"
)

// Strict servers take each of the calls as it is made, and what they report is found.
func TestStrictServersTakeEveryCall(t *testing.T) {
	count := func(llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Text("one two three four ", "five six seven eight nine ten")}
	}
	google, modern := httptest.NewServer(strict.Gemini(true)), httptest.NewServer(strict.Responses())
	defer google.Close()
	defer modern.Close()
	for name, m := range map[string]llm.Model{
		"openai":    openai.New(openai.Options{BaseURL: llmtest.NewOpenAI(t, count).URL(), Model: "m"}),
		"anthropic": anthropic.New(anthropic.Options{BaseURL: llmtest.NewAnthropic(t, count).URL(), Model: "m"}),
		"responses": responses.New(responses.Options{BaseURL: modern.URL + "/v1", APIKey: "k", Model: "m"}),
		"gemini":    gemini.New(gemini.Options{BaseURL: google.URL + "/v1beta", APIKey: "k", Model: "m"}),
	} {
		r, err := Run(t.Context(), m, nil)
		if err != nil || r.Calls != 6 || len(r.Findings) != len(Names) {
			t.Errorf("%s: %d calls, %v: %v", name, r.Calls, r.Findings, err)
		}
		for _, f := range r.Findings {
			if strings.Contains(f.Said, "takes no") || strings.Contains(f.Said, "refused") {
				t.Errorf("%s: %s: %s", name, f.Name, f.Said)
			}
			if counts := name == "openai" || name == "anthropic"; counts && (f.Name == "text" || f.Name == "stream") && !f.Works {
				t.Errorf("%s: %s: %s", name, f.Name, f.Said)
			}
		}
	}
}
