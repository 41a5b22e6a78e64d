package note

import (
	"encoding/json"
	"strings"
	"testing"

	"fika"
	"fika/internal/tool"
	"fika/internal/tool/tooltest"
)

// pad keeps notes in memory; a version is the text itself.
type pad map[Name]string

func (p pad) Write(n Name, seen Version, text string) (string, Version, error) {
	if now := p[n]; Version(now) != seen && now != text {
		return now, Version(now), fika.Errorf(fika.Conflict, "", "changed")
	}
	p[n] = text
	return text, Version(text), nil
}

func call(t *testing.T, tools []tool.Tool, name, content string) tool.Result {
	t.Helper()
	for _, x := range tools {
		if x.Spec().Name == name {
			args, _ := json.Marshal(map[string]string{"content": content})
			r, err := x.Call(t.Context(), tool.Call{Request: "r1", Args: args})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("no tool %s", name)
	return tool.Result{}
}

func TestSuite(t *testing.T) {
	for _, x := range Tools(Options{Store: pad{}, Versions: &Versions{}, Reflection: true, Limit: 100}) {
		tooltest.Run(t, tooltest.Case{Tool: x, Good: []string{`{"content":"a"}`}, Bad: []string{`{"content":1}`}})
	}
}

func TestWholeTextIsReplaced(t *testing.T) {
	p, b := pad{Todos: "- one\n"}, &Versions{}
	b.MarkSeen("r1", Todos, "- one\n")
	tools := Tools(Options{Store: p, Versions: b})
	for _, text := range []string{"- two", "- three\n", ""} {
		if r := call(t, tools, "update_todos", text); r.IsError {
			t.Fatal(r.Text)
		}
	}
	if p[Todos] != "" {
		t.Errorf("left %q", p[Todos])
	}
}

func TestWhatAPersonEditedMeanwhileIsNotOverwrittenUnseen(t *testing.T) {
	p, b := pad{Goals: "ship\n"}, &Versions{}
	b.MarkSeen("r1", Goals, "ship\n")
	tools := Tools(Options{Store: p, Versions: b})
	p[Goals] = "ship on friday\n" // an editor
	r := call(t, tools, "update_goals", "ship, then rest")
	if !r.IsError || !strings.Contains(r.Text, "ship on friday") || p[Goals] != "ship on friday\n" {
		t.Fatalf("got %+v, file %q", r, p[Goals])
	}
	if r := call(t, tools, "update_goals", "ship on friday, then rest"); r.IsError || p[Goals] != "ship on friday, then rest\n" {
		t.Errorf("the second try: %+v, file %q", r, p[Goals])
	}
}

// A request that was shown an older text does not profit from what another
// request of the same process was shown.
func TestEachRequestHasSeenItsOwn(t *testing.T) {
	p, b := pad{Todos: "a\n"}, &Versions{}
	b.MarkSeen("r1", Todos, "a\n")
	b.MarkSeen("r2", Todos, "a\n")
	tools := Tools(Options{Store: p, Versions: b})
	args := json.RawMessage(`{"content":"from r2"}`)
	if r, _ := tools[0].Call(t.Context(), tool.Call{Request: "r2", Args: args}); r.IsError {
		t.Fatal(r.Text)
	}
	if r := call(t, tools, "update_todos", "from r1"); !r.IsError || p[Todos] != "from r2\n" {
		t.Errorf("got %+v, file %q", r, p[Todos])
	}
	b.Forget("r2")
	if v := b.last("r2", Todos); v != "" {
		t.Errorf("remembered %q", v)
	}
}

func TestReflectionIsLimitedInCharactersNotBytes(t *testing.T) {
	tools := Tools(Options{Store: pad{}, Versions: &Versions{}, Reflection: true, Limit: 5})
	if r := call(t, tools, "update_reflection", "äöüßé"); r.IsError {
		t.Errorf("five characters in ten bytes: %s", r.Text)
	}
	r := call(t, tools, "update_reflection", "äöüßéx")
	if !r.IsError || !strings.Contains(r.Text, "6 characters") || !strings.Contains(r.Text, "may have 5") {
		t.Errorf("got %+v", r)
	}
}

func TestReflectionCanBeOff(t *testing.T) {
	for _, x := range Tools(Options{}) {
		if x.Spec().Name == "update_reflection" {
			t.Error("offered")
		}
	}
}
