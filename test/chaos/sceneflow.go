package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// workflows are files of every home. thirty has everything that a workflow can have: a
// list, a step that is retried, a discussion, several steps of which the first one
// counts, a person who is asked, and rounds of another workflow; about thirty steps in
// all.
var workflows = map[string]string{
	"thirty": input + `
result = "end"
[[steps]]
id = "plan"
agent = "arya"
output = "json"
prompt = "run {{.inputs.job}} step plan"
[[steps]]
id = "each"
needs = ["plan"]
agent = "gendry"
for_each = "steps.plan.output"
max_parallel = 4
retry = { max = 2, backoff = "1s" }
prompt = "run {{.inputs.job}} step each-{{.item}}"
[[steps]]
id = "other"
needs = ["plan"]
agent = "hotpie"
for_each = "1..5"
max_parallel = 2
prompt = "run {{.inputs.job}} step other-{{.item}}"
[[steps]]
id = "talk"
needs = ["plan"]
chat = { agents = ["arya", "hotpie"], topic = "run {{.inputs.job}} step talk", max = 4 }
` + racer("one", "arya") + racer("two", "gendry") + racer("three", "hotpie") + `
[[steps]]
id = "first"
needs = ["one", "two", "three"]
join = "any"
agent = "arya"
prompt = "run {{.inputs.job}} step first {{.first.output}}"
[[steps]]
id = "ask"
needs = ["each", "other", "talk", "first"]
approve = true
prompt = "go on with {{.inputs.job}}?"
[[steps]]
id = "loop"
needs = ["ask"]
workflow = "inner"
inputs = { job = "{{.inputs.job}}", n = "{{.round}}" }
repeat = { until = "round >= 2", max = 3 }
[[steps]]
id = "end"
needs = ["loop", "each", "other", "talk", "first"]
agent = "gendry"
prompt = "run {{.inputs.job}} step end {{json .steps.each.output}} {{json .steps.other.output}} {{.steps.talk.output}} {{.steps.first.output}} {{.steps.loop.output}}"
`,
	"inner": input + `n = { type = "text" }
[[steps]]
id = "make"
agent = "arya"
prompt = "run {{.inputs.job}} step make-{{.inputs.n}}"
[[steps]]
id = "check"
needs = ["make"]
agent = "gendry"
prompt = "run {{.inputs.job}} step check-{{.inputs.n}} {{.steps.make.output}}"
`,
	// all of many is under way at once, by several agents: what comes next depends on a
	// count alone, so that nothing but the count says what has ended.
	"many": input + `[[steps]]
id = "each"
for_each = '["arya", "gendry", "hotpie", "arya", "gendry", "hotpie", "arya", "gendry", "hotpie"]'
max_parallel = 9
workflow = "single"
inputs = { job = "{{.inputs.job}}", who = "{{.item}}", n = "{{.index}}" }
[[steps]]
id = "end"
needs = ["each"]
agent = "arya"
prompt = "run {{.inputs.job}} step end {{json .steps.each.output}}"
`,
	"single": input + `n = { type = "text" }
who = { type = "agent" }
[[steps]]
id = "only"
agent = "{{.inputs.who}}"
prompt = "run {{.inputs.job}} step only-{{.inputs.n}}"
`,
	"limited": `[limits]
max_turns = 3
` + input + `[[steps]]
id = "each"
agent = "arya"
for_each = "1..9"
max_parallel = 1
prompt = "run {{.inputs.job}} step each-{{.item}}"
`,
	"failing": input + `[[steps]]
id = "before"
agent = "arya"
prompt = "run {{.inputs.job}} step before"
[[steps]]
id = "flaky"
needs = ["before"]
agent = "gendry"
prompt = "run {{.inputs.job}} step flaky {{.steps.before.output}}"
[[steps]]
id = "after"
needs = ["flaky"]
agent = "arya"
prompt = "run {{.inputs.job}} step after {{.steps.flaky.output}}"
`,
}

const input = "[inputs]\njob = { type = \"text\" }\n"

// racer returns a step that competes with others: only the first one counts.
func racer(id, agent string) string {
	return fmt.Sprintf("[[steps]]\nid = %q\nneeds = [\"plan\"]\nagent = %q\nprompt = \"run {{.inputs.job}} step any\"\n", id, agent)
}

