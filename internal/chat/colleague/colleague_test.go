package colleague_test

import (
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/chat/colleague"
)

// eight is a team of which everybody says as much as one line shows.
func eight() []colleague.Colleague {
	var list []colleague.Colleague
	for i := range 8 {
		list = append(list, colleague.Colleague{
			Name: fika.AgentName(fmt.Sprintf("researcher%d", i)), Capabilities: []string{"reading", "searching", "summarising"},
			Description: "Finds out what is known about a subject, and says where it is from",
		})
	}
	return list
}

func TestB8EightColleaguesTakeLessThan600Bytes(t *testing.T) {
	tools := []string{"send_message", "delegate"}
	text := colleague.PromptParagraph(eight(), tools)
	if len(text) >= 600 || colleague.PromptParagraph(eight(), tools) != text {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
	for i := range 8 {
		if !strings.Contains(text, fmt.Sprintf("\n@researcher%d (", i)) {
			t.Errorf("researcher%d is missing or says nothing:\n%s", i, text)
		}
	}
	long := eight()
	for i := range long {
		long[i].Name = fika.AgentName(strings.Repeat("n", 31) + fmt.Sprint(i))
		long[i].Description = strings.Repeat("é", 200)
	}
	if text := colleague.PromptParagraph(long, tools); len(text) >= 600 || !strings.Contains(text, string(long[7].Name)) {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
}

func TestBlock(t *testing.T) {
	list := []colleague.Colleague{
		{Name: "coder", Capabilities: []string{"go", "tests"}, Description: "writes Go"},
		{Name: "reviewer", Description: "reads what others wrote,\nand says what is wrong with it\x1b[31m"},
		{Name: "plain"},
	}
	want := "Agents you can reach with send_message:\n@coder (go, tests): writes Go\n@reviewer: reads what others wrote, and says what…\n@plain"
	if got := colleague.PromptParagraph(list, []string{"send_message"}); got != want {
		t.Errorf("got %q", got)
	}
	if got := colleague.PromptParagraph(list, nil) + colleague.PromptParagraph(nil, []string{"delegate"}); got != "" {
		t.Errorf("without tools or colleagues: %q", got)
	}
	var many []colleague.Colleague
	for i := range 100 {
		many = append(many, colleague.Colleague{Name: fika.AgentName(fmt.Sprintf("a%d", i))})
	}
	if got := colleague.PromptParagraph(many, []string{"delegate"}); !strings.HasSuffix(got, "\n@a23\nand 76 more") {
		t.Errorf("got %q", got)
	}
}

func TestKnown(t *testing.T) {
	list := []colleague.Colleague{{Name: "coder", Capabilities: []string{"go"}}, {Name: "tester", Description: "runs tests"}}
	for want, list := range map[string][]colleague.Colleague{
		"": nil, "; the only agent is @coder (go)": list[:1], "; agents: @coder (go), @tester: runs tests": list,
	} {
		if got := colleague.KnownNames(list); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestStanding(t *testing.T) {
	got := colleague.NotReady([]colleague.State{{"a", "stopped"}, {"b", "busy"}, {"c", ""}, {"d", "busy"}})
	if want := "@b, @d are busy; @a is stopped."; got != want {
		t.Errorf("got %q", got)
	}
	if got := colleague.NotReady([]colleague.State{{"c", ""}}); got != "" {
		t.Errorf("got %q", got)
	}
}
