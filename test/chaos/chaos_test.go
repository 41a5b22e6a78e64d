package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fika/internal/store/pgtest"
)

// ordinary and broken are the program, made by TestMain: as people have it,
// and as the harness needs it.
var ordinary, broken string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fika-chaos-build-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ordinary, broken = filepath.Join(dir, "fika"), filepath.Join(dir, "fika-chaos")
	for bin, tags := range map[string]string{ordinary: "", broken: "chaos"} {
		if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-tags", tags, "-o", bin, "fika/cmd/fika").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// TestPoints: the crash points are read from the source.
func TestPoints(t *testing.T) {
	all, err := points("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"accept-request.before", "claim.after", "commit-model-step.before", "begin-tool-step.after", "finish-request.after",
		"record-process.after", "suspend-request.before", "mark-announced.before", "post.after", "tool-exit", "tool-undone", "ask-for-approval.after", "answer-approval.before", "read-approvals.after", "mirror-append", "ingest-ack.before", "wake.after", "response.before",
		"start-run.before", "plan-run", "advance-run.after", "pause-run.before", "end-run.after", "resume-run.before", "end-discussion.after"} {
		if !slices.Contains(all, p) {
			t.Errorf("%s is not among the points %v", p, all)
		}
	}
}

// TestFrozen: no crash point and no control is ever lost. testdata lists those that
// there have been, one a line; whoever adds one adds its line, and a line is removed
// only with the operation that it names.
func TestFrozen(t *testing.T) {
	there, err := points("../..")
	if err != nil {
		t.Fatal(err)
	}
	var denied []string
	for _, c := range controls() {
		denied = append(denied, c.guard+" "+c.fault.name)
	}
	for file, now := range map[string][]string{"points.txt": there, "controls.txt": denied} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		frozen := strings.Split(strings.TrimSpace(string(text)), "\n")
		for _, name := range frozen {
			if !slices.Contains(now, name) {
				t.Errorf("%s is lost: the harness would not try it any more", name)
			}
		}
		for _, name := range now {
			if !slices.Contains(frozen, name) {
				t.Errorf("%s is new: add it to testdata/%s", name, file)
			}
		}
	}
}

// TestChaos is the short form of make chaos: a few points, a few faults, and
// one guard left out. Its seed is always the same; make chaos has many.
func TestChaos(t *testing.T) {
	o := options{bin: broken, source: "../..", dir: t.TempDir(), seeds: 1, seed: 1, jobs: 4}
	o.short(t, map[string]string{
		"accept-request.after": "ask", "claim.after": "chat", "commit-model-step.after": "files", "begin-tool-step.after": "task",
		"tool-exit": "task", "finish-request.before": "chat", "finish-request.after": "chat", "ingest-ack.before": "wire", "wake.after": "wake",
		"answer-approval.before": "approve", "ask-for-approval.after": "approve", "read-approvals.before": "unanswered", "tool-undone": "trespass",
		"advance-run.after": "failed-run", "plan-run": "workflow",
	}, []string{"kill-all", "stop-owner", "pause-unpublished"}, "before")
}

// short tries points in a scene each, faults, and a control.
func (o options) short(t *testing.T, in map[string]string, struck []string, control string) {
	table := &table{}
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(o.jobs)
	for point, scene := range in {
		o.try(ctx, g, table, point, map[string]int{scene: 1})
	}
	for _, name := range struck {
		o.fault = name
		o.strikeAll(ctx, g, table)
	}
	o.control = control
	o.deny(ctx, g, table)
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := table.verdict(); err != nil {
		t.Error(err)
	}
}

// TestChaosOnServer is the same on PostgreSQL, shorter.
func TestChaosOnServer(t *testing.T) {
	onServer(t).short(t, map[string]string{"claim.after": "chat", "commit-model-step.before": "files", "finish-request.after": "chat", "advance-run.before": "failed-run"},
		[]string{"store-restarted", "store-cut"}, "before")
}

// TestOrdinaryBuild: what a harness says is nothing to a program that was
// built without the tag.
func TestOrdinaryBuild(t *testing.T) {
	r, err := options{bin: ordinary, dir: t.TempDir()}.newRun("", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	for name, text := range map[string]string{"plan": "commit-model-step.before 1 kill", "clock": "999999999", "pages": "1", "without": "fence claim dedup before flock stale due sync-bus sync-store"} {
		if err := r.tell(name, text); err != nil {
			t.Fatal(err)
		}
	}
	if j := r.once("notes", "bash"); !j.accepted {
		t.Error("the prompt was not answered")
	}
	db, err := r.query()
	if err != nil {
		t.Fatal(err)
	}
	if early := column(r, db, `SELECT id FROM requests WHERE created_at > (unixepoch() + 60) * 1000`); len(early) > 0 {
		t.Error("the clock was moved")
	}
	if begun := column(r, db, `SELECT request FROM steps WHERE kind = 'tool' AND started_at = 0`); len(begun) > 0 {
		t.Error("a tool was not committed as started")
	}
	if passed, _ := filepath.Glob(filepath.Join(r.chaos, "passed-*")); len(passed) > 0 {
		t.Errorf("points were counted: %v", passed)
	}
	cmd := r.command(context.Background(), "run", "-c", "notes", "job 9 hop 0 plan notes:long")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	if !wait(patience, func() bool { return r.markers() > 1 }) {
		t.Fatal("the tool does not begin")
	}
	if res := r.fika("run", "-c", "notes", "hello"); res.code != 4 {
		t.Errorf("two processes in one context: %v", res)
	}
	for _, w := range r.wrong {
		t.Error(w)
	}
}

// TestVerdict is the check of the checker: a home with one of each fault is
// seen to be faulty.
func TestVerdict(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testVerdict(t, options{bin: broken, dir: t.TempDir()}) })
	t.Run("postgres", func(t *testing.T) { testVerdict(t, onServer(t)) })
}

