package question

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fika/internal/service"
	"fika/internal/system/term"
)

func panelOf(tool string, args any, always string) *Panel {
	raw, _ := json.Marshal(args)
	q := service.OpenApproval{Agent: "coder", Conversation: "s-1"}
	q.N, q.Tool, q.Args, q.Workspace, q.Rule, q.Asked = 3, tool, string(raw), "/home/me/shop", "rule c.toml:8: look first", time.Unix(100, 0)
	return NewPanel(q, always, term.Style{}, func() time.Time { return time.Unix(112, 0) })
}

// stepPanel returns the panel of a question that a step of a run asks.
func stepPanel(args string) *Panel {
	q := service.OpenApproval{Agent: "workflow"}
	q.N, q.Tool, q.FlowStep, q.Asked = 3, "workflow", "row", time.Unix(100, 0)
	q.Args = strings.Replace(args, "{", `{"run": "r1", "step": "pick", `, 1)
	return NewPanel(q, "", term.Style{}, func() time.Time { return time.Unix(112, 0) })
}

// TestPanelAnswers: each key gives the answer that the panel promises, and no other key
// answers.
func TestPanelAnswers(t *testing.T) {
	choice, text, call := stepPanel(`{"choice": ["Dark blue", "red"]}`), stepPanel(`{"answer": "text"}`), panelOf("x", nil, "x *")
	for _, c := range []struct {
		panel  *Panel
		key    rune
		words  string
		allow  bool
		answer string
	}{
		{choice, '1', "", true, "Dark blue"}, {choice, '2', "", true, "red"}, {choice, 'N', "ugly", false, "ugly"}, {text, 'y', "it calms", true, "it calms"},
		{text, 'n', "", false, ""}, {call, 'y', "", true, ""}, {call, 'a', "", true, ""}, {call, 'n', "", false, ""},
	} {
		if allow, said := c.panel.Answer(c.key, c.words); allow != c.allow || said != c.answer {
			t.Errorf("%c %s: %v %q", c.key, c.words, allow, said)
		}
	}
	for name, c := range map[string]struct {
		panel  *Panel
		keys   string
		worded rune
	}{"choice": {choice, "nv b12", 'N'}, "text": {text, "nv b", 'y'}, "call": {call, "nv bay", 'N'}} {
		if keys, worded, _ := c.panel.Keys(); keys != c.keys || worded != c.worded {
			t.Errorf("%s: %q, %c", name, keys, worded)
		}
	}
}

// TestPanel: a command is a command, an edit is a difference, a file is its lines; folder,
// reason and keys are there at every size.
func TestPanel(t *testing.T) {
	for name, c := range map[string]struct {
		panel *Panel
		want  []string
	}{
		"command": {panelOf("bash", map[string]any{"command": "npm install left-pad\nnpm test", "description": "get a library"}, "bash npm install *"),
			[]string{"coder wants to run · asked 12s ago in s-1", "    npm install left-pad\n    npm test\n", "in /home/me/shop · rule c.toml:8: look first · it says: get a library", "y yes, once   a always bash npm install *   n no   N no, because…   v details"}},
		"edit": {panelOf("edit", map[string]any{"path": "cart.go", "old": "a\nreturn sum / 100\nb", "new": "a\nreturn sum < 100\nb", "replace_all": true}, ""),
			[]string{"wants to edit cart.go", "      a\n    - return sum / 100\n    + return sum < 100\n      b\n", "wherever it occurs", "y yes, once   n no"}},
		"create":  {panelOf("create", map[string]any{"path": "n.go", "content": "package n\n\tx\n", "overwrite": true}, ""), []string{"wants to create n.go", "    + package n\n    +     x\n", "replaces the file"}},
		"other":   {panelOf("weather", map[string]any{"city": "Ulm", "days": 3}, ""), []string{"wants to call weather", "    city: Ulm\n    days: 3\n"}},
		"hidden":  {panelOf("bash", map[string]any{"command": "ls\u00a0x; с\u0430t p\u0430ypal \u202eevil; echo привет"}, ""), []string{`ls\u{a0}x; \u{441}\u{430}t p\u{430}ypal \u{202e}evil; echo привет`, "cannot be seen or look like others"}},
		"pushed":  {panelOf("bash", map[string]any{"command": "ls" + strings.Repeat("\n", 200) + "touch EVIL" + strings.Repeat("\n", 200)}, ""), []string{"    ls\n    (199 empty lines)\n    touch EVIL\n    (199 empty lines)\n"}},
		"choice":  {stepPanel(`{"question": "which colour?", "choice": ["Dark blue", "red"]}`), []string{"step pick of run r1 asks", "    which colour?\n    1 Dark blue\n    2 red\n", "  1–2 choose   n no   N no, because…   v details"}},
		"text":    {stepPanel(`{"question": "why?", "answer": "text"}`), []string{"    why?\n", "  y answer…   n no   v details"}},
		"no JSON": {panelOf("x", nil, ""), []string{"wants to call x", "y yes"}},
	} {
		got := strings.Join(c.panel.Rows(120, 24), "\n")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, got)
			}
		}
		for _, width := range []int{20, 40, 80, 200} {
			for height := 3; height < 30; height++ {
				rows := c.panel.Rows(width, height)
				if last := rows[len(rows)-1]; len(rows) > height || !strings.Contains(last, "y yes") && !strings.Contains(last, "choose") && !strings.Contains(last, "y answer") {
					t.Fatalf("%s: %d rows at %dx%d, the last is %q", name, len(rows), width, height, last)
				}
				for _, r := range rows {
					if term.Width(r) > width {
						t.Fatalf("%s: %d columns at %d: %q", name, term.Width(r), width, r)
					}
				}
			}
		}
	}
}

// TestPanelIsPaged: of a long command every line can be seen, and how many there are is
// said.
func TestPanelIsPaged(t *testing.T) {
	var lines []string
	for i := range 412 {
		lines = append(lines, fmt.Sprintf("line%d.", i+1))
	}
	p := panelOf("bash", map[string]any{"command": strings.Join(lines, "\n")}, "")
	seen, first := "", strings.Join(p.Rows(80, 24), "\n")
	if !strings.Contains(first, "412 lines, 1–20 shown, space for more") {
		t.Errorf("the first page says\n%s", first)
	}
	for range 412/20 + 1 {
		seen += strings.Join(p.Rows(80, 24), "\n")
		p.Turn(KeyForward)
	}
	for _, l := range lines {
		if !strings.Contains(seen, "    "+l+"\n") {
			t.Fatalf("%s was never seen", l)
		}
	}
	if again := strings.Join(p.Rows(80, 24), "\n"); again != first {
		t.Errorf("after the last page comes\n%s", again)
	}
	p.Turn(KeyDetails)
	if all := strings.Join(p.Rows(80, 24), "\n"); !strings.Contains(all, "approval 3 of request") || !strings.Contains(all, "folder: /home/me/shop") {
		t.Errorf("the details are\n%s", all)
	}
}
