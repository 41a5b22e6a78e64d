package store

import (
	"context"
	"strings"
	"time"

	"fika"
	"fika/internal/text/hint"
)

const (
	// MaxJobs is how many background commands of one agent run at once.
	MaxJobs = 8
	// keptJobs is how many that have ended are kept of each agent.
	keptJobs = 100
)

// Job is a command that runs on after the tool call that started it, in a process of its
// agent's process.
type Job struct {
	N            int64 // by which people call it
	ID           fika.JobID
	Agent        fika.AgentID
	AgentName    fika.AgentName
	Conversation fika.ConversationID
	In           fika.ConversationName
	Request      fika.RequestID // that started it, with its step
	Step         int
	Command      string
	Description  string // for people; may be empty
	Dir          string
	Profile      string // how it is confined
	Taint        string // the text from outside that its output brings in; empty: none
	Log          string // path of its output, see folder.JobLog
	Lease        LeaseID
	Proc         fika.Process // zero before it is started
	State        fika.JobState
	ExitCode     int
	Reason       string // why it was asked to end, or could not be started
	Ending       bool   // it was asked to end
	Started      time.Time
	Ended        time.Time
}

// Jobs keeps background commands. A row is committed before its process is started, and
// ends once.
type Jobs struct{ *db }

const selectJob = `SELECT j.n, j.id, j.agent, a.name, j.conversation, c.name, j.request, j.step, j.command, j.description, j.cwd, j.profile, j.taint, j.log,
j.lease, j.pid, j.pid_start, j.boot_id, j.state, j.exit_code, j.reason, j.end_at, j.started_at, j.ended_at
FROM jobs j JOIN agents a ON a.id = j.agent JOIN conversations c ON c.id = j.conversation`

func scanJob(s scanner) (j Job, err error) {
	var end, started, ended int64
	err = s.Scan(&j.N, &j.ID, &j.Agent, &j.AgentName, &j.Conversation, &j.In, &j.Request, &j.Step, &j.Command, &j.Description, &j.Dir, &j.Profile, &j.Taint, &j.Log,
		&j.Lease, &j.Proc.PID, &j.Proc.Start, &j.Proc.BootID, &j.State, &j.ExitCode, &j.Reason, &end, &started, &ended)
	j.Ending, j.Started, j.Ended = end > 0, at(started), at(ended)
	return j, err
}

// StartJob stores a job that is about to be started by the agent's owner, and returns it
// with its number. Log is the folder of the agent's logs. It fails with Lost, with Denied
// once plan mode holds for its request, and with Limit while [MaxJobs] of the agent run.
func (s Jobs) StartJob(ctx context.Context, l Lease, j Job) (Job, error) {
	const op = "start job"
	var out Job
	err := s.writeWith(ctx, op, durable, func(ctx context.Context, t *tx) error {
		if _, err := t.leased(ctx, op, l); err != nil {
			return err
		}
		under, _, err := one(ctx, t, scanModes, `SELECT c.mode, `+modesElsewhere+` FROM requests r JOIN conversations c ON c.id = r.conversation WHERE r.id = ?`, j.Request)
		if err != nil {
			return err
		}
		if fika.Strictest(under[:]...) == fika.PlanMode {
			return fika.Errorf(fika.Denied, "", "the chat is in plan mode")
		}
		running, _, err := one(ctx, t, scanInt, `SELECT count(*) FROM jobs WHERE agent = ? AND state = 'running'`, l.Agent)
		if err != nil {
			return err
		}
		if running >= MaxJobs {
			return fika.Errorf(fika.Limit, "", "%d background commands of this agent are running, which is the most: end one first", running)
		}
		id := fika.JobID(t.newID())
		if _, err := t.exec(ctx, `INSERT INTO jobs (id, agent, conversation, request, step, command, description, cwd, profile, taint, log, lease, state, started_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?)`,
			id, l.Agent, j.Conversation, j.Request, j.Step, j.Command, j.Description, j.Dir, j.Profile, j.Taint, j.Log+"/"+string(id), l.ID, t.now); err != nil {
			return err
		}
		if err := t.put(ctx, `DELETE FROM jobs WHERE agent = ? AND state <> 'running' AND n <= COALESCE((SELECT o.n FROM jobs o
WHERE o.agent = ? AND o.state <> 'running' ORDER BY o.n DESC LIMIT 1 OFFSET ?), 0)`, l.Agent, l.Agent, keptJobs); err != nil {
			return err
		}
		out, _, err = one(ctx, t, scanJob, selectJob+` WHERE j.id = ?`, id)
		jobsIn(t).tell(out)
		return err
	})
	return out, err
}

// NoteJobProcess records the process of a running job. A power failure may undo it.
func (s Jobs) NoteJobProcess(ctx context.Context, id fika.JobID, p fika.Process) error {
	return s.writeRelaxed(ctx, "note job process", func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `UPDATE jobs SET pid = ?, pid_start = ?, boot_id = ? WHERE id = ? AND state = 'running'`, p.PID, p.Start, p.BootID, id)
		return err
	})
}

// FinishJob stores how a job ended, by itself or killed, and returns it as it then stands:
// one that has ended before stays so. It fails with NotFound if its conversation was
// deleted.
func (s Jobs) FinishJob(ctx context.Context, id fika.JobID, state fika.JobState, code int, reason string) (out Job, err error) {
	const op = "finish job"
	err = s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out, err = jobsIn(t).end(ctx, op, id, func(j *Job) { j.State, j.ExitCode, j.Reason = state, code, reason })
		return err
	})
	return out, err
}

