package e2e

import (
	"strings"
	"sync"
	"testing"

	"fika/internal/llm/llmtest"
)

// TestStartTogether: whoever needs the hub starts it; of many at once, one
// does, and none fails.
func TestStartTogether(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script { return llmtest.Script{llmtest.Text("yes")} })
	h := newHome(t, config(srv, llmtest.OpenAI, "", agent{name: "arya", lazy: true}))
	h.must("agent", "list") // makes the home
	h.must("up")
	h.must("down")
	var all sync.WaitGroup
	results := make([]result, 8)
	for i := range results {
		p := h.start("", "ask", "arya", "are you there?")
		all.Add(1)
		go func() {
			defer all.Done()
			<-p.ended
			results[i] = result{p.out.String(), p.errOut.String(), p.cmd.ProcessState.ExitCode()}
		}()
	}
	all.Wait()
	for _, r := range results {
		if r.code != 0 || strings.TrimSpace(r.stdout) != "yes" {
			t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
		}
	}
	h.pid(hubWords) // one: what it starts looks like it for a moment
	h.quiet()
	h.settled()
	if n := len(srv.Requests()); n != len(results) {
		t.Errorf("%d requests to the model", n)
	}
}
