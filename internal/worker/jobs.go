package worker

import (
	"context"
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/repository/worktree"
	"fika/internal/sandbox"
	"fika/internal/sandbox/confine"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/board"
	"fika/internal/tool/job"
	"fika/internal/tool/shell"
)

// openJobs makes the pool of the background commands of an agent's process, whose settings
// live follows.
func (w *Worker) openJobs(live *LiveRuntime) {
	w.jobs = job.NewPool(job.Options{
		Store: w.Store, Lease: w.Lease, Dir: w.Folder.JobsDir(), Children: w.App.Children(), Keys: w.App.Secrets(), Warn: live.opts.Warn,
		Own: func(workspace string) string {
			now, err := live.current(context.Background(), place{task: worktree.TaskAt(w.Folder.Home.Root, workspace)})
			if err != nil {
				return "" // the settings cannot be used: nothing new begins, and what runs goes on
			}
			if err := now.tools.Check("bash"); err != nil {
				return err.Error()
			}
			return now.toolbox.Confinement().Key(workspace)
		},
	})
}

// Jobs returns the background commands of this process; nil: it runs none.
func (w *Worker) Jobs() *job.Pool { return w.jobs }

// loseJobs ends what is left of the jobs of an earlier owner, and stores that they are lost.
func (w *Worker) loseJobs(ctx context.Context) error {
	list, err := w.Store.ListJobs(ctx, store.JobFilter{Agent: w.Agent.ID, Running: true})
	for _, j := range list {
		if j.Lease == w.Lease.ID {
			continue
		}
		if err := LoseJob(ctx, w.Store, j); err != nil {
			return err
		}
	}
	return err
}

// LoseJob ends what is left of a job whose agent has no process any more, and stores that
// it is lost.
func LoseJob(ctx context.Context, s *store.Store, j store.Job) error {
	process.EndMarked(j.ID.Mark())
	_, err := s.LoseJob(ctx, j.ID)
	if fika.IsKind(err, fika.NotFound) { // its conversation was deleted meanwhile
		return nil
	}
	return err
}

// withCompanions adds to permissions the tools that come with others: those for background
// commands with bash, and those of the board, which one name permits.
func withCompanions(p tool.Permissions) tool.Permissions {
	if slices.Contains(p.Allow, "bash") {
		p.Allow = append(p.Allow[:len(p.Allow):len(p.Allow)], fika.JobOutputTool, fika.JobEndTool)
	}
	p.Allow = board.Permit(p.Allow, app.BoardPermission)
	return p
}

// shellJobs returns what starts commands in the background; nil where nothing does.
func (b Toolbox) shellJobs() shell.Jobs {
	if b.jobs == nil {
		return nil
	}
	return b.jobs
}

// Job implements [job.PerCall].
func (c *callConfinement) Job(in job.Spaces) (job.Confinement, error) {
	joined, _ := in.(*sandbox.Spaces)
	j, err := c.now().Job(c.workspace, joined)
	if err != nil {
		return nil, err
	}
	return jobConfinement{j}, nil
}

// Key implements [job.PerCall].
func (c *callConfinement) Key() string { return c.now().Key(c.workspace) }

// spaces returns the namespaces of a job that the call works in; nil: its own.
func (c *callConfinement) spaces() *sandbox.Spaces {
	if c.jobs == nil || c.jobs.Running() == 0 {
		return nil
	}
	in, _ := c.jobs.Spaces(c.conversation, c.Key()).(*sandbox.Spaces)
	return in
}

// jobConfinement is a [job.Confinement].
type jobConfinement struct{ *confine.Job }

// Spaces implements [job.Confinement].
func (j jobConfinement) Spaces() (job.Spaces, error) {
	s, err := j.Job.Spaces()
	if err != nil || s == nil {
		return nil, err
	}
	return s, nil
}
