package job

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
	"fika/internal/text/redact"
	"fika/internal/tool"
	"fika/internal/tool/proc"
	"fika/internal/tool/shell"
)

const (
	longest = 8 * time.Hour
	// settle is how long a start waits for a command that ends at once.
	settle = 500 * time.Millisecond
)

// Store keeps the rows of jobs.
type Store interface {
	StartJob(context.Context, store.Lease, store.Job) (store.Job, error)
	NoteJobProcess(context.Context, fika.JobID, fika.Process) error
	FinishJob(ctx context.Context, id fika.JobID, state fika.JobState, code int, reason string) (store.Job, error)
	ListJobs(context.Context, store.JobFilter) ([]store.Job, error)
}

// Spaces are namespaces that calls can join.
type Spaces interface{ Close() }

// Confinement limits what a job can touch. It serves one process.
type Confinement interface {
	tool.Confinement
	// Spaces waits for the namespaces that calls can join; nil: the process has none of its
	// own. It fails once the process has ended without them, or Close was called.
	Spaces() (Spaces, error)
	Reaches() bool // hosts that are named, without the network
	Close()
}

// PerCall is a confinement of a call that also says how a job is confined that the call
// starts.
type PerCall interface {
	tool.Confinement
	// Job returns the confinement of a job, in the namespaces of others if in is not nil.
	Job(in Spaces) (Confinement, error)
	// Key is the same text for calls and jobs that are confined alike.
	Key() string
}

// Options are those of one agent's process.
type Options struct {
	Store    Store
	Lease    store.Lease
	Dir      string // of the logs
	Children *process.Children
	Keys     *redact.Keys // removed from what commands print
	// Own is the same text for as long as the agent may do the same in a folder: a job ends
	// when it changes. It is empty while that is not known.
	Own  func(workspace string) string
	Warn func(string)
}

// Pool runs the jobs of one agent. It is safe for concurrent use.
type Pool struct {
	opts Options
	done sync.WaitGroup // of the jobs

	mu     sync.Mutex
	jobs   map[fika.JobID]*running // whose end is not stored yet
	read   map[fika.JobID]int64    // what the agent has seen of the output of each
	shared map[place]*shared
	closed bool
}

// place is where jobs and calls share namespaces.
type place struct {
	conversation fika.ConversationID
	key          string
}

// shared are the namespaces of a place; the last of its jobs closes them.
type shared struct {
	spaces Spaces
	jobs   int
}

// running is one job.
type running struct {
	row    store.Job
	place  place
	own    string // what Own said when it was started
	log    *folder.JobLog
	end    context.CancelCauseFunc
	begun  chan struct{} // closed when its process runs, or could not be started
	ended  chan struct{} // closed when it has ended
	shares bool          // it counts among the jobs of its place

	// How it ended, once that is closed.
	state  fika.JobState
	code   int
	reason string

	mu   sync.Mutex
	more chan struct{} // closed at the next output
	fast int           // bytes printed since it was last slowed down
}

// NewPool returns a pool without jobs.
func NewPool(o Options) *Pool {
	return &Pool{opts: o, jobs: map[fika.JobID]*running{}, read: map[fika.JobID]int64{}, shared: map[place]*shared{}}
}

// Close ends all jobs and waits for them. It may be called twice.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, r := range p.jobs {
		r.end(errors.New("its agent stopped"))
	}
	p.mu.Unlock()
	p.done.Wait()
	p.store(context.Background())
	return nil
}

// Running returns how many jobs run.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.jobs)
}

// Spaces returns the namespaces that a call of a conversation joins; nil: none.
func (p *Pool) Spaces(c fika.ConversationID, key string) Spaces {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.shared[place{c, key}]; s != nil {
		return s.spaces
	}
	return nil
}

