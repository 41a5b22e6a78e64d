package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"fika"
	"fika/internal/system/term"
)

func TestCallLines(t *testing.T) {
	for _, c := range []struct {
		name string
		call Call
		want string
	}{
		{"command", Call{Tool: "bash", Args: raw(`{"command":"go test ./..."}`), Output: "ok", Took: 3100 * time.Millisecond}, "✓ bash go test ./... (3.1s)"},
		{"quick", Call{Tool: "bash", Args: raw(`{"command":"ls"}`), Output: "a", Took: time.Millisecond}, "✓ bash ls"},
		{"read", Call{Tool: "read", Args: raw(`{"path":"cart.go"}`), Output: "a\nb\nc\n"}, "✓ read cart.go (3 lines)"},
		{"failed", Call{Tool: "bash", Args: raw(`{"command":"go test ./..."}`), Output: "--- FAIL\ncart_test.go:31: got 10.004, want 10.00\nexit status 1", Failed: true, Took: 2200 * time.Millisecond},
			"✗ bash go test ./... (2.2s) exit 1\n  --- FAIL\n  cart_test.go:31: got 10.004, want 10.00"},
		{"the end of long output", Call{Tool: "bash", Args: raw(`{"command":"make"}`), Output: strings.Repeat("noise\n", 20) + "\tthe error\nexit status 2", Failed: true},
			"✗ bash make exit 2\n  … 15 lines before\n  noise\n  noise\n  noise\n  noise\n  noise\n      the error"},
		{"refused arguments", Call{Tool: "edit", Args: raw(`{"path":"a","old":"x","new":"y"}`), Output: "old is not in a", Failed: true}, "✗ edit a old is not in a"},
		{"not allowed", Call{Tool: "bash", Args: raw(`{"command":"rm -rf /"}`), Output: "denied by rule 3", Denied: true}, "✗ bash rm -rf / not allowed: denied by rule 3"},
		{"message", Call{Tool: "send_message", Args: raw(`{"to":"bob","message":"hi\nthere"}`)}, "✓ send_message → @bob: hi …"},
		{"others", Call{Tool: "weather", Args: raw(`{"city":"Ulm","days":3,"deep":{"a":[1, 2]}}`)}, `✓ weather city: Ulm, days: 3, deep: {"a":[1,2]}`},
		{"no arguments", Call{Tool: "list_todos", Args: raw(`{}`)}, "✓ list_todos"},
		{"no JSON", Call{Tool: "x", Args: raw(`{"a`)}, `✓ x {"a`},
		{"shortened on the way", Call{Tool: "x", Args: raw(`{"$shortened":{"a":{"bytes":9000}}}`)}, `✓ x`},
		{"a new file shortened", Call{Tool: "create", Args: raw(`{"path":"n.go","content":"1\n2\n3\n4","$shortened":{"content":{"bytes":15085,"lines":300}}}`)}, "✎ n.go  +300\n  + 1\n  + 2\n  + 3\n  + 4\n  … 296 more lines"},
		{"an edit shortened", Call{Tool: "edit", Args: raw(`{"path":"n.go","old":"1\n2","new":"1\n3","$shortened":{"new":{"bytes":9000,"lines":90}}}`)}, "✎ n.go  −2 +90\n  - 1\n  - 2\n  + 1\n  + 3\n  … 88 more lines"},
		{"hostile", Call{Tool: "bash\x1b[2J", Args: raw(`{"command":"echo \u001b]0;x\u0007 \u202ereversed"}`), Output: "\x1b[31mred\nexit status 1", Failed: true}, "✗ bash echo  reversed exit 1\n  red"},
		{"edit", Call{Tool: "edit", Args: raw(`{"path":"cart.go","old":"a\nb\nc","new":"a\nB\nBB\nc"}`)}, "✎ cart.go  −1 +2\n  - b\n  + B\n  + BB"},
		{"edit everywhere", Call{Tool: "edit", Args: raw(`{"path":"cart.go","old":"b","new":"","replace_all":true}`)}, "✎ cart.go  −1 +0 everywhere\n  - b"},
		{"new file", Call{Tool: "create", Args: raw(`{"path":"n.go","content":"1\n\t2\n3\n4\n5\n6\n7\n8\n"}`)}, "✎ n.go  +8\n  + 1\n  +     2\n  + 3\n  + 4\n  + 5\n  + 6\n  … 2 more lines"},
		{"long edit", Call{Tool: "edit", Args: raw(`{"path":"n","old":"` + strings.Repeat(`o\n`, 20) + `","new":"` + strings.Repeat(`n\n`, 20) + `"}`)},
			"✎ n  −20 +20\n" + strings.Repeat("  - o\n", 6) + strings.Repeat("  + n\n", 6) + "  … 28 more lines"},
	} {
		if got := strings.Join(c.call.Lines(Look{Width: 80}), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		for _, width := range []int{10, 25, 40} {
			for _, line := range c.call.Lines(Look{Width: width, Style: term.NewStyle(true)}) {
				if ansi.StringWidth(line) > max(width, 22) {
					t.Errorf("%s: at %d a line takes %d: %q", c.name, width, ansi.StringWidth(line), line)
				}
			}
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestStandingLine(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := Standing{
		Workers: []Worker{{Name: "coder"}, {Name: "reviewer", Doing: "thinking", Since: now.Add(-4200 * time.Millisecond)}},
		Context: "34% of 200k", Spent: fika.Usage{Cost: 80_000}, Since: now.Add(-4*time.Minute - time.Second), Approvals: []string{"1"},
	}
	for _, c := range []struct {
		width int
		want  string
	}{
		{86, "coder idle · reviewer thinking 4s · 34% of 200k · $0.08 · 4m · 1 approval: /approve 1"},
		{84, "reviewer thinking 4s · 34% of 200k · $0.08 · 4m · 1 approval: /approve 1"},
		{50, "reviewer thinking 4s · 1 approval: /approve 1"},
		{30, "1 approval: /approve 1 · revi…"},
	} {
		if got := s.Line(now, c.width); got != c.want {
			t.Errorf("at %d: %q, want %q", c.width, got, c.want)
		}
	}
	if got := (Standing{}).Line(now, 80); got != "" {
		t.Errorf("nothing to tell is %q", got)
	}
	if got := (Standing{Workers: []Worker{{Name: "a\x1b[2J", Doing: "x\ny"}}, Approvals: []string{"1", "2"}}).Line(now, 80); got != "a x y · 2 approvals: /approve 1" {
		t.Errorf("hostile: %q", got)
	}
}
