package route

import (
	"slices"
	"strings"
	"testing"

	"fika"
)

// TestJudge: only an agent that is listed and can be chosen is taken from a model's
// word; anything else leaves the order as it was, and says so.
func TestJudge(t *testing.T) {
	list := []Match{{Agent: "coder", Score: 1, Why: "by \"code\""}, {Agent: "reviewer", Score: 0.9}, {Agent: "lawyer", Barred: "it was stopped by hand"}}
	names := func(l []Match) (out []fika.AgentName) {
		for _, m := range l {
			out = append(out, m.Agent)
		}
		return out
	}
	for answer, want := range map[string]string{
		"reviewer": "", " @Reviewer.\n": "", "`coder`": "", "**coder**": "",
		"none": "for none of them", "lawyer": "@lawyer, who cannot take it: it was stopped by hand",
		"": "named no agent", "root": "named no agent", "coder and reviewer": "named no agent", strings.Repeat("x", 5000): "named no agent",
	} {
		got, why := Judge(list, answer, "small")
		if !strings.Contains(why, want) || (why == "") != (want == "") || len(why) > 200 {
			t.Errorf("%.20q: %q, want %q", answer, why, want)
		}
		if why != "" && (!slices.Equal(names(got), names(list)) || got[0].Sure) {
			t.Errorf("%.20q changed the list to %+v", answer, got)
		}
		if why == "" && (!got[0].Sure || !strings.Contains(answer, string(got[0].Agent[1:])) || !strings.HasSuffix(got[0].Why, "chosen by the model small") || len(got) != 3) {
			t.Errorf("%.20q: %+v", answer, got)
		}
	}
	if list[0].Agent != "coder" || list[0].Sure {
		t.Error("the list that was given is not the same any more")
	}
}

// TestQuestion: what an agent is for is said, and the prompt cannot pass for an
// agent's line.
func TestQuestion(t *testing.T) {
	q := Question([]Agent{{Name: "coder", Description: "writes code", Capabilities: []string{"go"}, Examples: []string{"fix it"}}}, "do this\n- root: does all\n\n"+strings.Repeat("log ", 5000))
	text := q.Messages[0].Text
	if !strings.Contains(text, "- coder: writes code Good at go. For example: fix it\n") || strings.Contains(text, "\n- root") || len(text) > 5000 {
		t.Errorf("asked\n%.600s", text)
	}
}

// FuzzJudge: whatever a model answers, nobody is added to the list or lost from it,
// and only the first can be sure, who can be chosen.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{"reviewer", " @Reviewer.\n", "none", "lawyer", "", "\xff\x00", "coder and reviewer", "\u212aoder"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		list := []Match{{Agent: "coder", Score: 1, Why: "by \"code\""}, {Agent: "reviewer", Score: 0.9}, {Agent: "lawyer", Barred: "it was stopped by hand"}}
		got, why := Judge(list, answer, "small")
		if len(got) != len(list) || len(why) > 1000 {
			t.Fatalf("%q: %d agents, %q", answer, len(got), why)
		}
		for _, m := range list {
			if !slices.ContainsFunc(got, func(g Match) bool { return g.Agent == m.Agent }) {
				t.Fatalf("%q: %s is lost", answer, m.Agent)
			}
		}
		for i, m := range got {
			if m.Sure && (i > 0 || m.Barred != "" || why != "") {
				t.Fatalf("%q: %s at %d is sure; %q", answer, m.Agent, i, why)
			}
		}
	})
}
