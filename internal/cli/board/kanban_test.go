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

// A card says where what was offered of its task stands, and whose turn it is.
func TestACardSaysWhereItsOfferStands(t *testing.T) {
	began := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	task := service.TaskCard{Number: 4, Title: "parse", State: fika.TaskReview, Priority: fika.DefaultPriority, WorkerName: "coder", Since: began}
	task.Offer.Number, task.Offer.Reason = 3, "make test fails"
	for state, want := range map[fika.OfferState]string{
		fika.OfferWaiting: "offer 3 waits its turn: make test fails", fika.OfferReviewed: "offer 3 is being reviewed", fika.OfferTrying: "offer 3 is being checked", fika.OfferMoving: "offer 3 lands",
		fika.OfferRework: "offer 3 came back: make test fails", fika.OfferHeld: "offer 3 waits for you: make test fails", fika.OfferAsks: "offer 3 waits for you: make test fails",
	} {
		task.Offer.State = state
		if got := about(task, began.Add(72*time.Second)); got != "@coder · 1m 12s · "+want {
			t.Errorf("%s: %q", state, got)
		}
	}
}
