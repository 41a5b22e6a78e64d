package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fika"
	"fika/internal/store"
	"fika/internal/store/storetest"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/job"
	"fika/internal/tool/shell"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unconfined confines nothing.
type unconfined struct{ network bool }

func (unconfined) Confine(path string, args []string) (tool.Confined, error) {
	return tool.Confined{Path: path, Args: args}, nil
}
func (unconfined) Temp() (dir, seen string)                  { return "", "" }
func (unconfined) Tier() string                              { return "none" }
func (u unconfined) Network() bool                           { return u.network }
func (unconfined) Spaces() (job.Spaces, error)               { return nil, nil }
func (unconfined) Reaches() bool                             { return false }
func (unconfined) Close()                                    {}
func (unconfined) Key() string                               { return "" }
func (u unconfined) Job(job.Spaces) (job.Confinement, error) { return u, nil }

// desk is an agent's process with its jobs.
type desk struct {
	*testing.T
	store *store.Store
	lease store.Lease
	conv  fika.Conversation
	pool  *job.Pool
	bash  tool.Tool
	tools map[string]tool.Tool
	own   string
	call  tool.Call
}

func open(t *testing.T) *desk {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by their mark on Linux alone")
	}
	d := &desk{T: t, tools: map[string]tool.Tool{}, own: "as it was"}
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "fika.db")
	storetest.FreshAt(t, path)
	var err error
	if d.store, err = store.Open(ctx, store.Options{Path: path}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.store.Close() })
	a, err := d.store.EnsureAgent(ctx, store.NewAgent{Name: "coder", HomeID: "h"})
	if err == nil {
		d.lease, err = d.store.Acquire(ctx, a.ID, "test", time.Hour, true)
	}
	if err == nil {
		d.conv, err = d.store.CreateChat(ctx, "room")
	}
	if err != nil {
		t.Fatal(err)
	}
	children := process.NewChildren()
	if err := children.Adopt(); err != nil {
		t.Fatal(err)
	}
	d.pool = job.NewPool(job.Options{
		Store: d.store, Lease: d.lease, Dir: filepath.Join(t.TempDir(), "jobs"), Children: children, Own: func(string) string { return d.own }, Warn: func(text string) { t.Error(text) },
	})
	t.Cleanup(func() { d.pool.Close() })
	d.bash = shell.New(shell.Options{Jobs: d.pool, Children: children})
	for _, one := range job.Tools(d.pool) {
		d.tools[one.Spec().Name] = one
	}
	d.call = tool.Call{Step: "r/3", Agent: "coder", Request: "r", Conversation: d.conv.ID, Workspace: t.TempDir(), Confine: unconfined{}}
	return d
}

func (d *desk) do(t tool.Tool, args string) tool.Result {
	d.Helper()
	c := d.call
	c.Args = json.RawMessage(args)
	r, err := t.Call(d.Context(), c)
	if err != nil {
		d.Fatal(err)
	}
	return r
}

// start starts a command in the background.
func (d *desk) start(command string) string {
	d.Helper()
	raw, err := json.Marshal(map[string]any{"command": command, "background": true})
	if err != nil {
		d.Fatal(err)
	}
	return d.do(d.bash, string(raw)).Text
}

// read reads what a job prints until that holds a text.
func (d *desk) read(n int, want string) string {
	d.Helper()
	for all := ""; ; {
		r := d.do(d.tools[fika.JobOutputTool], fmt.Sprintf(`{"job":%d,"wait_seconds":60}`, n))
		if all += r.Text; strings.Contains(all, want) || r.IsError {
			return all
		}
	}
}

// row returns a job once it has ended.
func (d *desk) ended(n int64) store.Job {
	d.Helper()
	for {
		j, err := d.store.Job(d.Context(), n)
		if err != nil {
			d.Fatal(err)
		}
		if j.State != fika.JobRunning {
			return j
		}
		d.read(int(n), "") // waits for the end
	}
}

func alive(pid int) bool {
	p, ok := process.Identify(pid)
	return ok && process.Alive(p)
}

