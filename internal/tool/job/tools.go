package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/text/safetext"
	"fika/internal/tool"
)

const (
	// shown is how much of the output one result has at most, in bytes.
	shown   = 24 << 10
	maxWait = 10 * time.Minute
)

type outputArgs struct {
	Job  int64   `json:"job"`
	Wait float64 `json:"wait_seconds"`
}

type endArgs struct {
	Job int64 `json:"job"`
}

// Tools returns the tools that read the output of jobs and end them. Without a pool they
// are not offered.
func Tools(p *Pool) []tool.Tool {
	read := tool.Spec{
		Name: fika.JobOutputTool, Description: "Read what a background job printed since you last read; wait_seconds waits for more.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"job":{"type":"integer"},"wait_seconds":{"type":"integer"}},"required":["job"]}`),
		Checked:    true, ByName: true, Effect: fika.Pure, Hidden: p == nil, Timeout: maxWait + time.Minute,
	}
	end := tool.Spec{
		Name: fika.JobEndTool, Description: "End a background job.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"job":{"type":"integer"}},"required":["job"]}`),
		Checked:    true, ByName: true, Effect: fika.Idempotent, Hidden: p == nil,
	}
	return []tool.Tool{
		tool.Func[outputArgs]{About: read, Do: p.readCall},
		tool.Func[endArgs]{About: end, Do: p.endCall},
	}
}

// find returns a job of the agent in the conversation of a call.
func (p *Pool) find(ctx context.Context, c tool.Call, n int64) (store.Job, error) {
	if p == nil {
		return store.Job{}, fika.Errorf(fika.Denied, "", "there are no background jobs here: they belong to an agent with a process of its own")
	}
	rows, err := p.opts.Store.ListJobs(ctx, store.JobFilter{Agent: p.opts.Lease.Agent, Conversation: c.Conversation})
	if err != nil {
		return store.Job{}, err
	}
	var running []string
	for _, row := range rows {
		if row.N == n {
			return row, nil
		}
		if row.State == fika.JobRunning {
			running = append(running, fmt.Sprint(row.N))
		}
	}
	if len(running) == 0 {
		return store.Job{}, fika.Errorf(fika.NotFound, "", "job %d not found; none is running", n)
	}
	return store.Job{}, fika.Errorf(fika.NotFound, "", "job %d not found; running: %s", n, strings.Join(running, ", "))
}

// job returns a job that runs here, and nil for another.
func (p *Pool) job(id fika.JobID) *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs[id]
}

func (p *Pool) readCall(ctx context.Context, c tool.Call, a outputArgs) (tool.Result, error) {
	if a.Wait < 0 || a.Wait > maxWait.Seconds() {
		return tool.Errorf(fmt.Sprintf("wait_seconds is from 0 to %d", int(maxWait.Seconds()))), nil
	}
	row, err := p.find(ctx, c, a.Job)
	if err != nil {
		return p.refusal(ctx, fika.JobOutputTool, err)
	}
	if r := p.job(row.ID); r != nil && a.Wait > 0 {
		if err := p.await(ctx, r, time.Duration(a.Wait*float64(time.Second))); err != nil {
			return tool.Result{}, fika.Wrap(fika.Interrupted, fika.JobOutputTool, err)
		}
	}
	return p.output(ctx, row), nil
}

// refusal turns an error into a result, unless the call was interrupted.
func (p *Pool) refusal(ctx context.Context, name string, err error) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, fika.Wrap(fika.Interrupted, name, context.Cause(ctx))
	}
	return tool.Refusal(err), nil
}

// await waits until a job has printed something that was not read yet, or has ended.
func (p *Pool) await(ctx context.Context, r *running, most time.Duration) error {
	over := time.NewTimer(most)
	defer over.Stop()
	for {
		more := r.next()
		if r.log.Total() > p.seen(r.row.ID, 0) {
			return nil
		}
		select {
		case <-more:
		case <-r.ended:
			return nil
		case <-over.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// seen returns how much of a job's output the agent has read, after it has read up to a
// place.
func (p *Pool) seen(id fika.JobID, upTo int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read[id] = max(p.read[id], upTo)
	return p.read[id]
}

// output returns what a job has printed since the agent last read it, and how it stands.
func (p *Pool) output(ctx context.Context, row store.Job) tool.Result {
	if r := p.job(row.ID); r != nil && r.hasEnded() {
		p.store(ctx) // as the goroutine of the job is about to
	}
	if rows, err := p.opts.Store.ListJobs(ctx, store.JobFilter{Agent: row.Agent, Conversation: row.Conversation}); err == nil {
		for _, now := range rows {
			if now.ID == row.ID {
				row = now
			}
		}
	}
	at := p.seen(row.ID, 0)
	data, from, total, err := folder.ReadJobLog(row.Log, at, shown)
	if err == nil && total-from > shown { // the end says more than the middle
		data, from, _, err = folder.ReadJobLog(row.Log, total-shown, shown)
	}
	if err != nil {
		return tool.Result{Text: err.Error() + "\n" + Standing(row), IsError: true}
	}
	p.seen(row.ID, from+int64(len(data)))
	var b strings.Builder
	if from > at {
		fmt.Fprintf(&b, "[… %d bytes left out …]\n", from-at)
	}
	b.WriteString(safetext.Plain(string(data)))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		b.WriteByte('\n')
	}
	if from+int64(len(data)) == at {
		b.WriteString("(nothing new)\n")
	}
	b.WriteString(Standing(row))
	return tool.Result{Text: b.String(), Taint: row.Taint}
}

func (p *Pool) endCall(ctx context.Context, c tool.Call, a endArgs) (tool.Result, error) {
	row, err := p.find(ctx, c, a.Job)
	if err != nil {
		return p.refusal(ctx, fika.JobEndTool, err)
	}
	if r := p.job(row.ID); r != nil {
		r.end(errors.New("its agent ended it"))
		select {
		case <-r.ended:
		case <-ctx.Done():
			return tool.Result{}, fika.Wrap(fika.Interrupted, fika.JobEndTool, context.Cause(ctx))
		}
		p.store(ctx)
	}
	return p.output(ctx, row), nil
}

// Standing says how a job stands, in one line.
func Standing(j store.Job) string {
	name := fmt.Sprintf("job %d", j.N)
	switch {
	case j.State == fika.JobRunning && j.Ending:
		return name + " is being ended"
	case j.State == fika.JobRunning:
		return name + " is running"
	case j.State == fika.JobKilled:
		return name + " was ended: " + safetext.Plain(j.Reason)
	case j.State == fika.JobLost:
		return name + " is lost: the process of its agent was killed, and it with that"
	case j.Reason != "":
		return name + ": " + safetext.Plain(j.Reason)
	}
	return fmt.Sprintf("%s has ended with exit status %d", name, j.ExitCode)
}
