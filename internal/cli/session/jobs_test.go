package session

import (
	"testing"

	"fika"
	"fika/internal/service"
)

// TestStatusLineOfWorkElsewhere: while an agent that is spoken to has nothing to do, the
// status line says that others work on tasks of the board.
func TestStatusLineOfWorkElsewhere(t *testing.T) {
	for _, tt := range []*struct {
		j    jobs
		want string
	}{
		{jobs{}, ""},
		{jobs{tasks: map[fika.TaskState]int{fika.TaskOpen: 3, fika.TaskDone: 2}}, ""},
		{jobs{tasks: map[fika.TaskState]int{fika.TaskClaimed: 1}}, "1 task at work /board"},
		{jobs{tasks: map[fika.TaskState]int{fika.TaskReview: 2}}, "2 tasks in review /board"},
		{jobs{tasks: map[fika.TaskState]int{fika.TaskClaimed: 2, fika.TaskReview: 1}, list: make([]service.Job, 1)}, "2 tasks at work, 1 in review /board · 1 job /jobs"},
	} {
		if got := tt.j.text(); got != tt.want {
			t.Errorf("%q, not %q", got, tt.want)
		}
	}
}

// TestDoingElsewhere: who works on a task of the board is not called idle.
func TestDoingElsewhere(t *testing.T) {
	j := jobs{at: map[fika.AgentName]fika.TaskNumber{"coder": 3}}
	if got := j.doing("coder"); got != "works on task 3" {
		t.Errorf("the coder %q", got)
	}
	if got := j.doing("reviewer"); got != "" {
		t.Errorf("the reviewer %q", got)
	}
}