// Check ends the jobs that are not wanted any more: somebody asked for their end, their
// conversation was deleted, or what their agent may do has changed.
func (p *Pool) Check(ctx context.Context) {
	if p.Running() == 0 {
		return
	}
	rows, err := p.opts.Store.ListJobs(ctx, store.JobFilter{Agent: p.opts.Lease.Agent, Running: true})
	if err != nil {
		return // the next check reads again
	}
	known := map[fika.JobID]store.Job{}
	for _, row := range rows {
		known[row.ID] = row
	}
	for _, r := range p.all() {
		row, there := known[r.row.ID]
		switch own := p.opts.Own(r.row.Dir); {
		case !there:
			r.end(errors.New("its conversation was deleted"))
		case row.Ending:
			r.end(errors.New(row.Reason))
		case own != "" && own != r.own:
			r.end(errors.New("what its agent may do has changed"))
		}
	}
	p.store(ctx)
}

func (p *Pool) all() (list []*running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.jobs {
		list = append(list, r)
	}
	return list
}

// store stores how jobs ended, and forgets those for which that is done.
func (p *Pool) store(ctx context.Context) {
	for _, r := range p.all() {
		if !r.hasEnded() {
			continue
		}
		_, err := p.opts.Store.FinishJob(ctx, r.row.ID, r.state, r.code, r.reason)
		if err != nil && !fika.IsKind(err, fika.NotFound) {
			p.opts.Warn("how a background command ended is not stored yet: " + err.Error())
			continue
		}
		p.mu.Lock()
		delete(p.jobs, r.row.ID)
		p.mu.Unlock()
	}
}

func (r *running) hasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// Start implements [shell.Jobs].
func (p *Pool) Start(ctx context.Context, c tool.Call, cmd proc.Cmd, about shell.About) (tool.Result, error) {
	per, ok := c.Confine.(PerCall)
	if !ok || c.Conversation == "" {
		return tool.Errorf("not started: only a turn of an agent starts commands in the background"), nil
	}
	r, confine, err := p.begin(ctx, c, per, about)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, fika.Wrap(fika.Interrupted, "bash", context.Cause(ctx))
		}
		return tool.Refusal(err), nil
	}
	cmd.Step, cmd.Stays, cmd.Confine = r.row.ID.Mark(), true, confine
	limit := longest
	if about.Longest > 0 {
		limit = min(limit, about.Longest)
	}
	alive, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, errors.New("it ran for "+limit.String()))
	inner, end := context.WithCancelCause(alive)
	r.end = end
	if !p.add(r) {
		end(errors.New("its agent stopped"))
	}
	p.done.Go(func() { defer cancel(); p.run(inner, r, cmd, confine) })
	<-r.begun
	soon := time.NewTimer(settle)
	defer soon.Stop()
	select {
	case <-r.ended:
	case <-soon.C:
	case <-ctx.Done(): // it is stored: it runs on
	}
	out := p.output(ctx, r.row)
	out.Tier = r.row.Profile
	if p.job(r.row.ID) != nil {
		out.Text += ": " + fika.JobOutputTool + " reads more, " + fika.JobEndTool + " ends it"
	}
	return out, nil
}

// begin stores a job, and returns it with its confinement.
func (p *Pool) begin(ctx context.Context, c tool.Call, per PerCall, about shell.About) (*running, Confinement, error) {
	r := &running{place: place{c.Conversation, per.Key()}, own: p.opts.Own(c.Workspace), begun: make(chan struct{}), ended: make(chan struct{}), more: make(chan struct{})}
	confine, err := per.Job(p.enter(r))
	if err != nil {
		p.leave(r)
		return nil, nil, err
	}
	r.row, err = p.opts.Store.StartJob(ctx, p.opts.Lease, store.Job{
		Conversation: c.Conversation, Request: c.Request, Step: stepOf(c.Step), Command: about.Command, Description: about.Description,
		Dir: c.Workspace, Profile: confine.Tier(), Taint: taintOf(c, confine), Log: p.opts.Dir,
	})
	if err == nil {
		if r.log, err = folder.NewJobLog(r.row.Log); err != nil {
			_, _ = p.opts.Store.FinishJob(context.WithoutCancel(ctx), r.row.ID, fika.JobEnded, -1, err.Error())
		}
	}
	if err != nil {
		confine.Close()
		p.leave(r)
		return nil, nil, err
	}
	p.prune(ctx)
	return r, confine, nil
}

