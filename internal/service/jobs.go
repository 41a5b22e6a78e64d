package service

import (
	"context"
	"fmt"

	"fika/internal/api"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/text/safetext"
)

// Jobs is the interface to background commands: those that agents have started and that
// run on after the call.
type Jobs struct{ c *Service }

// The values of the store that describe jobs.
type (
	// Job is a background command.
	Job = store.Job
	// JobFilter says which jobs are listed.
	JobFilter = store.JobFilter
)

// Jobs returns the interface to the background commands of this home.
func (c *Service) Jobs() *Jobs { return &Jobs{c} }

// List returns the jobs that match and may be seen, newest first.
func (j *Jobs) List(ctx context.Context, f JobFilter) ([]Job, error) { return j.c.sight().jobs(ctx, f) }

// Find returns one job. It fails with NotFound.
func (j *Jobs) Find(ctx context.Context, n int64) (Job, error) { return j.find(ctx, "job.show", n) }

func (j *Jobs) find(ctx context.Context, verb string, n int64) (Job, error) {
	row, err := j.c.store.Job(ctx, n)
	if err != nil {
		return row, err
	}
	v := j.c.sight()
	seen, err := v.conversation(ctx, row.Conversation)
	if err == nil {
		err = v.check(verb, relation(seen), fmt.Sprintf("job %d", n))
	}
	if err != nil {
		return Job{}, err
	}
	return row, nil
}

// JobOutput is a part of what a job has printed, in bytes from its beginning.
type JobOutput struct {
	Text  string // without terminal escapes
	From  int64
	Next  int64 // where what follows begins
	Total int64 // printed so far
}

// Output returns at most limit bytes of what a job has printed, from a place on, or so many
// before the end if that is negative. What is older than 8 MiB is gone. It fails with
// NotFound.
func (j *Jobs) Output(ctx context.Context, n, at int64, limit int) (JobOutput, error) {
	row, err := j.find(ctx, "job.logs", n)
	if err != nil {
		return JobOutput{}, err
	}
	data, from, total, err := folder.ReadJobLog(row.Log, at, limit)
	return JobOutput{Text: safetext.Plain(string(data)), From: from, Next: from + int64(len(data)), Total: total}, err
}

// End asks a job to end, and returns it as it then stands. It fails with NotFound.
func (j *Jobs) End(ctx context.Context, n int64) (Job, error) {
	if err := j.c.may("job.end"); err != nil {
		return Job{}, err
	}
	row, asked, err := j.c.store.AskJobEnd(ctx, n, "a person ended it")
	if err == nil && asked {
		j.c.wake(ctx, row.AgentName)
	}
	return row, err
}

// jobs returns the jobs that match and may be seen, newest first.
func (v *sight) jobs(ctx context.Context, f store.JobFilter) ([]store.Job, error) {
	return atMost(v, f.Limit, func(limit, _ int, last store.Job) ([]store.Job, error) {
		f.Limit, f.Before = limit, last.N
		return v.c.store.ListJobs(ctx, f)
	}, func(j store.Job) (bool, error) { return v.conversation(ctx, j.Conversation) })
}

// jobs returns the jobs of the scope that run.
func (l *looking) jobs(ctx context.Context) ([]api.JobInfo, error) {
	out := []api.JobInfo{}
	list, err := l.v.jobs(ctx, store.JobFilter{Running: true})
	for _, j := range list {
		if inScope(l.scope, string(j.In), string(j.AgentName), string(j.Request)) {
			out = append(out, jobInfo(j))
		}
	}
	return out, err
}

func jobInfo(j store.Job) api.JobInfo {
	return api.JobInfo{
		Number: j.N, Agent: string(j.AgentName), Conversation: string(j.In), Request: string(j.Request), Command: j.Command,
		Description: j.Description, Folder: j.Dir, State: string(j.State), Ending: j.Ending, Reason: j.Reason, Started: j.Started, Ended: j.Ended,
	}
}
