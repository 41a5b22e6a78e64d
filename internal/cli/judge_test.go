package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fika/internal/llm/llmtest"
)

// TestRoutingModel: what ranking is not sure of goes to the model that [routing]
// names; its cost is in the ledger. When it fails or names nobody, ranking counts as
// if there were none, and that is said once.
func TestRoutingModel(t *testing.T) {
	mode := ""
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		text := r.Messages[0].Text
		switch {
		case mode == "broken":
			return llmtest.Script{llmtest.Status(400, "no", 0)}
		case mode == "odd":
			return llmtest.Script{llmtest.Text("somebody else"), llmtest.Usage(50, 5)}
		}
		_, wish, _ := strings.Cut(text, "request:")
		for line := range strings.Lines(text) { // it reads words backwards, which ranking does not
			name, about, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": ")
			word := []byte(about[max(0, len(strings.TrimSpace(about))-3):])
			slices.Reverse(word)
			if ok && strings.Contains(wish, strings.TrimSpace(string(word))) {
				return llmtest.Script{llmtest.Text("@" + name), llmtest.Usage(50, 5)}
			}
		}
		return llmtest.Script{llmtest.Text("none"), llmtest.Usage(50, 5)}
	})
	config := fmt.Sprintf(`
[[models]]
id = "judge"
base_url = %q
prices = {input = 1, output = 1}
[[agents]]
id = "ann"
description = "likes blue things such as zyx"
[[agents]]
id = "ben"
description = "likes blue things such as qux"
[[agents]]
id = "eve"
description = "likes blue things such as wuz"
callable_by = []
`, srv.URL())
	plain := newHome(t, "model = \"judge\"\n"+config)
	h := newHome(t, "model = \"judge\"\n[routing]\nmodel = \"judge\"\n"+config)
	ask := func(h *home, args ...string) (out, errs string) {
		t.Helper()
		code, out, errs := h.fika(nil, append([]string{"route"}, args...)...)
		if code != 0 {
			t.Fatalf("exit status %d: %s", code, errs)
		}
		return out, errs
	}
	const unsure = "something blue with xuq please"
	offline, _ := ask(plain, "--json", unsure)
	if len(srv.Requests()) != 0 || strings.Contains(offline, `"sure": true`) {
		t.Fatalf("without [routing] a model was asked, or this is sure: %s", offline)
	}
	out, errs := ask(h, "--json", unsure)
	if !strings.Contains(out[:strings.Index(out, "}")], `"agent": "ben"`) || !strings.Contains(out, "chosen by the model judge") || errs != "" {
		t.Errorf("the model names ben: %s%s", out, errs)
	}
	for say, want := range map[string]string{"broken": "did not answer", "odd": `answered "somebody else"`, "zuw": "cannot take it: you may not ask it", "nothing": "for none of them"} {
		mode = say
		prompt := unsure
		if say == "zuw" || say == "nothing" {
			prompt = strings.Replace(unsure, "xuq", say, 1)
		}
		before, _ := ask(plain, "--json", prompt)
		out, errs := ask(h, "--json", prompt)
		if out != before || strings.Count(errs, "routing model") != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: %s%s; want %s", say, out, errs, want)
		}
	}
	mode = ""
	if _, out, errs := h.fika(nil, "usage"); !strings.Contains(out, "routing") || !strings.Contains(out, "$0.00022") {
		t.Errorf("the ledger says %s%s", out, errs)
	}
	if code, _, errs := plain.fika(nil, "ask", "auto", unsure); code != 2 || !strings.Contains(errs, "no clear match") {
		t.Errorf("auto without a routing model: exit status %d, %s", code, errs)
	}
	bad := newHome(t, "model = \"judge\"\n[routing]\nmodel = \"jugde\"\n"+config)
	if code, _, errs := bad.fika(nil, "config", "check"); code != 2 || !strings.Contains(errs, "did you mean judge?") {
		t.Errorf("a wrong name: exit status %d, %s", code, errs)
	}
}
