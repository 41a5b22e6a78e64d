package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
)

const demo = `
delay = "1s"

[[rule]]
agent = "arya"
match = '(?i)i am (?P<who>\w+)'
reply = "Hello {{.Group.who | upper}} ({{.N}}), from {{.From}}."

[[rule]]
match = "list"
tool_calls = [{name = "list", args = {path = "{{.Last | first 4}}", deep = [true, "{{.N}}"]}}, {name = "bare"}]

[[rule]]
after_tool = "^list$"
result = "b"
reply = "saw {{len (lines .Result)}} lines by {{.Tool}} in round {{.Round}}"
reasoning = "let me see"
usage = {input = 7, output = 3}

[[rule]]
match = "twice"
nth = 2
reply = "again"

[[rule]]
match = "busy"
reply = "well"
error = {status = 429, message = "slow down", retry_after = "2s"}

[[rule]]
match = "hang"
stall = true

[[rule]]
match = "no"
refusal = "never"
truncated = true
`

func open(t *testing.T, rules, agent string) llm.Model {
	t.Helper()
	m, err := New(Options{Rules: []byte(rules), Agent: agent, Sleep: func(ctx context.Context, d time.Duration) error { return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func user(texts ...string) llm.Request {
	var r llm.Request
	for i, s := range texts {
		if i > 0 {
			r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Text: "ok"})
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.User, Text: s})
	}
	return r
}

func ask(t *testing.T, m llm.Model, r llm.Request) (llm.Response, string, error) {
	t.Helper()
	var shown strings.Builder
	res, err := m.Generate(t.Context(), r, func(e llm.Event) error {
		if e.Kind == llm.TextDelta {
			shown.WriteString(e.Text)
		}
		return nil
	})
	return res, shown.String(), err
}

func TestReplies(t *testing.T) {
	for _, c := range []struct{ agent, system, say, want string }{
		{"arya", "", "[gendry] I am Gendry.", "Hello GENDRY (1), from gendry."},
		{"", `You are @arya in the chat "x".`, "[message from gendry; it is information]\nI am g", "Hello G (1), from gendry."},
		{"", `You are "arya". Be kind.`, "I am g", "Hello G (1), from ."},
		{"gendry", "", "I am x", "[scripted answer, no language model] You said: I am x"},
		{"", "", "twice", "[scripted answer, no language model] You said: twice"},
		{"", "", "", "[scripted answer, no language model] I was given nothing to answer."},
	} {
		r := user(c.say)
		r.System = c.system
		res, shown, err := ask(t, open(t, demo, c.agent), r)
		if err != nil || res.Text != c.want || shown != c.want {
			t.Errorf("%q gives %q, shown %q, error %v; want %q", c.say, res.Text, shown, err, c.want)
		}
	}
	if res, _, _ := ask(t, open(t, demo, ""), user("twice", "other", "twice")); res.Text != "again" {
		t.Errorf("nth gives %q", res.Text)
	}
	if res, _, _ := ask(t, Default(), user("hi")); !strings.Contains(res.Text, "scripted") || res.Usage.Output == 0 {
		t.Errorf("the default gives %+v", res)
	}
	if res, _, _ := ask(t, open(t, demo, ""), user("no")); res.Stop != llm.StopRefusal || res.StopText != "never" {
		t.Errorf("refusal gives %+v", res)
	}
}

func TestTools(t *testing.T) {
	m := open(t, demo, "")
	r := user("list it")
	res, _, err := ask(t, m, r)
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Call{
		{ID: "scripted_1_1", Name: "list", Args: `{"deep":[true,"1"],"path":"list"}`},
		{ID: "scripted_1_2", Name: "bare", Args: `{}`},
	}
	if d := cmp.Diff(want, res.Calls); d != "" {
		t.Fatalf("calls (-want +got):\n%s", d)
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: res.Calls},
		llm.Message{Role: llm.ToolRole, CallID: "scripted_1_1", Text: "a\nb\n"}, llm.Message{Role: llm.ToolRole, CallID: "scripted_1_2", Text: "x"})
	res, _, err = ask(t, m, r)
	if err != nil || res.Text != "saw 2 lines by list in round 2" || res.Reasoning != "let me see" || res.Usage != (fika.Usage{Input: 7, Output: 3}) {
		t.Errorf("response %+v, error %v", res, err)
	}
	r.Messages[2].Text = "nothing"
	if res, _, _ := ask(t, m, r); res.Text != "[scripted answer, no language model] The tool bare said: x" {
		t.Errorf("without a rule: %q", res.Text)
	}
}

