package resume_test

import (
	"context"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/resume"
)

// parts is a model that answers with its parts in turn and keeps what it was asked.
type parts struct {
	answers []llm.Response
	asked   []llm.Request
	restart bool // a retry takes back what the second call has shown
}

func (p *parts) Generate(_ context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	p.asked = append(p.asked, r)
	if p.restart && len(p.asked) == 2 {
		if err := emit(llm.Event{Kind: llm.Restarted}); err != nil {
			return llm.Response{}, err
		}
	}
	a := p.answers[min(len(p.asked), len(p.answers))-1]
	return a, emit(llm.Event{Kind: llm.TextDelta, Text: a.Text})
}

// A text that was cut off at the model's own limit, or paused, is continued within a bound;
// one that was cut at a person's limit is not, and neither is a tool call. Trial row P7.
func TestCutAnswersAreContinued(t *testing.T) {
	cut := func(text string) llm.Response {
		return llm.Response{Text: text, Stop: llm.StopLength, Usage: fika.Usage{Input: 1, Output: 2}}
	}
	done := llm.Response{Text: "c", Usage: fika.Usage{Input: 1, Output: 2}}
	call := llm.Response{Calls: []llm.Call{{ID: "1", Name: "x"}}}
	for name, c := range map[string]struct {
		answers []llm.Response
		limit   int64
		text    string
		stop    llm.Stop
		calls   int
	}{
		"whole":            {[]llm.Response{done}, 0, "c", llm.StopEnd, 1},
		"cut twice":        {[]llm.Response{cut("a"), cut("b"), done}, 0, "abc", llm.StopEnd, 3},
		"cut for ever":     {[]llm.Response{cut("a")}, 0, "aaaa", llm.StopLength, 4},
		"a person's limit": {[]llm.Response{cut("a"), done}, 7, "a", llm.StopLength, 1},
		"nothing said":     {[]llm.Response{cut(" "), done}, 0, " ", llm.StopLength, 1},
		"paused":           {[]llm.Response{{Text: "a", Stop: llm.StopPause}, done}, 7, "ac", llm.StopEnd, 2},
		"paused for ever":  {[]llm.Response{{Text: "a", Stop: llm.StopPause}}, 0, "aaaa", llm.StopPause, 4},
		"a cut call":       {[]llm.Response{{Stop: llm.StopLength, Calls: call.Calls}, done}, 0, "", llm.StopLength, 1},
		"calls at last":    {[]llm.Response{cut("a"), {Text: "b", Calls: call.Calls}}, 0, "ab", llm.StopEnd, 2},
		"filtered":         {[]llm.Response{{Text: "a", Stop: llm.StopFilter}, done}, 0, "a", llm.StopFilter, 1},
	} {
		p := &parts{answers: c.answers}
		var shown strings.Builder
		r := llm.Request{MaxTokens: c.limit, Messages: []llm.Message{{Role: llm.User, Text: "go"}}}
		res, err := resume.Model(p).Generate(t.Context(), r, func(e llm.Event) error { shown.WriteString(e.Text); return nil })
		if err != nil || res.Text != c.text || shown.String() != c.text || res.Stop != c.stop || len(p.asked) != c.calls {
			t.Errorf("%s: %+v after %d calls, shown %q, %v", name, res, len(p.asked), shown.String(), err)
		}
		if name == "cut twice" {
			if res.Usage != (fika.Usage{Input: 3, Output: 6}) {
				t.Errorf("the usage of three calls is %+v", res.Usage)
			}
			last := p.asked[2].Messages
			if len(last) != 3 || last[1].Text != "ab" || last[2].Role != llm.User {
				t.Errorf("the third call was asked %+v", last)
			}
		}
	}
}

// A retry of a later call takes back what was shown, and the earlier text is shown again.
func TestARestartKeepsEarlierText(t *testing.T) {
	p := &parts{answers: []llm.Response{{Text: "a", Stop: llm.StopLength}, {Text: "b"}}, restart: true}
	shown := ""
	res, err := resume.Model(p).Generate(t.Context(), llm.Request{}, func(e llm.Event) error {
		if e.Kind == llm.Restarted {
			shown = ""
		}
		shown += e.Text
		return nil
	})
	if err != nil || shown != "ab" || res.Text != shown {
		t.Errorf("%+v, shown %q, %v", res, shown, err)
	}
}
