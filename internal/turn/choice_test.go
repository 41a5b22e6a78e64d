package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// ladder gives the world several models, which say who they are in what they were
// asked with: names tells who was asked, in order.
type ladder struct {
	w     *world
	names []string
	// answer decides what the model of a name answers to its n-th call of all.
	answer func(name string, n int, r llm.Request) llm.Response
}

type rung struct {
	l    *ladder
	name string
}

func (r rung) Generate(ctx context.Context, q llm.Request, _ func(llm.Event) error) (llm.Response, error) {
	r.l.names = append(r.l.names, r.name)
	if err := ctx.Err(); err != nil {
		return llm.Response{}, fika.Wrap(fika.Interrupted, "model", err)
	}
	res := r.l.answer(r.name, len(r.l.names), q)
	res.Usage = fika.Usage{Input: 10, Output: 2}
	return res, nil
}

func (l *ladder) config(c turn.Choice, names ...string) turn.Config {
	cfg := l.w.config()
	cfg.Model, cfg.ModelID = rung{l, names[0]}, names[0]
	for _, n := range names[1:] {
		c.Further = append(c.Further, turn.Model{Provider: rung{l, n}, ID: n})
	}
	cfg.Choice = c
	return cfg
}

func (l *ladder) run(cfg turn.Config, c store.Claimed) turn.Result {
	l.w.Helper()
	res, err := turn.New(cfg).Run(l.w.Context(), c)
	l.w.ok(err)
	return res
}

// failing is a world with a tool that works when its argument says so.
func failing(t *testing.T) (*world, *ladder) {
	w := newWorld(t)
	w.add("try", fika.Pure, func(_ context.Context, c tool.Call) (tool.Result, error) {
		if strings.Contains(string(c.Args), "well") {
			return tool.Result{Text: "worked"}, nil
		}
		return tool.Errorf("no such thing"), nil
	})
	return w, &ladder{w: w}
}

func try(how string) llm.Response {
	return llm.Response{Calls: []llm.Call{call("", "try", `{"x":"`+how+`"}`)}}
}

// TestEscalation: after the set number of consecutive failed rounds the next model is
// asked, and stays; a round that worked in between restarts the count.
func TestEscalation(t *testing.T) {
	for name, x := range map[string]struct {
		escalate int
		answers  string // b: the tool fails, w: it works, e: empty, f: not in the form, a: the answer
		want     string
		attempt  int
	}{
		"never":            {0, "bba", "sss", 0},
		"after two":        {2, "bba", "ssl", 0},
		"stays":            {2, "bbwba", "sslll", 0},
		"not in a row":     {2, "bwbwa", "sssss", 0},
		"in a row at last": {2, "bwbba", "ssssl", 0},
		"twice":            {1, "bba", "slx", 0},
		"no further":       {1, "bbba", "slxx", 0},
		"empty answers":    {2, "eea", "ssl", 0},
		"wrong form":       {2, "ffa", "ssl", 0},
		"all together":     {3, "bfea", "sssl", 0},
		"second attempt":   {1, "a", "l", 2},
		"later attempt":    {2, "a", "l", 4},
		"attempt counts":   {2, "ba", "sl", 2},
		"attempt, then ok": {2, "wba", "sss", 2},
	} {
		t.Run(name, func(t *testing.T) {
			w, l := failing(t)
			l.answer = func(_ string, n int, _ llm.Request) llm.Response {
				switch x.answers[n-1] {
				case 'b':
					return try("badly")
				case 'w':
					return try("well")
				case 'e':
					return llm.Response{}
				case 'f':
					return llm.Response{Text: "no JSON"}
				}
				return llm.Response{Text: "the answer"}
			}
			cfg := l.config(turn.Choice{Escalate: x.escalate}, "s", "l", "x")
			cfg.Check = func(text string) error {
				if text == "no JSON" {
					return errors.New("this is not a JSON")
				}
				return nil
			}
			c := w.ask("go")
			c.Request.Payload.Attempt = x.attempt
			if res := l.run(cfg, c); res.State != fika.Done {
				t.Fatal(res.State, res.Reason)
			}
			if got := strings.Join(l.names, ""); got != x.want {
				t.Errorf("asked %s, want %s", got, x.want)
			}
		})
	}
}

