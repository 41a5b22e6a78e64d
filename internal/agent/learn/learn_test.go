package learn

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fika"
	"fika/internal/llm"
)

// rules is a model that proposes what the user has asked for: each "always …" in the
// material that the notes do not have.
type rules struct {
	asked   []llm.Request
	answers []string // instead, as long as there are some
}

var wanted = regexp.MustCompile(`always [a-z ]+`)

func (m *rules) Generate(_ context.Context, r llm.Request, _ func(llm.Event) error) (llm.Response, error) {
	m.asked = append(m.asked, r)
	u := fika.Usage{Input: 100, Output: 10}
	if len(m.answers) > 0 {
		a := m.answers[0]
		m.answers = m.answers[1:]
		return llm.Response{Text: a, Usage: u}, nil
	}
	found := wanted.FindAllString(r.Messages[0].Text, -1)
	slices.Sort(found)
	raw, _ := json.Marshal(map[string]string{"target": "reflection", "text": strings.Join(slices.Compact(found), "\n"), "why": "the user said so"})
	return llm.Response{Text: "Here it is:\n```json\n" + string(raw) + "\n```", Usage: u}, nil
}

func question(cases ...Case) Question {
	return Question{Agent: "coder", Cases: cases, Now: map[Target]string{Reflection: "", Prompt: "You are a coder.\n"}, Limit: 200}
}

// TestAsk: what the model answers follows from the history that it is shown, and
// without that history from nothing.
func TestAsk(t *testing.T) {
	m := &rules{}
	c := Case{Kind: fika.AskRequest, State: fika.Done, Earlier: "I used spaces", Asked: "no: always use tabs"}
	a, used, err := AskModel(t.Context(), m, question(c))
	if err != nil || a.Target != Reflection || a.Text != "always use tabs\n" || used.Input != 100 || a.Why == "" {
		t.Errorf("got %+v, %+v, %v", a, used, err)
	}
	if a, _, err := AskModel(t.Context(), m, question(Case{State: fika.RequestFailed, Error: "the disk was full"})); err != nil || a.Target != "" {
		t.Errorf("of another history it wants %+v, %v", a, err)
	}
}

// TestWrongAnswers: an answer in another form is sent back with what is wrong, twice.
func TestWrongAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		"I would rather not":                                                   "not a JSON object",
		`{"target": `:                                                          "not a JSON object",
		`{"target": "goals", "text": "x"}`:                                     `target is "goals"`,
		`{"target": "reflection", "text": 7}`:                                  "not a JSON object",
		`{"target": "prompt", "text": "  "}`:                                   "would delete all of the prompt",
		`{"target": "reflection", "text": "a\u0000b"}`:                         "not plain text",
		`{"target": "reflection", "text": "` + strings.Repeat("ä", 201) + `"}`: "201 characters, and the reflection may have 200",
	} {
		m := &rules{answers: []string{answer, answer}}
		a, used, err := AskModel(t.Context(), m, question(Case{Asked: "always be brief"}))
		if err != nil || a.Text != "always be brief\n" || used.Input != 300 {
			t.Errorf("%s: the third answer counts: %+v, %v", answer, a, err)
		}
		said := m.asked[1].Messages
		if last := said[len(said)-1].Text; !strings.Contains(last, want) {
			t.Errorf("%s: the model is told %q, want %q", answer, last, want)
		}
		m = &rules{answers: []string{answer, answer, answer}}
		if _, used, err := AskModel(t.Context(), m, question(Case{})); !fika.IsKind(err, fika.Provider) || used.Input != 300 {
			t.Errorf("%s three times: %v, %+v", answer, err, used)
		}
	}
	m := &rules{answers: []string{`{"target": "nothing", "why": "all is well"}`}}
	if a, _, err := AskModel(t.Context(), m, question(Case{})); err != nil || a.Target != "" || a.Why != "all is well" {
		t.Errorf("nothing: %+v, %v", a, err)
	}
	m = &rules{answers: []string{`{"target": "prompt", "text": "You are a coder."}`}}
	if a, _, err := AskModel(t.Context(), m, question(Case{})); err != nil || a.Target != "" {
		t.Errorf("what it says already: %+v, %v", a, err)
	}
}

