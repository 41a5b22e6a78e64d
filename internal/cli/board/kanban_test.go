package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/service"
	"fika/internal/system/term"
)

// A board of five thousand tasks is readable on a terminal of 80 and of 200 columns: no line
// is wider, each state says how many tasks it has, beside the others where there is room for six, and
// what is not shown is counted.
func TestKanbanFitsItsTerminal(t *testing.T) {
	var list []service.TaskCard
	for _, s := range fika.TaskStates() {
		for range 5000 / len(fika.TaskStates()) {
			var task service.TaskCard
			task.Number, task.State, task.Title = fika.TaskNumber(len(list)+1), s, "parse what "+strings.Repeat("people write ", 12)
			task.HeldReason = map[bool]string{true: "its check fails: make test"}[s == fika.TaskHeld]
			list = append(list, task)
		}
	}
	counts := map[fika.TaskState]int{}
	for _, s := range fika.TaskStates() {
		counts[s] = 5000 / len(fika.TaskStates())
	}
	for _, width := range []int{30, 80, 200} {
		text := kanban(list, counts, time.Now(), width, endedShown, term.Style{})
		beside := false
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Fatalf("%d: a line has %d columns: %q", width, n, line)
			}
			beside = beside || strings.Contains(line, "HELD") && strings.Contains(line, "OPEN")
		}
		for _, s := range fika.TaskStates() {
			if title := fmt.Sprint(strings.ToUpper(string(s)), " ", 5000/len(fika.TaskStates())); !strings.Contains(text, title) {
				t.Errorf("%d: no %q", width, title)
			}
		}
		if beside != (width == 200) || !strings.Contains(text, "and 813 more") || beside && !strings.Contains(text, "its check fails") || strings.Count(text, "\n") > 1000 {
			t.Errorf("%d: beside each other: %v, %d lines", width, beside, strings.Count(text, "\n"))
		}
	}
}
