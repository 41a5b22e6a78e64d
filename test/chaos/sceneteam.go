package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The work of a team: a lead plans so many tasks in one call, and six agents with worktrees
// take them while they and the hub are killed so often.
const (
	teamTasks = 40
	teamKills = 50
)

// teamed are settings of a lead and of n agents that take tasks, each in a worktree.
func teamed(n int) string {
	var b strings.Builder
	b.WriteString("[[agents]]\nid = \"lead\"\nmodel = \"own\"\ntool_permissions = [\"read\", \"board\"]\nmax_idle_seconds = 3\n")
	for i := range n {
		fmt.Fprintf(&b, "[[agents]]\nid = \"taker-%d\"\nmodel = \"own\"\ntool_permissions = [\"bash\", \"create\"]\nmax_idle_seconds = 3\nboard = true\nworkspace = \"worktree\"\n", i+1)
	}
	return b.String()
}

// plansTasks returns the call with which a lead adds tasks. The second half needs the first,
// one by one, so that there is always a choice; the jobs of the tasks follow the lead's own.
func plansTasks(lead int) map[string]any {
	var list []map[string]any
	for i := range teamTasks {
		j := job{id: lead + 1 + i, plan: []hop{teamHop}}
		t := map[string]any{"title": fmt.Sprintf("work %d", i+1), "body": j.prompt(), "priority": i % 5}
		if before := i - teamTasks/2; before >= 0 {
			t["needs"] = []string{fmt.Sprintf("work %d", before+1)}
		}
		list = append(list, t)
	}
	return map[string]any{"tasks": list}
}

// teamHop is what an agent does for a task: a command that kills meet, and a file in the
// worktree of the task.
var teamHop = hop{"taker", []string{"long", "create"}}

// boardKilled kills agents that take tasks, and the hub, until all tasks are done.
func boardKilled(r *run) int {
	repo := r.repository(teamed(6), nil)
	if repo == "" || !r.start() {
		return 0
	}
	lead := r.ask("task", "lead", "plan")
	for range teamTasks {
		r.new("board", teamHop).accepted = lead.accepted
	}
	if !wait(patience, func() bool {
		n, err := r.number(`SELECT count(*) FROM tasks`)
		return err == nil && n == teamTasks
	}) {
		r.bad("the lead has added no tasks")
		return 0
	}
	words := []string{hubWords}
	for i := range 6 {
		words = append(words, agentWords(fmt.Sprintf("taker-%d", i+1)))
	}
	struck, turn := 0, r.rng.IntN(7)
	next := time.Now()
	wait(patience, func() bool {
		if r.hubPID() == 0 && !r.start() {
			return true
		}
		if time.Now().After(next) {
			turn++ // each in its turn: an agent that is killed again and again gives its work up
			hit := r.signal(words[turn%len(words)], syscall.SIGKILL)
			if struck += hit; hit > 0 {
				next = time.Now().Add(time.Duration(50+r.rng.IntN(150)) * time.Millisecond)
			}
			if struck%5 == 0 && hit > 0 {
				r.asksWhy(1 + r.rng.IntN(teamTasks))
			}
		}
		n, err := r.number(`SELECT count(*) FROM tasks WHERE state = 'done'`)
		return struck >= teamKills || err == nil && n >= teamTasks
	})
	r.release(teamTasks)
	r.goingTasks()
	for i := range 6 { // the next process of an agent restores what calls of a killed one changed
		name := fmt.Sprintf("taker-%d", i+1)
		r.people("agent", "restart", name) // also one that was killed too often for the hub to start it
		r.ask("task", name)
	}
	r.settle()
	r.checkOrder()
	r.checkTrees()
	if r.whys == 0 {
		r.bad("nobody asked why a task stands where it does")
	}
	return struck
}

// release lets tasks go on that wait for a person, because their agents were killed so often
// that they were given up.
func (r *run) release(tasks int) {
	for _, j := range r.jobs {
		j.may = append(j.may, "dead", "failed", "cancelled")
	}
	wait(patience, func() bool {
		if r.hubPID() == 0 && !r.start() {
			return true
		}
		for n := range tasks { // one that is worked would be taken from its agent
			if held, err := r.number(fmt.Sprintf(`SELECT count(*) FROM tasks WHERE n = %d AND state = 'held'`, n+1)); err == nil && held > 0 {
				r.people("board", "release", fmt.Sprint(n+1))
			}
		}
		left, err := r.number(`SELECT count(*) FROM tasks WHERE state <> 'done'`)
		return r.over() || err == nil && left == 0
	})
}

// standing is where a task stands: its state, who has it, and what it still needs.
type standing struct {
	state, worker, request string
	needs                  []string
}