// stepOf returns the number in request/n.
func stepOf(step string) int {
	n, _ := strconv.Atoi(step[strings.LastIndexByte(step, '/')+1:])
	return n
}

// taintOf returns the text from outside that a command may print: what its caller had read,
// and what it can reach itself.
func taintOf(c tool.Call, confine Confinement) string {
	switch {
	case c.Taint != "":
		return c.Taint
	case confine.Network():
		return "bash with the network"
	case confine.Reaches():
		return "bash with the hosts of its agent"
	}
	return ""
}

// prune removes the logs of jobs that are not kept any more.
func (p *Pool) prune(ctx context.Context) {
	rows, err := p.opts.Store.ListJobs(ctx, store.JobFilter{Agent: p.opts.Lease.Agent})
	if err != nil {
		return
	}
	var keep []fika.JobID
	for _, row := range rows {
		keep = append(keep, row.ID)
	}
	folder.KeepJobLogs(p.opts.Dir, keep)
}

// add makes the pool know a job; false: the pool is closed, and the job must end.
func (p *Pool) add(r *running) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs[r.row.ID] = r
	return !p.closed
}

// run runs the process of a job to its end, and stores that.
func (p *Pool) run(ctx context.Context, r *running, cmd proc.Cmd, confine Confinement) {
	defer p.store(context.WithoutCancel(ctx))
	defer close(r.ended)
	defer r.log.Close()
	clean := p.opts.Keys.Writer(r.log)
	defer clean.Close()
	var joined sync.WaitGroup
	started := sync.OnceFunc(func() { close(r.begun) })
	cmd.Progress = func(data []byte) { r.write(ctx, clean, data) }
	cmd.Started = func(proc fika.Process) {
		_ = p.opts.Store.NoteJobProcess(context.WithoutCancel(ctx), r.row.ID, proc)
		joined.Go(func() { p.share(r, confine); started() })
	}
	exit, err := proc.Run(ctx, cmd)
	confine.Close()
	joined.Wait()
	started()
	p.leave(r)
	r.state, r.code = fika.JobEnded, exit.Code
	switch {
	case err == nil:
	case ctx.Err() != nil:
		r.state, r.reason = fika.JobKilled, context.Cause(ctx).Error()
	default:
		r.code, r.reason = -1, "it could not be started: "+err.Error()
	}
	for _, line := range exit.Undone {
		_, _ = clean.Write([]byte(line + "\n"))
	}
}

// enter counts a job among those of its place, and returns the namespaces that it joins;
// nil: there are none yet.
func (p *Pool) enter(r *running) Spaces {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shared[r.place]
	if s == nil {
		return nil
	}
	s.jobs++
	r.shares = true
	return s.spaces
}

// share lets calls, and further jobs, join the namespaces of a job that has its own.
func (p *Pool) share(r *running, confine Confinement) {
	spaces, err := confine.Spaces()
	if err != nil || spaces == nil {
		return // it has none, or has ended, and says why
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shared[r.place] != nil { // another was quicker
		spaces.Close()
		return
	}
	p.shared[r.place] = &shared{spaces: spaces, jobs: 1}
	r.shares = true
}

// leave closes the namespaces of a place when its last job has ended.
func (p *Pool) leave(r *running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shared[r.place]
	if s == nil || !r.shares {
		return
	}
	if s.jobs--; s.jobs == 0 {
		s.spaces.Close()
		delete(p.shared, r.place)
	}
}

const (
	// aFlood is how much a command prints before it is slowed down, by that pause: to some
	// twenty megabytes in a second.
	aFlood     = 1 << 20
	floodPause = 50 * time.Millisecond
)

// write keeps what the command prints.
func (r *running) write(ctx context.Context, log io.Writer, data []byte) {
	_, _ = log.Write(data) // a full disk does not end the command
	r.mu.Lock()
	close(r.more)
	r.more = make(chan struct{})
	r.mu.Unlock()
	if r.fast += len(data); r.fast >= aFlood {
		r.fast = 0
		_ = sleep.For(ctx, floodPause)
	}
}

// next returns a channel that is closed at the next output.
func (r *running) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.more
}
