package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// readsUntil is a model that reads a file that is not there until that has failed
// often enough since the user spoke, and then says what it saw.
func readsUntil(failures int) llmtest.Handler {
	return func(r llmtest.Request) llmtest.Script {
		failed := 0
		for _, m := range r.Messages {
			switch {
			case m.Role == llm.User:
				failed = 0
			case m.Role == llm.ToolRole:
				failed++
			}
		}
		if failed < failures {
			return llmtest.Script{llmtest.Call("c1", "read", `{"path": "missing.txt"}`), llmtest.Usage(1000, 10)}
		}
		return llmtest.Script{llmtest.Text(fmt.Sprintf("%s saw %d failures", r.Model, failed)), llmtest.Usage(1000, 10)}
	}
}

// TestSeveralModels: an agent with a small model that speaks one protocol and a large
// one that speaks another. After two failed rounds the large one goes on, reads what the
// small one has done, and all places say so; the next prompt begins with the small
// one, which reads what the large one has said.
func TestSeveralModels(t *testing.T) {
	small, large := llmtest.NewOpenAI(t, readsUntil(3)), llmtest.NewAnthropic(t, readsUntil(3))
	h := newHome(t, fmt.Sprintf(`
[[models]]
id = "s"
provider = "openai"
base_url = %q
prices = {input = 1, output = 1}
[[models]]
id = "l"
provider = "anthropic"
base_url = %q
prices = {input = 10, output = 10}
[[agents]]
id = "coder"
models = ["s", "l"]
escalate = 2
`, small.URL(), large.URL()))
	for range 2 { // both providers name their calls alike
		code, out, errs := h.fika(nil, "run", "-c", "coder", "-v", "please read it")
		if code != 0 || out != "l saw 3 failures\n" || !strings.Contains(errs, "model l: after 2 failed rounds") {
			t.Fatalf("exit status %d, %q, %s", code, out, errs)
		}
	}
	if n, m := len(small.Requests()), len(large.Requests()); n != 4 || m != 4 {
		t.Errorf("the small one was asked %d times, the large one %d times", n, m)
	}
	_, out, _ := h.fika(nil, "request", "list", "--json", "--limit", "1")
	var r struct{ ID string }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err, out)
	}
	for args, want := range map[string]string{
		"request show " + r.ID:                  "model         s ×2, then l ×2 (after 2 failed rounds)",
		"request show --json " + r.ID:           `"why": "after 2 failed rounds"`,
		"trace " + r.ID:                         "this model: after 2 failed rounds",
		"trace --json " + r.ID:                  `"choice": "after 2 failed rounds"`,
		"usage --by model":                      "$0.0404",
		"agent show coder":                      "s, then l; the next after 2 failed in a row",
		"agent show coder --json":               `"models":{"models":["s","l"],"rules":[],"escalate":2}`,
		"agent list":                            "s +1",
		"run -c coder -m s --json again please": `"model":"s"`,
	} {
		if code, out, errs := h.fika(nil, strings.Fields(args)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("fika %s: exit status %d, %s%s; want %s", args, code, out, errs, want)
		}
	}
}

// TestAModelWithoutAKey: it is told before the first call, not when that model is
// needed at last, and by doctor.
func TestAModelWithoutAKey(t *testing.T) {
	small := llmtest.NewOpenAI(t, readsUntil(0))
	h := newHome(t, fmt.Sprintf(`
[[models]]
id = "s"
base_url = %q
[[models]]
id = "l"
base_url = "https://models.example/v1"
api_key_env = "NONE"
[[agents]]
id = "coder"
models = ["s", "l"]
escalate = 2
`, small.URL()))
	code, out, errs := h.fika(nil, "run", "-c", "coder", "hello there")
	if code != 2 || out != "" || !strings.Contains(errs, "one of the 2 models of @coder cannot be asked") || !strings.Contains(errs, "fika key set NONE") || len(small.Requests()) != 0 {
		t.Errorf("exit status %d, %s%s", code, out, errs)
	}
	if _, out, _ := h.fika(nil, "doctor"); !strings.Contains(out, "fika key set NONE") {
		t.Errorf("doctor says %s", out)
	}
	if code, out, errs := h.fika(nil, "run", "-c", "coder", "-m", "s", "hello there"); code != 0 || out != "s saw 0 failures\n" {
		t.Errorf("-m s: exit status %d, %s%s", code, out, errs)
	}
}

// TestLearnAgentFile: what a user has corrected is proposed for the text below the
// settings of the agent's own file, which only a word changes.
func TestLearnAgentFile(t *testing.T) {
	wish := regexp.MustCompile(`always [a-z ]+`)
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if found := wish.FindString(r.Messages[0].Text); len(r.Tools) == 0 && found != "" {
			raw, _ := json.Marshal(map[string]string{"target": "prompt", "text": "You write code. " + found + "\u202e", "why": "the user asked for it"})
			return llmtest.Script{llmtest.Text(string(raw)), llmtest.Usage(10, 1)}
		}
		return llmtest.Script{llmtest.Text("done"), llmtest.Usage(10, 1)}
	})
	h := newHome(t, openAI(srv, ""))
	const front = "---\ndescription: writes code\n---\n"
	h.write("agents/coder.md", front+"You write code.\n")
	file := filepath.Join(h.dir, "agents", "coder.md")
	for _, prompt := range []string{"write it", "no: always use tabs"} {
		if code, _, errs := h.fika(nil, "run", "-c", "coder", prompt+" please"); code != 0 {
			t.Fatal(errs)
		}
	}
	code, out, errs := h.fika(nil, "agent", "learn", "coder")
	if code != 6 || !strings.Contains(out, "-You write code.\n+You write code. always use tabs") || strings.Contains(out, "\u202e") || !strings.Contains(errs, "--accept") {
		t.Errorf("exit status %d, %q, %s", code, out, errs)
	}
	if now, _ := os.ReadFile(file); string(now) != front+"You write code.\n" {
		t.Errorf("written before the yes: %q", now)
	}
	var j struct{ State, Target, File, Diff string }
	code, out, _ = h.fika(nil, "agent", "learn", "coder", "--json")
	if err := json.Unmarshal([]byte(out), &j); err != nil || code != 6 || j.State != "proposed" || j.Target != "prompt" || j.File != file {
		t.Errorf("exit status %d, %+v, %v", code, j, err)
	}
	h.write("agents/coder.md", front+"My words.\n")
	if code, _, errs = h.fika(nil, "agent", "learn", "coder", "--accept"); code != 1 || !strings.Contains(errs, "was changed since") {
		t.Errorf("a file that changed: exit status %d, %s", code, errs)
	}
	h.write("agents/coder.md", front+"You write code.\n")
	if code, _, errs = h.fika(nil, "agent", "learn", "coder", "--accept"); code != 0 {
		t.Errorf("exit status %d, %s", code, errs)
	}
	if now, _ := os.ReadFile(file); !strings.HasPrefix(string(now), front+"You write code. always use tabs") {
		t.Errorf("written %q", now)
	}
	for args, want := range map[string]int{"agent learn coder --decline": 3, "agent learn coder": 0, "agent learn nobody": 3, "agent learn coder --accept --decline": 2, "agent learn": 2} {
		if code, _, errs := h.fika(nil, strings.Fields(args)...); code != want {
			t.Errorf("fika %s: exit status %d, want %d: %s", args, code, want, errs)
		}
	}
}