func (r *run) standing(n int) (s standing, ok bool) {
	db, err := r.query()
	if err != nil || db.QueryRow(r.sql(`SELECT t.state, COALESCE(a.name, ''), t.request FROM tasks t LEFT JOIN agents a ON a.id = t.worker WHERE t.n = ?`), n).Scan(&s.state, &s.worker, &s.request) != nil {
		return s, false
	}
	s.needs = column(r, db, `SELECT 'task ' || x.n || ' (' || x.state || ')' FROM task_needs d JOIN tasks x ON x.n = d.needs WHERE d.task = ? AND x.state <> 'done' ORDER BY x.n`, n)
	return s, true
}

// asksWhy holds that what is said about a task is so, if it stands the same before and after.
func (r *run) asksWhy(n int) {
	before, ok := r.standing(n)
	res := r.fika("board", "why", fmt.Sprint(n), "--json")
	after, still := r.standing(n)
	if !ok || !still || res.code != 0 || fmt.Sprint(before) != fmt.Sprint(after) {
		return
	}
	var got struct {
		Why []struct {
			Code string
			Args map[string]string
		}
	}
	if err := json.Unmarshal([]byte(res.stdout), &got); err != nil || len(got.Why) == 0 {
		r.bad("why task %d: %v: %v", n, err, res)
		return
	}
	code, args := got.Why[0].Code, got.Why[0].Args
	want := map[string]bool{
		"done":    code == "board.ended" && args["state"] == "done",
		"claimed": code == "board.claimed" && args["agent"] == before.worker && args["request"] == before.request,
		"held":    code == "board.held" && args["reason"] != "",
		"open":    len(before.needs) > 0 && code == "board.needs" && args["list"] == strings.Join(before.needs, ", ") || len(before.needs) == 0 && code != "board.needs" && code != "board.ended" && code != "board.claimed",
	}
	if r.whys++; !want[before.state] {
		r.bad("why task %d says %v, but it is %v", n, got.Why, before)
	}
}

// unordered selects tasks that were begun although a more urgent one could be taken: that one
// was there, lacked nothing, and was taken for the first time later. Half a second is for
// commits of several agents that cross, and for those that were killed in the middle.
const unordered = `WITH begun (task, at) AS (SELECT task, min(created_at) FROM requests WHERE task > 0 GROUP BY task)
SELECT x.n || ' (priority ' || x.priority || ') before ' || y.n || ' (priority ' || y.priority || ')' FROM tasks x JOIN begun bx ON bx.task = x.n
JOIN tasks y ON y.priority < x.priority JOIN begun b ON b.task = y.n AND b.at > bx.at + 500
WHERE y.created_at < bx.at - 500 AND NOT EXISTS (SELECT 1 FROM task_needs d JOIN tasks z ON z.n = d.needs WHERE d.task = y.n AND z.ended_at > bx.at - 500)`

// checkOrder holds that tasks were begun in the order of their priority.
func (r *run) checkOrder() {
	if db, err := r.query(); err == nil {
		for _, found := range column(r, db, unordered) {
			r.bad("a task was begun before a more urgent one: %s", found)
		}
	}
}

// checkTrees holds that the worktree of each task has what was made for it and nothing else.
func (r *run) checkTrees() {
	for n := 1; n <= teamTasks; n++ {
		files, _ := filepath.Glob(filepath.Join(r.root, "worktrees", fmt.Sprintf("task-%d", n), "f*"))
		var names []string
		for _, f := range files {
			names = append(names, filepath.Base(f))
		}
		if want := []string{fmt.Sprintf("f%d-0", n+1)}; !slices.Equal(names, want) {
			r.bad("the worktree of task %d has %v, not %v", n, names, want)
		}
	}
}

// repository makes the home that of a project with branches, each of which adds one file, and
// returns its repository; "" if that cannot be made.
func (r *run) repository(config string, branches map[string]string) string {
	r.people("down") // the next hub is that of the project
	repo := filepath.Join(r.root, "repo")
	err := os.MkdirAll(repo, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.root, "project.json"), fmt.Appendf(nil, `{"id":"shop","root":%q}`, repo), 0o600)
	}
	if err != nil {
		r.bad("project: %v", err)
		return ""
	}
	r.configure(config)
	steps := [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "eve"}, {"config", "user.email", "eve@example.org"}, {"commit", "-q", "--allow-empty", "-m", "first"}}
	for _, args := range steps {
		r.git(repo, args...)
	}
	for name, file := range branches {
		r.git(repo, "switch", "-qc", name, "main")
		if err := os.WriteFile(filepath.Join(repo, file), []byte(name), 0o600); err != nil {
			r.bad("project: %v", err)
		}
		r.git(repo, "add", "-A")
		r.git(repo, "commit", "-qm", name)
	}
	r.git(repo, "switch", "-q", "--detach", "main")
	return repo
}
