package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/system/term"
)

// shownJobs is how many background commands that have ended /jobs shows.
const shownJobs = 5

// jobs are the background commands of the chat that run, and how many tasks of the board are
// worked on, in other conversations, as of the last look. It is safe for concurrent use.
type jobs struct {
	mu    sync.Mutex
	list  []service.Job
	tasks map[fika.TaskState]int
	at    map[fika.AgentName]fika.TaskNumber // the task that an agent works on
}

func (j *jobs) look(ctx context.Context, c *service.Service, conv fika.Conversation) {
	list, err := c.Jobs().List(ctx, service.JobFilter{Conversation: conv.ID, Running: true})
	if err != nil {
		return // the next look reads again
	}
	tasks, err := c.Board().Counts(ctx)
	if err != nil {
		return
	}
	at := map[fika.AgentName]fika.TaskNumber{}
	if tasks[fika.TaskClaimed] > 0 {
		claimed, err := c.Board().List(ctx, service.TaskFilter{States: []fika.TaskState{fika.TaskClaimed}})
		if err != nil {
			return
		}
		for _, t := range claimed {
			at[t.WorkerName] = t.Number
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list, j.tasks, j.at = list, tasks, at
}

// doing returns what an agent does on the board; empty: nothing.
func (j *jobs) doing(name fika.AgentName) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := j.at[name]; n != 0 {
		return fmt.Sprintf("works on task %d", n)
	}
	return ""
}

// text returns what the status line says of them; empty: none runs.
func (j *jobs) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var parts []string
	switch work, review := j.tasks[fika.TaskClaimed], j.tasks[fika.TaskReview]; {
	case work > 0 && review > 0:
		parts = append(parts, fmt.Sprintf("%s at work, %d in review /board", command.Plural(work, "task"), review))
	case work > 0:
		parts = append(parts, command.Plural(work, "task")+" at work /board")
	case review > 0:
		parts = append(parts, command.Plural(review, "task")+" in review /board")
	}
	if len(j.list) > 0 {
		parts = append(parts, command.Plural(len(j.list), "job")+" /jobs")
	}
	return strings.Join(parts, " · ")
}

// numbers returns those that run, for completion.
func (j *jobs) numbers() (out []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, one := range j.list {
		out = append(out, strconv.FormatInt(one.N, 10))
	}
	return out
}

// manageJobs carries out /jobs [N | end N]: it lists the background commands of the chat,
// shows what one has printed, or ends it.
func (v *visit) manageJobs(ctx context.Context, line input.Line) error {
	words := line.Arguments()
	switch {
	case len(words) == 0:
		return v.listJobs(ctx)
	case len(words) == 1:
		return v.showJob(ctx, words[0])
	case len(words) == 2 && words[0] == "end":
		j, err := v.findJob(ctx, words[1])
		if err == nil {
			j, err = v.chat.service().Jobs().End(ctx, j.N)
		}
		if err != nil {
			return err
		}
		said := "is asked to end"
		if j.State != fika.JobRunning {
			said = "had ended already: " + page.JobState(j)
		}
		v.screen.Note(fmt.Sprintf("— job %d %s", j.N, said))
		return nil
	}
	return command.UsageError("/jobs, /jobs N or /jobs end N")
}

// findJob returns a job of the chat.
func (v *visit) findJob(ctx context.Context, number string) (service.Job, error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return service.Job{}, command.UsageError("%q is not the number of a job; /jobs shows the jobs", number)
	}
	j, err := v.chat.service().Jobs().Find(ctx, n)
	if err == nil && j.Conversation != v.chat.conversation().ID {
		err = fika.Errorf(fika.NotFound, "", "job %d is not of this chat; fika agent job show %d shows it", n, n)
	}
	return j, err
}

func (v *visit) listJobs(ctx context.Context) error {
	list, err := v.chat.service().Jobs().List(ctx, service.JobFilter{Conversation: v.chat.conversation().ID, Limit: 50})
	if err != nil {
		return err
	}
	text, over := "", 0
	for _, j := range list {
		if j.State != fika.JobRunning {
			if over++; over > shownJobs {
				continue
			}
		}
		text += fmt.Sprintf("  %d  %-8s %-8s %s  %s\n", j.N, page.JobState(j), term.Ago(j.Started, v.Now()), "@"+string(j.AgentName), term.CleanLine(j.Command))
	}
	if text == "" {
		v.screen.Note("— no background command runs here")
		return nil
	}
	v.screen.Print(term.FoldLines(text+"/jobs N shows what job N printed last, /jobs end N ends it\n", v.screen.Width()-1))
	return nil
}

// showJob shows the last lines that a job has printed.
func (v *visit) showJob(ctx context.Context, number string) error {
	j, err := v.findJob(ctx, number)
	if err != nil {
		return err
	}
	const last = 2 << 10
	out, err := v.chat.service().Jobs().Output(ctx, j.N, -last, last)
	if err != nil {
		return err
	}
	if out.Text == "" {
		v.screen.Note(fmt.Sprintf("— job %d (%s) has printed nothing", j.N, page.JobState(j)))
		return nil
	}
	v.screen.Print(term.FoldLines(out.Text, v.screen.Width()-1) + "\n")
	v.screen.Note(fmt.Sprintf("— the last of job %d (%s): %s", j.N, page.JobState(j), term.CleanLine(j.Command)))
	return nil
}