// results are the results of undisturbed runs.
var results = map[string]string{
	"thirty": joined([]string{
		"[each-a-gendry]", "[each-b-gendry]", "[each-c-gendry]", "[each-d-gendry]", "[each-e-gendry]", "[each-f-gendry]", "[each-g-gendry]", "[each-h-gendry]",
		"[each-i-gendry]", "[each-flaky-gendry]", "[other-1-hotpie]", "[other-2-hotpie]", "[other-3-hotpie]", "[other-4-hotpie]", "[other-5-hotpie]",
		"[talk-arya]", "[talk-hotpie]", "[any]", "[first-arya]", "[make-2-arya]", "[check-2-gendry]", "[end-gendry]",
	}),
	"many": joined([]string{"[only-0-arya]", "[only-1-gendry]", "[only-2-hotpie]", "[only-3-arya]", "[only-4-gendry]", "[only-5-hotpie]",
		"[only-6-arya]", "[only-7-gendry]", "[only-8-hotpie]", "[end-arya]"}),
	"inner":   joined([]string{"[make-1-arya]", "[check-1-gendry]"}),
	"failing": joined([]string{"[before-arya]", "[flaky-gendry]", "[after-arya]"}),
	"team":    joined([]string{"[hand-arya]", "[hand-gendry]", "[hand-hotpie]"}),
}

// flowJob is a run of a workflow that was asked for.
type flowJob struct {
	id       int
	name     string
	run      string // its id, if the program told it
	accepted bool
	refused  bool
	may      []string // permitted ends other than done
}

// newFlow makes a job.
func (r *run) newFlow(name string) *flowJob {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := &flowJob{id: len(r.flows) + 1, name: name}
	r.flows = append(r.flows, j)
	return j
}

// flow runs a workflow to its end and answers its questions.
func (r *run) flow(name string, may ...string) *flowJob {
	j := r.beginFlow(name, may...)
	r.endFlows()
	return j
}

// beginFlow starts a run and does not wait.
func (r *run) beginFlow(name string, may ...string) *flowJob {
	j := r.newFlow(name)
	j.may = may
	r.beganFlow(j, r.fika("workflow", "run", name, "-i", fmt.Sprintf("job=%d", j.id), "--no-wait"))
	return j
}

// beganFlow records whether the program confirmed that it has a run.
func (r *run) beganFlow(j *flowJob, res result) {
	j.run, j.accepted, j.refused = res.stdout, res.stdout != "", res.code > 0 && res.stdout == ""
	if res.code == 0 && res.stdout == "" || res.code > 0 && lastLine(res.stderr) == "" {
		r.bad("run %d: %v", j.id, res)
	}
}

// endFlows answers the questions of runs until all are over and announced.
func (r *run) endFlows() {
	if wait(patience, func() bool {
		if r.hubPID() == 0 {
			r.start()
		}
		db, err := r.query()
		if err != nil {
			return r.over()
		}
		for _, n := range column(r, db, `SELECT '' || n FROM approvals WHERE state = 'open' AND flow_step <> ''`) {
			r.people("approve", n)
		}
		n, err := r.number(`SELECT count(*) FROM flow_runs WHERE ended_at = 0`)
		return r.over() || err == nil && n == 0
	}) {
		r.settle()
		return
	}
	r.bad("a run does not come to its end: %s", r.openSteps())
}

// openSteps lists the steps of runs that are not over.
func (r *run) openSteps() string {
	db, err := r.query()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(column(r, db, `SELECT s.path || ' ' || s.state || ' taken ' || s.taken FROM flow_steps s JOIN flow_runs f ON f.id = s.run WHERE f.ended_at = 0 AND s.live = 1 ORDER BY s.path`))
}

// team hands work on from one agent to the next, while somebody waits for it.
func team(r *run) {
	j := r.newFlow("team")
	res := r.fika("task", "arya -> gendry -> hotpie", fmt.Sprintf("run %d step hand", j.id))
	j.accepted = res.code == 0
	if want := results["team"]; res.code == 0 && res.stdout != want {
		r.bad("run %d: exit 0 and %q, not %q", j.id, res.stdout, want)
	}
	r.endFlows()
}

// called is an agent that runs a workflow in its turn, of which a step is its own.
func called(r *run) {
	asked := r.ask("task", "arya", "flow", "bash")
	r.settle()
	j := r.newFlow("inner")
	j.id, j.accepted = asked.id, asked.accepted
	r.endFlows()
}

