package cli_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// TestB7SubAgentWorksAsInstalled: it is given the keys of the models when it
// is installed, and several calls of one answer work at the same time: here
// none of them is answered before all have asked.
func TestB7SubAgentWorksAsInstalled(t *testing.T) {
	t.Parallel()
	together := make(chan struct{})
	late := time.AfterFunc(patience, func() { t.Error("the sub-agents did not ask at the same time"); close(together) })
	var mu sync.Mutex
	subs := 0
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		last := r.Messages[len(r.Messages)-1].Text
		switch {
		case r.Messages[len(r.Messages)-1].Role == llm.ToolRole:
			return llmtest.Script{llmtest.Text("boss has it")}
		case strings.Contains(last, "all three"):
			var s llmtest.Script
			for i := range 3 {
				s = append(s, llmtest.Call(fmt.Sprintf("c%d", i), "sub-agent", fmt.Sprintf(`{"context":"sub%d","task":"side %d"}`, i, i)))
			}
			return s
		case strings.Contains(last, "side "):
			mu.Lock()
			if subs++; subs == 3 && late.Stop() {
				close(together)
			}
			mu.Unlock()
			return llmtest.Script{llmtest.Wait(together), llmtest.Text("seen from " + last)}
		}
		return llmtest.Script{llmtest.Text("boss has it")}
	})
	h := newHome(t, openAI(srv, ""))
	if _, stderr := h.run(0, "plugin", "install", "sub-agent"); !strings.Contains(stderr, "sub-agent gets MODEL_KEYS") {
		t.Errorf("installing says %s", stderr)
	}
	stdout, _ := h.run(0, "run", "look at it from all three sides")
	has(t, "the answer", stdout, "boss has it")
	list := srv.Requests()
	var told string
	for _, m := range list[len(list)-1].Messages {
		told += m.Text + "\n"
	}
	has(t, "what the boss was told", told, "seen from", "side 0", "side 1", "side 2")
}
