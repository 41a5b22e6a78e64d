package turn_test

import (
	"os"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
)

// Only an answer that is whole is done: each other stop is an outcome of its own, whose
// words say so, and what was said stays in the conversation. The table is the one in
// docs/internals/failures.md. Trial rows P5, P7.
func TestOnlyAWholeAnswerIsDone(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	exits := map[fika.Kind]string{fika.Provider: "5", fika.Limit: "8"}
	for stop, want := range map[llm.Stop]struct {
		kind fika.Kind
		says string
	}{
		llm.StopLength:  {fika.Limit, "the answer was cut off at the output limit of 99 tokens"},
		llm.StopWindow:  {fika.Limit, "the conversation fills the model's context window"},
		llm.StopRefusal: {fika.Provider, "the model declined: the provider's words"},
		llm.StopFilter:  {fika.Provider, "the provider's content filter stopped the answer"},
		llm.StopPause:   {fika.Provider, "the provider paused the answer again and again"},
		llm.StopFlood:   {fika.Limit, "the model asked for the provider's words; none was run"},
		llm.StopUnknown: {fika.Provider, `the provider ended the answer for a reason that is not known here: "the provider's words"`},
	} {
		w := newWorld(t)
		w.add("push", fika.Unsafe, nil)
		answer := llm.Response{Text: "the first half", Stop: stop, StopText: "the provider's words", MaxTokens: 99, Usage: fika.Usage{Input: 5, Output: 3}}
		if stop != llm.StopLength { // there, only the last call is cut
			answer.Calls = []llm.Call{call("1", "push", "{}")}
		}
		w.model.says(answer)
		c := w.ask("go")
		res := w.run(c)
		if res.State != fika.RequestFailed || res.Kind != want.kind || res.Outcome.Stop != string(stop) || !strings.Contains(res.Reason, want.says) || len(w.calls()) > 0 {
			t.Errorf("%s: %+v, ran %v", stop, res, w.calls())
		}
		entries := w.entries(c.Conversation.ID)
		if last := entries[len(entries)-1]; last.Content != "the first half" || res.Outcome.Usage.Input != 5 {
			t.Errorf("%s: the text that was paid for is gone: %+v, %+v", stop, last, res.Outcome.Usage)
		}
		if row := "| `" + string(stop) + "` | failed | " + exits[want.kind] + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/internals/failures.md has no row %s", row)
		}
		w.whole(c.Conversation.ID)
	}
}

// TestNothingBesideAMalformedCallIsRun: of an answer with a call that the provider could not
// read, no other call is run; the model is asked again.
func TestNothingBesideAMalformedCallIsRun(t *testing.T) {
	w := newWorld(t)
	w.add("push", fika.Unsafe, nil)
	broken := calls(call("1", "push", "{}"))
	broken.Stop = llm.StopBadCall
	w.model.says(broken, text("done"))
	c := w.ask("go")
	if res := w.run(c); res.State != fika.Done || len(w.calls()) > 0 || len(w.model.asked) != 2 {
		t.Errorf("%+v, ran %v, asked %d times", res, w.calls(), len(w.model.asked))
	}
	w.whole(c.Conversation.ID)
}
