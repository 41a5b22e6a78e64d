package view

import (
	"strings"
	"testing"

	"fika/internal/system/term"
)

// TestTodosAreALiveList: todos are a row that changes with each call and goes when the
// work is done, not lines of calls (trial row U17).
func TestTodosAreALiveList(t *testing.T) {
	f, p := newFeed(true)
	todos := func(content string) {
		c := Call{Tool: todosTool, Args: raw(`{"content":"` + content + `"}`), Output: "Written."}
		f.Calls("r", "coder", c)
		f.Called("r", "coder", c)
	}
	row := func() string {
		f.Flush()
		return strings.Join(p.rows, "\n")
	}
	todos(`# Todos\n- [x] find it\n- [ ] fix\n1. review\nprose\n`)
	if got := row(); got != "  todos  ✓ find it  · fix  · review" {
		t.Errorf("the row is %q", got)
	}
	todos(`- [x] find it\n- [x] fix\u001b[2J\n- [ ] review`)
	if got := row(); got != "  todos  ✓ find it  ✓ fix  · review" {
		t.Errorf("then %q", got)
	}
	if got := todosRow([]todo{{"a long one that is done", true}, {"to do", false}}, term.Style{}, 30); got != "  todos  1 of 2 done  · to do" {
		t.Errorf("on a narrow terminal %q", got)
	}
	todos(`- [x] find it\n- [x] fix\n- [x] review`)
	if got := row(); got != "" {
		t.Errorf("when all is done %q", got)
	}
	f.End("r", "coder", "Done.")
	f.Close()
	if got := p.text.String(); got != "coder\n  Done.\n" {
		t.Errorf("printed was %q", got)
	}
}