func TestJob(t *testing.T) {
	d := open(t)
	text := d.start("echo hi ${FIKA_STEP%/*}; exit 4")
	if text += d.read(1, "has ended"); !strings.HasPrefix(text, "hi job\n") && !strings.Contains(text, "\nhi job\n") || !strings.Contains(text, "job 1 has ended with exit status 4") {
		t.Errorf("a command that ends at once: %q", text)
	}
	text = d.start("trap 'echo bye; exit 7' TERM; while :; do sleep 300 & wait $!; done")
	if !strings.Contains(text, "job 2 is running: job_output reads more, job_end ends it") {
		t.Errorf("%q", text)
	}
	row, err := d.store.Job(t.Context(), 2)
	must(t, err)
	if row.Step != 3 || row.Request != "r" || row.Profile != "none" || row.Taint != "" || !alive(row.Proc.PID) {
		t.Errorf("%+v", row)
	}
	if text := d.do(d.tools[fika.JobEndTool], `{"job":2}`).Text; !strings.Contains(text, "bye") || !strings.HasSuffix(text, "job 2 was ended: its agent ended it") {
		t.Errorf("%q", text)
	}
	if alive(row.Proc.PID) || d.pool.Running() != 0 {
		t.Error("it runs on")
	}
	for _, bad := range []string{`{"job":9}`, `{"job":-1}`, `{"job":1,"wait_seconds":-1}`, `{"job":1,"wait_seconds":1e9}`} {
		if r := d.do(d.tools[fika.JobOutputTool], bad); !r.IsError {
			t.Errorf("%s: %q", bad, r.Text)
		}
	}
	d.call.Conversation = "elsewhere"
	if r := d.do(d.tools[fika.JobOutputTool], `{"job":2}`); !r.IsError || !strings.Contains(r.Text, "job 2 not found; none is running") {
		t.Errorf("of another conversation: %q", r.Text)
	}
	d.call.Conversation = ""
	if text := d.start("true"); !strings.Contains(text, "only a turn of an agent") {
		t.Errorf("%q", text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a job leaves running ends with it, and what calls leave running does not end a job.
func TestForksEndWithTheirJob(t *testing.T) {
	d := open(t)
	text := d.start("setsid sh -c 'echo $$ >f; exec sleep 300' & until [ -s f ]; do :; done; echo left $(cat f) end; exec sleep 300")
	if !strings.Contains(text, " end") {
		text = d.read(1, " end")
	}
	_, after, _ := strings.Cut(text, "left ")
	number, _, _ := strings.Cut(after, " end")
	pid, err := strconv.Atoi(number)
	must(t, err)
	d.do(d.bash, `{"command":"true"}`) // ends what nobody has
	if !alive(pid) {
		t.Error("another call ended it")
	}
	d.do(d.tools[fika.JobEndTool], `{"job":1}`)
	if alive(pid) {
		t.Error("it outlives its job")
	}
}

// A flood fills at most 8 MiB, of which the end is read.
func TestFlood(t *testing.T) {
	d := open(t)
	cut := false
	for text := d.start("yes 0123456789abcdef | head -c 10000000; echo; echo the end"); ; {
		if cut = cut || strings.Contains(text, "bytes left out …]"); len(text) > 30_000 {
			t.Errorf("%d bytes: %.100q", len(text), text)
		}
		if strings.Contains(text, "the end") {
			break
		}
		text = d.do(d.tools[fika.JobOutputTool], `{"job":1,"wait_seconds":60}`).Text
	}
	if !cut {
		t.Error("nothing was left out")
	}
	row := d.ended(1)
	var size int64
	entries, err := os.ReadDir(filepath.Dir(row.Log))
	must(t, err)
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		size += info.Size()
	}
	if size > 8<<20 || size < 4<<20 {
		t.Errorf("%d bytes are kept", size)
	}
}

// Who is not wanted any more ends at the next check.
func TestCheck(t *testing.T) {
	d := open(t)
	ctx := context.Background()
	d.start("exec sleep 300")
	_, _, err := d.store.AskJobEnd(ctx, 1, "ann ended it")
	must(t, err)
	d.pool.Check(ctx)
	if j := d.ended(1); j.State != fika.JobKilled || j.Reason != "ann ended it" {
		t.Errorf("%+v", j)
	}
	d.start("exec sleep 300")
	d.pool.Check(ctx)
	if j, err := d.store.Job(ctx, 2); err != nil || j.State != fika.JobRunning {
		t.Errorf("%+v, %v", j, err)
	}
	d.own = "" // unknown
	d.pool.Check(ctx)
	d.own = "less"
	d.pool.Check(ctx)
	if j := d.ended(2); j.Reason != "what its agent may do has changed" {
		t.Errorf("%+v", j)
	}
	d.start("exec sleep 300")
	row, err := d.store.Job(ctx, 3)
	must(t, err)
	must(t, d.store.DeleteConversation(ctx, d.conv.ID))
	d.pool.Check(ctx)
	must(t, d.pool.Close())
	if alive(row.Proc.PID) {
		t.Error("it outlives its conversation")
	}
}

func TestClose(t *testing.T) {
	d := open(t)
	d.call.Confine, d.call.Taint = unconfined{network: true}, ""
	if r := d.do(d.bash, `{"command":"exec sleep 300","background":true}`); r.Taint != "bash with the network" {
		t.Errorf("%+v", r)
	}
	d.do(d.bash, `{"command":"exec sleep 300","background":true,"timeout_seconds":1}`)
	if j := d.ended(2); j.State != fika.JobKilled || j.Reason != "it ran for 1s" {
		t.Errorf("%+v", j)
	}
	for range store.MaxJobs - 1 {
		d.start("exec sleep 300")
	}
	if text := d.start("exec sleep 300"); !strings.Contains(text, "8 background commands of this agent are running, which is the most") {
		t.Error(text)
	}
	must(t, d.pool.Close())
	list, err := d.store.ListJobs(t.Context(), store.JobFilter{Running: true})
	if err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	if j := d.ended(1); j.Reason != "its agent stopped" || alive(j.Proc.PID) {
		t.Errorf("%+v", j)
	}
	if text := d.start("exec sleep 300"); !strings.Contains(text, "its agent stopped") {
		t.Error(text)
	}
}