// LoseJob stores that a job ended with the process of its agent, and returns it as it then
// stands.
func (s Jobs) LoseJob(ctx context.Context, id fika.JobID) (out Job, err error) {
	const op = "lose job"
	err = s.write(ctx, op, func(ctx context.Context, t *tx) error {
		out, err = jobsIn(t).end(ctx, op, id, func(j *Job) { j.State = fika.JobLost })
		return err
	})
	return out, err
}

// end ends a job that runs as change says.
func (t jobRows) end(ctx context.Context, op string, id fika.JobID, change func(*Job)) (Job, error) {
	j, found, err := t.lock(ctx, `j.id = ?`, id)
	switch {
	case err != nil:
		return j, err
	case !found:
		return j, fika.Errorf(fika.NotFound, op, "job %s not found", id)
	case j.State != fika.JobRunning:
		t.discard = true
		return j, nil
	}
	change(&j)
	j.Ended = at(t.now)
	t.tell(j)
	return j, t.put(ctx, `UPDATE jobs SET state = ?, exit_code = ?, reason = ?, ended_at = ? WHERE id = ?`, j.State, j.ExitCode, j.Reason, t.now, id)
}

// AskJobEnd asks a job to end, and returns it as it then stands: whether it was running
// and not asked before is in the second result. It fails with NotFound.
func (s Jobs) AskJobEnd(ctx context.Context, n int64, reason string) (Job, bool, error) {
	const op = "ask job end"
	var out Job
	asked := false
	err := s.write(ctx, op, func(ctx context.Context, t *tx) error {
		j, found, err := jobsIn(t).lock(ctx, `j.n = ?`, n)
		if err == nil && !found {
			err = jobNotFound(n)
		}
		if err != nil {
			return err
		}
		out, asked = j, j.State == fika.JobRunning && !j.Ending
		if t.discard = !asked; t.discard {
			return nil
		}
		out.Ending, out.Reason = true, reason
		return jobsIn(t).askEnd(ctx, out)
	})
	return out, asked, err
}

func jobNotFound(n int64) error {
	return fika.WithHint(fika.Errorf(fika.NotFound, "", "job %d not found", n), hint.JobList.With())
}

// JobFilter says which jobs are listed. What is empty, or false, restricts nothing.
type JobFilter struct {
	Agent        fika.AgentID
	Conversation fika.ConversationID
	Running      bool
	Before       int64 // only those with a smaller number
	Limit        int
}

// ListJobs returns jobs, newest first.
func (s Jobs) ListJobs(ctx context.Context, f JobFilter) ([]Job, error) {
	var where []string
	var args []any
	if f.Agent != "" {
		where, args = append(where, `j.agent = ?`), append(args, f.Agent)
	}
	if f.Conversation != "" {
		where, args = append(where, `j.conversation = ?`), append(args, f.Conversation)
	}
	if f.Before > 0 {
		where, args = append(where, `j.n < ?`), append(args, f.Before)
	}
	if f.Running {
		where = append(where, `j.state = 'running'`)
	}
	text := selectJob
	if len(where) > 0 {
		text += ` WHERE ` + strings.Join(where, ` AND `)
	}
	text += ` ORDER BY j.n DESC`
	if f.Limit > 0 {
		text, args = text+` LIMIT ?`, append(args, f.Limit)
	}
	list, err := many(ctx, s.r, scanJob, text, args...)
	return list, s.explain("list jobs", err)
}

// Job reads one job by its number. It fails with NotFound.
func (s Jobs) Job(ctx context.Context, n int64) (Job, error) {
	const op = "read job"
	j, ok, err := one(ctx, s.r, scanJob, selectJob+` WHERE j.n = ?`, n)
	if err == nil && !ok {
		err = jobNotFound(n)
	}
	return j, s.explain(op, err)
}

// jobRows writes jobs.
type jobRows struct{ *tx }

func jobsIn(t *tx) jobRows { return jobRows{t} }

// lock reads one job for a change.
func (t jobRows) lock(ctx context.Context, where string, arg any) (Job, bool, error) {
	return one(ctx, t, scanJob, selectJob+` WHERE `+where+` FOR NO KEY UPDATE OF j`, arg)
}

// askEnd records that a job, as it then stands, was asked to end.
func (t jobRows) askEnd(ctx context.Context, j Job) error {
	t.tell(j)
	return t.put(ctx, `UPDATE jobs SET end_at = ?, reason = ? WHERE id = ? AND state = 'running' AND end_at = 0`, t.now, j.Reason, j.ID)
}

// askAll asks the jobs of a conversation to end, and with all those that were started
// elsewhere because of it; it returns the agents whose jobs they are.
func (t jobRows) askAll(ctx context.Context, c fika.ConversationID, all bool, reason string) (agents []fika.AgentName, err error) {
	where, args := `j.conversation = ?`, []any{c}
	if all {
		where, args = `(j.conversation = ? OR EXISTS (SELECT 1 FROM requests r JOIN chains h ON h.root = r.chain WHERE r.id = j.request AND h.conversation = ?)
OR EXISTS (SELECT 1 FROM conversations b JOIN flow_runs f ON f.id = b.run WHERE b.id = j.conversation AND f.chat = ?))`, []any{c, c, c}
	}
	list, err := many(ctx, t, scanJob, selectJob+` WHERE `+where+` AND j.state = 'running' AND j.end_at = 0 ORDER BY j.n`, args...)
	for _, j := range list {
		j.Ending, j.Reason = true, reason
		if err := t.askEnd(ctx, j); err != nil {
			return nil, err
		}
		agents = append(agents, j.AgentName)
	}
	return agents, err
}

// tell adds an event about a job.
func (t jobRows) tell(j Job) {
	t.tx.tell(event{
		kind: JobEvent, conversation: j.Conversation, request: j.Request, agent: j.Agent, seq: j.N, state: string(j.State),
		data: EventData{Cancel: j.Ending && j.State == fika.JobRunning},
	})
}