// TestModelRules: of the rules that hold, the one with the latest model wins, and no
// earlier model comes back.
func TestModelRules(t *testing.T) {
	long := strings.Repeat("words ", 2000) // 3,000 tokens
	for name, x := range map[string]struct {
		rules  []turn.ModelRule
		prompt string
		want   string
		why    string
	}{
		"none":            {nil, "go", "ss", ""},
		"used":            {[]turn.ModelRule{{Used: []string{"other", "try"}, Use: 1}}, "go", "sl", "rule 1: try was used"},
		"offered":         {[]turn.ModelRule{{Offered: []string{"try"}, Use: 1}}, "go", "ll", "rule 1: try is offered"},
		"not offered":     {[]turn.ModelRule{{Offered: []string{"bash"}, Use: 1}}, "go", "ss", ""},
		"small prompt":    {[]turn.ModelRule{{Tokens: 2900, Use: 1}}, "go", "ss", ""},
		"large prompt":    {[]turn.ModelRule{{Tokens: 2900, Use: 1}}, long, "ll", "rule 1: 2900 tokens"},
		"all have to":     {[]turn.ModelRule{{Tokens: 2900, Used: []string{"try"}, Use: 1}}, long, "sl", "rule 1: try was used, 2900 tokens"},
		"latest":          {[]turn.ModelRule{{Used: []string{"try"}, Use: 2}, {Offered: []string{"try"}, Use: 1}}, "go", "lx", "rule 1: try was used"},
		"attempt":         {[]turn.ModelRule{{Attempt: 2, Use: 1}}, "go", "ss", ""},
		"none that there": {[]turn.ModelRule{{Offered: []string{"try"}, Use: 7}}, "go", "ss", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, l := failing(t)
			l.answer = func(_ string, n int, _ llm.Request) llm.Response {
				if n == 1 {
					return try("well")
				}
				return llm.Response{Text: "the answer"}
			}
			c := w.ask(x.prompt)
			res := l.run(l.config(turn.Choice{Rules: x.rules}, "s", "l", "x"), c)
			if got := strings.Join(l.names, ""); got != x.want || res.State != fika.Done {
				t.Errorf("asked %s, want %s (%s)", got, x.want, res.Reason)
			}
			steps, err := w.store.Steps(t.Context(), c.Request.ID)
			w.ok(err)
			var models, choice string
			for _, s := range steps {
				if s.Kind == fika.ModelStep {
					models, choice = models+s.Model, s.Choice
				}
			}
			if models != x.want || choice != x.why {
				t.Errorf("the steps say %q and %q, want %q", models, choice, x.why)
			}
		})
	}
}

// TestHistoryComesToTheLargerModel: what was said before counts as well, however
// little of it the first model can read.
func TestHistoryComesToTheLargerModel(t *testing.T) {
	w, l := failing(t)
	l.answer = func(_ string, _ int, _ llm.Request) llm.Response {
		return llm.Response{Text: strings.Repeat("more ", 800)} // 1,000 tokens
	}
	cfg := l.config(turn.Choice{Rules: []turn.ModelRule{{Tokens: 3500, Use: 1}}}, "s", "l")
	cfg.Window = 4000
	cfg.Choice.Further[0].Window = 100_000
	for range 6 {
		l.run(cfg, w.ask("go on"))
	}
	if got := strings.Join(l.names, ""); got != "ssssll" {
		t.Errorf("asked %s", got)
	}
}

// TestTheSameModelAfterACrash: at whichever operation the owner died, the next one asks
// the models that the first would have asked.
func TestTheSameModelAfterACrash(t *testing.T) {
	const script = "bbwbba"
	answer := func(_ string, _ int, r llm.Request) llm.Response {
		round := 0
		for _, m := range r.Messages {
			round += len(m.Calls)
		}
		switch script[round] {
		case 'b':
			return try("badly")
		case 'w':
			return try("well")
		}
		return llm.Response{Text: "the answer"}
	}
	want := []fika.ModelUsed{{Model: "s", Calls: 2}, {Model: "l", Calls: 3, Why: "after 2 failed rounds"}, {Model: "x", Calls: 1, Why: "after 2 failed rounds"}}
	step := 1
	if testing.Short() {
		step = 5
	}
	for _, after := range []bool{false, true} {
		for k := 1; ; k += step {
			w, l := failing(t)
			l.answer = answer
			c := w.ask("go")
			d := &death{left: k, after: after}
			cfg := l.config(turn.Choice{Escalate: 2}, "s", "l", "x")
			cfg.Store = turn.StoreOf(d.store(w.store))
			_, err := turn.New(cfg).Run(t.Context(), c)
			if !d.died() {
				w.ok(err)
			} else {
				w.takeOver()
				rec, err := w.store.Recover(t.Context(), w.lease)
				w.ok(err)
				if len(rec.Claimed) > 0 {
					l.run(l.config(turn.Choice{Escalate: 2}, "s", "l", "x"), rec.Claimed[0])
				}
			}
			r := w.state(c.Request.ID, fika.Done)
			if !slices.Equal(r.Outcome.Models, want) || r.Outcome.Model != "x" {
				t.Fatalf("died at operation %d, after it: %v: %+v, %s", k, after, r.Outcome.Models, r.Outcome.Model)
			}
			_ = w.store.Close()
			if !d.died() {
				if k < 10 {
					t.Errorf("only %d operations", k)
				}
				break
			}
		}
	}
}

// TestIDsOfTwoProviders: two models may give their calls the same ids, and what one of
// them has signed goes back only to it.
func TestIDsOfTwoProviders(t *testing.T) {
	w, l := failing(t)
	var last llm.Request
	l.answer = func(name string, n int, r llm.Request) llm.Response {
		last = r
		if n%2 == 1 {
			return llm.Response{Calls: []llm.Call{call("c1", "try", `{"x":"badly"}`)}, Blob: []byte(`{"by":"` + name + `"}`)}
		}
		return llm.Response{Text: "the answer"}
	}
	cfg := l.config(turn.Choice{Escalate: 1}, "s", "l")
	for range 3 {
		l.run(cfg, w.ask("go"))
	}
	if err := valid(last.Messages); err != nil {
		t.Error(err)
	}
	var ids, blobs []string
	for _, m := range last.Messages {
		for _, c := range m.Calls {
			ids, blobs = append(ids, c.ID), append(blobs, string(m.Blob))
		}
	}
	if strings.Join(ids, " ") != "c1 c1_2 c1_3" || strings.Join(blobs, "") != "" {
		t.Errorf("the larger model is shown calls %v, as made by %q", ids, blobs)
	}
}