// onServer are options for homes on a server that lives as long as the test.
func onServer(t *testing.T) options {
	if pgtest.Find() == "" && os.Getenv("CI") != "true" {
		t.Skip("skipped on PostgreSQL: no server program is installed (apt-get install postgresql)")
	}
	o := options{bin: broken, source: "../..", dir: t.TempDir(), seeds: 1, seed: 1, jobs: 4, engine: "postgres"}
	stop, err := o.startServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return o
}

func testVerdict(t *testing.T, o options) {
	r, err := o.newRun("", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.start()
	r.chat(hop{"arya", []string{"bash", "pair"}}, hop{"gendry", nil})
	r.ask("ask", "arya", "bash")
	r.ask("ask", "arya")
	team(r)
	r.settle()
	r.finish()
	if len(r.wrong) > 0 {
		t.Fatalf("a home where nothing happened: %v", r.wrong)
	}
	db, err := r.query()
	if err != nil {
		t.Fatal(err)
	}
	spoil := []string{
		// The second turn's answer comes before the end of the first.
		`UPDATE entries SET request = (SELECT b.request FROM entries b WHERE b.conversation = entries.conversation ORDER BY b.seq DESC LIMIT 1)
WHERE type = 'tool_call' AND conversation IN (SELECT id FROM conversations WHERE kind = 'ask')`,
		`UPDATE requests SET state = 'running', finished_at = 0`,
		`UPDATE requests SET state = 'failed'`,
		`UPDATE requests SET announced_at = 0`,
		`UPDATE notifications SET state = 'pending'`,
		`DELETE FROM entries WHERE {final}`,
		`DELETE FROM entries WHERE type = 'tool_result'`,
		`UPDATE steps SET state = 'started' WHERE kind = 'tool'`,
		`UPDATE steps SET round = 1`,
		`DELETE FROM usage`,
		`DELETE FROM requests WHERE kind = 'ask'`,
		`UPDATE conversations SET last_seq = last_seq + 1`,
		`UPDATE entries SET content = 'answer 1 hop 1' WHERE content LIKE 'answer 1 hop 0%'`,
		`UPDATE entries SET content = replace(content, 'job 2', 'job 1') WHERE content LIKE 'job 2%'`,
		`UPDATE flow_runs SET ended_at = 0`,
		`UPDATE flow_steps SET state = 'running'`,
		`UPDATE entries SET content = '[hand-arya]' WHERE sender = 'workflow'`,
		`DELETE FROM flow_runs`,
	}
	for i, text := range spoil {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(r.sql(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r.wrong = nil
		r.look(tx)
		if len(r.wrong) == 0 {
			t.Errorf("nothing is noticed after %s", text)
		}
		if overlap := slices.ContainsFunc(r.wrong, func(w string) bool { return strings.Contains(w, "overlapped") }); overlap != (i == 0) {
			t.Errorf("overlapping turns noticed: %v, after %s", overlap, text)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	steps, err := os.ReadFile(r.marker)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.marker, slices.Concat(steps, steps), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(){
		"ran twice":          func() {},
		"after round 2":      func() { r.model.log = append(r.model.log, asked{1, 0, 0}) },
		"asked to do":        func() { r.model.steps = append(r.model.steps, stepAsk{r.model.steps[0].stepKey, time.Now()}) },
		"invalid":            func() { r.model.invalid = []string{"x"} },
		"but the request is": func() { r.jobs = append(r.jobs, &job{id: 2, kind: "ask", waited: true, exit: 5}) },
		"not there":          func() { r.jobs = append(r.jobs, &job{id: 99, kind: "ask", accepted: true}) },
	} {
		if r.wrong = nil; what != "ran twice" {
			_ = os.WriteFile(r.marker, steps, 0o600)
		}
		before := len(r.jobs)
		change()
		r.verdict()
		if !slices.ContainsFunc(r.wrong, func(w string) bool { return strings.Contains(w, what) }) {
			t.Errorf("%s: it is not noticed: %v", what, r.wrong)
		}
		r.jobs, r.model.invalid = r.jobs[:before], nil
		if n := len(r.model.log); what == "after round 2" {
			r.model.log = r.model.log[:n-1]
		}
		r.model.steps = r.model.steps[:3]
		_ = os.WriteFile(r.marker, slices.Concat(steps, steps), 0o600)
	}
	if text := fmt.Sprint(sceneNames(scenes())); !strings.Contains(text, "delegate") {
		t.Error(text)
	}
}
