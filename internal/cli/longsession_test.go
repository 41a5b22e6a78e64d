package cli_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"fika/internal/llm/llmtest"
)

// TestALongSession: a session goes on through compactions. Each prompt is answered once,
// nothing is said to be left out, the model keeps knowing what it was told at first, and
// the context that is shown is what the model's server has counted. FULL=1 has 300 turns.
func TestALongSession(t *testing.T) {
	t.Parallel()
	turns, window := 40, 9000
	if os.Getenv("FULL") != "" {
		turns, window = 300, 40_000
	}
	const about, output = "the secret word is heron", 300
	asked := regexp.MustCompile(`turn (\d+) now`)
	var answered [301]atomic.Int64 // by turn, with the tokens of its request
	var summaries, lost atomic.Int64
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		tokens := int64(len(r.Body) / 4)
		all := r.System
		for _, m := range r.Messages {
			all += "\n" + m.Text
		}
		if strings.Contains(all, "left out") {
			t.Errorf("a request says that something is left out:\n%s", all)
		}
		last := said(llmtest.Record{Request: r})
		if strings.Contains(last, "a summary is about to replace") {
			summaries.Add(1)
			return llmtest.Script{llmtest.Text("Turns were taken; " + about + "."), llmtest.Usage(tokens, 20)}
		}
		found := asked.FindAllStringSubmatch(all, -1)
		if found == nil {
			t.Errorf("a request without a prompt:\n%s", all)
			return llmtest.Script{llmtest.Text("?")}
		}
		n, _ := strconv.Atoi(found[len(found)-1][1])
		if answered[n].Swap(tokens) != 0 {
			t.Errorf("turn %d was asked again", n)
		}
		if n > 1 && !strings.Contains(all, about) {
			lost.Add(1)
		}
		return llmtest.Script{llmtest.Text(fmt.Sprintf("answer %d.\n\n", n), strings.Repeat("it is as it was; ", 70)), llmtest.Usage(tokens, output)}
	})
	h := newHome(t, openAI(srv, "auto_compact = true")+fmt.Sprintf("context_window = %d\n[[agents]]\nid = \"coder\"\n", window))
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down") })
	percent := regexp.MustCompile(`[^~\d](\d+)% of `)
	var compared []string
	acts := []act{{"/help", typed("turn 1 now: " + about + "\r")}}
	for n := 1; n < turns; n++ {
		acts = append(acts, act{fmt.Sprintf("answer %d.", n), func(x *terminal) string {
			if n%10 != 9 {
				return fmt.Sprintf("turn %d now\r", n+1)
			}
			// At rest, what is shown comes to what the server has counted: what came and what it said.
			shown, counted := "", float64(answered[n].Load()+output)
			if !eventually(func() bool {
				found := percent.FindAllStringSubmatch(x.text(), -1)
				if found == nil {
					return false
				}
				shown = found[len(found)-1][1]
				of, _ := strconv.ParseFloat(shown, 64)
				return math.Abs(of*float64(window)/100-counted) <= 0.05*counted+float64(window)/200
			}) {
				t.Errorf("after turn %d: %s%% of %d is shown, and %.0f was counted", n, shown, window, counted)
			}
			compared = append(compared, fmt.Sprintf("%d: %s%%, %.1f%%", n, shown, 100*counted/float64(window)))
			return fmt.Sprintf("turn %d now\r", n+1)
		}})
	}
	shown := seen(h.scene(append(acts, act{fmt.Sprintf("answer %d.", turns), typed("/quit\r")})))
	t.Logf("%d summaries; %s", summaries.Load(), strings.Join(compared, "; "))
	if summaries.Load() < 2 || lost.Load() > 0 {
		t.Errorf("compacted %d times; %d requests did not hold what was said first", summaries.Load(), lost.Load())
	}
	if strings.Contains(shown, "left out") {
		t.Error("the session says that something is left out")
	}
	for n := 1; n <= turns; n++ {
		if answered[n].Load() == 0 {
			t.Errorf("turn %d was not asked", n)
		}
	}
}
