package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// crew is a provider that knows nothing of fika: what it answers depends on what
// it is sent. Who is asked it knows by the system prompt that the test gives.
// Only the researcher knows the finding; the coder writes it into the code if it
// is told, and the tests pass if the code has it.
type crew struct{ finding string }

var codePattern = regexp.MustCompile(`code\(([^)]*)\)`)

func (c crew) answer(r llmtest.Request) llmtest.Script {
	all := ""
	for _, m := range r.Messages {
		all += m.Text + "\n"
	}
	last := r.Messages[len(r.Messages)-1]
	switch {
	case strings.Contains(r.System, "You find things out"):
		return llmtest.Script{llmtest.Text("The best practice is ", c.finding, "."), llmtest.Usage(50, 10)}
	case strings.Contains(r.System, "You write code"):
		if strings.Contains(all, c.finding) {
			return llmtest.Script{llmtest.Text("Here it is: code(", c.finding, ")"), llmtest.Usage(80, 20)}
		}
		if last.Role == llm.User && strings.Contains(last.Text, "researcher's findings") { // as any model would look them up
			return llmtest.Script{llmtest.Call("c1", "read_context", `{"name":"researcher"}`), llmtest.Usage(60, 5)}
		}
		return llmtest.Script{llmtest.Text("code(a guess)"), llmtest.Usage(60, 5)}
	}
	code := ""
	if found := codePattern.FindStringSubmatch(all); found != nil {
		code = found[1]
	}
	if code == c.finding {
		return llmtest.Script{llmtest.Text("All tests passed"), llmtest.Usage(40, 4)}
	}
	return llmtest.Script{llmtest.Text("FAILED: ", code), llmtest.Usage(40, 4)}
}

// TestE7Showcase is research, implement, test: each model gets only what the
// system brings it. By one line for a team; by three lines of a person, of which
// the second only says whose findings are meant; and by a workflow.
func TestE7Showcase(t *testing.T) {
	t.Parallel()
	c := crew{"chunk-QX7719"}
	srv := llmtest.NewOpenAI(t, c.answer)
	agents := ""
	for _, a := range [][2]string{{"researcher", "You find things out."}, {"coder", "You write code."}, {"bash_helper", "You run tests."}} {
		agents += "[[agents]]\nid = \"" + a[0] + "\"\nsystem_prompt = \"" + a[1] + "\"\n"
	}
	h := newHome(t, openAI(srv, "")+agents)
	t.Cleanup(func() { h.fika(nil, "down", "--now") })

	// The chain.
	out, _ := h.run(0, "task", "researcher -> coder -> bash_helper", "HTTP streaming in Nim")
	has(t, "the chain gives", out, "All tests passed")
	var asked []string
	for _, r := range srv.Requests() {
		asked = append(asked, r.Messages[0].Text)
	}
	if len(asked) != 3 || strings.Contains(asked[0], c.finding) || !strings.Contains(asked[1], c.finding) || strings.Count(asked[1], c.finding) != 1 {
		t.Errorf("the coder's request has to contain the findings once:\n%q", asked)
	}

	// Three lines of a person.
	h.run(0, "task", "researcher", "Find best practices for HTTP streaming in Nim")
	out, _ = h.run(0, "ask", "coder", "Based on the researcher's findings, implement HTTP streaming")
	has(t, "the coder answers", out, "code("+c.finding+")")
	out, _ = h.run(0, "ask", "bash_helper", "Test the HTTP streaming implementation: "+strings.TrimSpace(out))
	has(t, "the tester answers", out, "All tests passed")

	// What is not for the coder to read does not reach it.
	h.write("contexts/researcher/local.toml", "readable_by = []\n")
	h.run(0, "agent", "reset", "coder")
	out, _ = h.run(0, "ask", "coder", "Based on the researcher's findings, implement HTTP streaming")
	if strings.Contains(out, c.finding) {
		t.Errorf("the coder was told what it may not read: %s", out)
	}
}
