package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"fika/internal/extension/acp"
)

func TestDescribe(t *testing.T) {
	for args, want := range map[string]string{
		`bash {"command":"ls\nrm x"}`:            `{"title":"bash ls","kind":"execute","rawInput":{"command":"ls\nrm x"}}`,
		`read {"path":"a/b.go","offset":12}`:     `{"title":"read a/b.go","kind":"read","locations":[{"path":"/w/a/b.go","line":12}],"rawInput":{"path":"a/b.go","offset":12}}`,
		`edit {"path":"/x","old":"1","new":"2"}`: `{"content":[{"type":"diff","path":"/x","oldText":"1","newText":"2"}],"title":"edit /x","kind":"edit","locations":[{"path":"/x"}],"rawInput":{"path":"/x","old":"1","new":"2"}}`,
		`create {"path":"n","content":""}`:       `{"content":[{"type":"diff","path":"/w/n","newText":""}],"title":"create n","kind":"edit","locations":[{"path":"/w/n"}],"rawInput":{"path":"n","content":""}}`,
		`bash not JSON`:                          `{"title":"bash","kind":"execute","rawInput":"not JSON"}`,
		`files__write {"path":7}`:                `{"title":"files__write","kind":"other","rawInput":{"path":7}}`,
	} {
		tool, args, _ := strings.Cut(args, " ")
		got, err := json.Marshal(describe(tool, args, "/w"))
		if err != nil || string(got) != want {
			t.Errorf("%s %s: %s, %v\nnot %s", tool, args, got, err, want)
		}
	}
}

func TestTodos(t *testing.T) {
	got, ok := todos("update_todos", `{"content":"# plan\n- [x] a\n* [~] b\n\n[ ] c\nd\n"}`)
	if text, _ := json.Marshal(got); !ok || string(text) != `[{"content":"a","priority":"medium","status":"completed"},{"content":"b","priority":"medium","status":"in_progress"},`+
		`{"content":"c","priority":"medium","status":"pending"},{"content":"d","priority":"medium","status":"pending"}]` {
		t.Errorf("todos: %s", text)
	}
	if _, ok := todos("bash", `{"content":"x"}`); ok {
		t.Error("a command is a plan")
	}
}

func TestPromptText(t *testing.T) {
	var blocks []acp.Block
	raw := `[{"type":"text","text":"look at "},{"type":"resource_link","uri":"file:///w/a.go","name":"a.go"},{"type":"resource","resource":{"uri":"file:///w/b.md","text":"x\n` + "```" + `\ny\n"}}]`
	if err := json.Unmarshal([]byte(raw), &blocks); err != nil {
		t.Fatal(err)
	}
	got, err := promptText(blocks)
	if want := "look at `/w/a.go`\n\n`/w/b.md`:\n````\nx\n```\ny\n````"; err != nil || got != want {
		t.Errorf("%q, %v; not %q", got, err, want)
	}
}

func TestTitle(t *testing.T) {
	for text, want := range map[string]string{"@coder write it\nnow": "write it", " x ": "x", "@coder": "@coder", "": "", strings.Repeat("ö", 100): strings.Repeat("ö", 80) + "…"} {
		if got := titleOf(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
