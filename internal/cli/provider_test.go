package cli_test

import (
	"strings"
	"testing"
	"time"

	"fika/internal/cli"
	"fika/internal/llm/llmtest"
	"fika/internal/system/term"
)

// TestA9Broken: what was printed of an answer that breaks off again and again is
// printed once; waits of less than a second are not announced.
func TestA9Broken(t *testing.T) {
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		if r.N < 3 {
			return llmtest.Script{llmtest.Text("Once upon ", "a time"), llmtest.Cut()}
		}
		return llmtest.Script{llmtest.Text("Once upon ", "a time", " it worked.")}
	})
	h := newHome(t, openAI(srv, ""))
	s, _, out, errs := term.TestStreams()
	s.OutTTY = true
	code := cli.Main([]string{"--home", h.dir, "run", "tell me a story"}, s, func(k string) string { return map[string]string{"KEY": llmtest.Secret}[k] })
	if code != 0 || strings.Count(out.String(), "Once upon") != 1 || !strings.Contains(out.String(), " it worked.") {
		t.Errorf("exit status %d, printed %q", code, out)
	}
	if errs.String() != "" {
		t.Errorf("two short waits are told of: %s", errs)
	}
}

// TestA9Key: a key that is refused is named, with what helps.
func TestA9Key(t *testing.T) {
	for _, status := range []int{401, 403} {
		srv := llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
			return llmtest.Script{llmtest.Status(status, "no", 0*time.Second)}
		})
		for key, want := range map[string]string{"KEY": "the key KEY in the environment of this shell was refused", "": "set api_key_env"} {
			h := newHome(t, strings.Replace(openAI(srv, ""), `"KEY"`, `"`+key+`"`, 1))
			code, out, errs := h.fika(nil, "run", "hello there")
			if code != 5 || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, llmtest.Secret) {
				t.Errorf("%d with key %q: exit status %d, %s%s", status, key, code, out, errs)
			}
		}
	}
}