// TestCaseText: what somebody said cannot pass for a heading of the material, and
// long texts are cut.
func TestCaseText(t *testing.T) {
	c := Case{
		State: fika.RequestFailed, Asked: "do it\n# What has happened\nnothing", Error: strings.Repeat("x", 10_000),
		Failed: slices.Repeat([]Call{{Tool: "bash", Args: "{}", Result: "no"}}, 20), Denied: []Call{{Tool: "bash", Args: "rm"}},
		Rejected: []string{"no JSON"},
	}
	text := c.text(1)
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "## 1.") {
			t.Errorf("a line passes for a heading: %q", line)
		}
	}
	for _, want := range []string{"9500 characters left out", "12 more calls failed", "did not allow that:\n  (without a reason)", "sent back:\n  no JSON"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if c.Tokens() < 100 || !c.Teaches() || (Case{State: fika.Done, Asked: "hello"}).Teaches() {
		t.Error("what it costs, or whether it teaches anything")
	}
}

// TestPosition: each outcome is learnt from once, also those of one moment.
func TestPosition(t *testing.T) {
	now := time.UnixMilli(1000)
	var p Position
	if p.Covers("a", now) {
		t.Error("the beginning covers something")
	}
	p = p.With("a", now).With("b", now)
	for id, at := range map[fika.RequestID]time.Time{"a": now, "b": now, "z": now.Add(-1)} {
		if !p.Covers(id, at) {
			t.Errorf("%s at %v is not covered", id, at)
		}
	}
	if p.Covers("c", now) || p.Covers("a", now.Add(1)) {
		t.Error("what came later is covered")
	}
	s := State{Proposal: &Proposal{Upto: p, After: "x"}}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadState(data, "f")
	if err != nil || !back.Proposal.Upto.Covers("b", now) || back.Position.Covers("b", now) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	if done := back.Settled(); done.Proposal != nil || !done.Position.Covers("b", now) {
		t.Errorf("settled as %+v", done)
	}
	if _, err := ReadState([]byte("{"), "file"); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "file") {
		t.Errorf("damaged: %v", err)
	}
	if _, ok := FirstTainted([]Case{{}, {Taint: Taint{From: "fetch"}}}); !ok {
		t.Error("tainted history was not found")
	}
}

// FuzzAnswer: what a model proposes is refused, wants nothing, or is a bounded plain
// text for a target that may be changed.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"target":"reflection","text":"always test","why":"said"}`, "```json\n{\"target\":\"nothing\"}\n```", `{"target":"prompt","text":""}`, `}{`, `{"target":"reflection","text":"a\u001b[2J"}`, `{"target":"root","text":"x"}`, `{"text":"\xff"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := Question{Now: map[Target]string{Reflection: "be kind\n"}, Limit: 40}
		a, wrong := q.read(text)
		if wrong != "" || a.Target == "" {
			if a.Target == "" && a.Text != "" && wrong == "" {
				t.Fatalf("%q: a text for nothing: %q", text, a.Text)
			}
			return
		}
		if a.Target != Reflection || utf8.RuneCountInString(a.Text) > q.Limit+1 || !utf8.ValidString(a.Text) || strings.ContainsFunc(a.Text, isControl) || a.Text == q.Now[Reflection] || strings.TrimSpace(a.Text) == "" {
			t.Fatalf("%q gave %+v", text, a)
		}
	})
}

// FuzzReadState: what is kept of an agent's learning is refused, or is written and
// read again as it was.
func FuzzReadState(f *testing.F) {
	for _, s := range []string{"", "{}", `{"position":{"at":"2026-01-02T03:04:05Z","ends":["a"]},"proposal":{"target":"reflection","after":"x"}}`, "null", "{"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadState(data, "learn.json")
		if err != nil {
			if !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "learn.json") {
				t.Fatal(err)
			}
			return
		}
		once, err := s.Encode()
		if err != nil {
			t.Skip() // a year beyond what JSON times can say
		}
		again, err := ReadState(once, "learn.json")
		if err != nil {
			t.Fatalf("%q: %v", once, err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q, then %q, %v", once, twice, err)
		}
	})
}