func TestTrouble(t *testing.T) {
	_, shown, err := ask(t, open(t, demo, ""), user("busy"))
	var p *llm.ProviderError
	if !errors.As(err, &p) || p.Status != 429 || p.RetryAfter != 2*time.Second || !p.Visible || shown != "well" {
		t.Errorf("error %+v, shown %q", err, shown)
	}
	synctest.Test(t, func(t *testing.T) {
		m, err := New(Options{Rules: []byte(demo)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := m.Generate(ctx, user("hang"), nil); fika.KindOf(err) != fika.Interrupted {
			t.Errorf("stall ends with %v", err)
		}
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := New(Options{Rules: []byte("[[rule]]\nreply=\"abcdef\"\nchunk=2\nchunk_delay=\"1s\"\ndelay=\"3s\"\n")})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		var pieces []string
		_, err = m.Generate(t.Context(), user("x"), func(e llm.Event) error {
			pieces = append(pieces, e.Text)
			return nil
		})
		if d := cmp.Diff([]string{"ab", "cd", "ef"}, pieces); d != "" || err != nil || time.Since(begin) != 5*time.Second {
			t.Errorf("pieces %v after %v, error %v", pieces, time.Since(begin), err)
		}
	})
}

func TestMistakes(t *testing.T) {
	for in, want := range map[string]string{
		"[[rule]]\nreply = \"x\"\nmtach = \"y\"\n":                               "r.toml:3:1: unknown key rule.mtach",
		"[[rule]]\nreply = 7\n":                                                  "r.toml:2:9: ",
		"[[rule]\n":                                                              "r.toml:1:",
		"# x\n[[rule]]\nreply = \"x\"\n  match = \"(\"\n":                        "r.toml:4:3: match: ",
		"[[rule]]\nreply = \"x\"\n[[rule]]\nreply = \"{{.X\"\n":                  "r.toml:4:1: reply: ",
		"[[rule]]\nmatch = \"x\"\n":                                              "r.toml:1:3: rule: answers nothing",
		"delay = \"soon\"\n":                                                     "r.toml:1:1: delay: ",
		"[[rule]]\nreply = \"x\"\ndelay = \"-1s\"\n":                             "r.toml:3:1: delay: must be between",
		"[[rule]]\nreply = \"x\"\n[rule.error]\nstatus = 200\n":                  "r.toml:3:2: error: status",
		"[[rule]]\ntool_calls = [{args = {}}]\n":                                 "r.toml:2:1: tool_calls: a call needs a name",
		"[[rule]]\nreply=\"x\"\nresult = \"x\"\n":                                "r.toml:3:1: result: needs after_tool",
		"[[rule]]\nreply=\"x\"\nagent = \"[\"\n":                                 "r.toml:3:1: agent: ",
		"[[rule]]\nreply=\"x\"\nround = -1\n":                                    "r.toml:3:1: round: ",
		"[[rule]]\n[[rule.tool_calls]]\nname = \"a\"\nargs = {x = \"{{nope}}\"}": "r.toml:2:3: tool_calls: ",
		strings.Repeat("#", maxRules+1):                                          "larger than",
	} {
		_, err := Parse([]byte(in), "r.toml")
		if fika.KindOf(err) != fika.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q gives %v, want %q", in, err, want)
		}
	}
	m := open(t, "[[rule]]\nreply = \"{{.Group.nobody}}\"\n", "")
	if _, _, err := ask(t, m, user("x")); fika.KindOf(err) != fika.Invalid || !strings.Contains(err.Error(), "rules.toml:1") {
		t.Errorf("a template's trouble: %v", err)
	}
	m = open(t, "[[rule]]\nreply = \"{{range 100000000}}0123456789{{end}}\"\n", "")
	if _, _, err := ask(t, m, user("x")); err == nil {
		t.Error("an endless template is taken")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(demo), "I am x")
	f.Add([]byte("rule = [{reply = \"x\"}]"), "")
	f.Fuzz(func(t *testing.T, data []byte, say string) {
		rules, err := Parse(data, "r.toml")
		if err != nil {
			if !strings.Contains(err.Error(), "r.toml:") || fika.KindOf(err) != fika.Invalid {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		for i := range rules.rules {
			rule := &rules.rules[i]
			v, _ := rule.meetsScene(sceneOf("arya", user(say)))
			if strings.Contains(rule.raw.Reply, "range") {
				continue // a rules file may ask for much work; only what it writes is bounded
			}
			if res, err := rule.wholeResponse(v, user(say)); err == nil {
				for _, c := range res.Calls {
					if !json.Valid([]byte(c.Args)) {
						t.Errorf("arguments are not JSON: %s", c.Args)
					}
				}
			}
		}
	})
}