// heldRun pauses a run, resumes it, cancels it, and takes it up again.
func heldRun(r *run) {
	j := r.beginFlow("thirty", "cancelled")
	if j.run == "" {
		r.endFlows()
		return
	}
	r.people("workflow", "pause", j.run)
	r.people("workflow", "resume", "--no-wait", j.run)
	r.stepsDone(2)
	r.people("workflow", "cancel", j.run)
	r.endFlows()
	r.people("workflow", "resume", "--no-wait", j.run)
	r.endFlows()
}

// stepsDone waits until at least that many steps have ended well.
func (r *run) stepsDone(least int) {
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM flow_steps WHERE state = 'done'`)
		return err == nil && n >= least
	})
}

// failedRun fails in the middle and is taken up again: what is done stays done.
func failedRun(r *run) {
	j := r.flow("failing", "failed")
	if j.run != "" {
		r.people("workflow", "resume", "--no-wait", j.run)
		r.endFlows()
	}
}

// limitedRun reaches a limit of its own.
func limitedRun(r *run) { r.flow("limited", "failed") }

// runKilled kills an agent, the hub or everything, again and again, while a run is
// under way.
func runKilled(r *run) int {
	if !r.start() {
		return 0
	}
	words := []string{agentWords("arya"), agentWords("gendry"), agentWords("hotpie"), hubWords, ""}
	struck, over := 0, make(chan struct{})
	go func() { defer close(over); r.flow("thirty") }()
	for n := 0; n < 3; n++ {
		r.pause(1200 * time.Millisecond)
		select {
		case <-over:
			return struck
		default:
			struck += min(1, r.signal(words[r.rng.IntN(len(words))], syscall.SIGKILL))
		}
	}
	<-over
	return struck
}

// runHalted halts the process that has worked out what comes next in a run, just
// before it stores that, until others have advanced the run.
func runHalted(r *run) int {
	const point = "plan-run"
	if !r.start() {
		return 0
	}
	r.model.thinks = 500 * time.Millisecond // nobody works anything out before the plan says which process to halt
	j := r.beginFlow("many")
	_ = r.tell("plan", fmt.Sprintf("%s %d stop", point, r.passed(point)+1+r.rng.IntN(3)))
	halted := 0
	wait(patience/4, func() bool { halted = r.halted(); return halted > 0 || r.runOver(j) })
	if halted == 0 {
		return 0
	}
	version := func() int { n, _ := r.number(`SELECT max(version) FROM flow_runs`); return n }
	before := version()
	wait(patience/10, func() bool { return version() > before+2 })
	_ = syscall.Kill(halted, syscall.SIGCONT)
	r.endFlows()
	return 1
}

// runOver reports whether a run has its result.
func (r *run) runOver(j *flowJob) bool {
	n, err := r.number(`SELECT count(*) FROM flow_runs WHERE id = ? AND ended_at > 0`, j.run)
	return err == nil && n > 0
}

// halted returns a process of the home that a plan has halted.
func (h *home) halted() int {
	for pid := range h.processes("") {
		if stopped(pid) {
			return pid
		}
	}
	return 0
}

// stopped reports whether a process is halted.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(rest, "T")
}

// runUnseen kills an agent between the commit of an outcome and the next step of its
// run: nothing has been announced, and no other agent has anything to do in the run.
func runUnseen(r *run) int {
	const point = "finish-request.after"
	if !r.start() {
		return 0
	}
	nth := 1 + r.rng.IntN(2)
	_ = r.tell("plan", fmt.Sprintf("%s %d kill", point, nth))
	j := r.newFlow("team")
	r.beganFlow(j, r.fika("task", "arya -> gendry -> hotpie", fmt.Sprintf("run %d step hand", j.id), "--no-wait"))
	if wait(patience/3, func() bool { return r.runOver(j) }) {
		r.settle()
	} else {
		r.bad("nobody continues with the run: %s", r.openSteps())
	}
	return min(1, r.passed(point)/nth)
}

var jobNumber = regexp.MustCompile(`(?:job=|run )(\d+)`)

// jobOf returns the job of a run, found in the title that lists show.
func jobOf(title string) int {
	if m := jobNumber.FindStringSubmatch(title); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}
