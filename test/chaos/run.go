package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// job is one piece of work that was asked for.
type job struct {
	id       int
	kind     string // ask, task, run, chat, wire
	plan     []hop
	request  string // its id, if the program told it
	chat     string
	accepted bool // the program said so; otherwise it may have happened, once
	refused  bool // the program said no: it must not have happened
	waited   bool // the command waited for the outcome, and ended with exit
	exit     int  // -1: it was killed
	may      []string
}

// run is one home, the work done in it, and the violations found.
type run struct {
	*home
	rng   *rand.Rand // safe for concurrent use
	kills int        // how often something may have been asked again, at most
	// folderShared means that two owners wrote into one context's folder, because its
	// lock was left out: each may set aside the other's file.
	folderShared bool

	whys int // how often it was asked why a task stands where it does

	mu      sync.Mutex
	jobs    []*job
	flows   []*flowJob
	unbegun []string // requests whose call was cancelled before it was claimed
	wrong   []string
	down    bool // the hub did not come up, so nothing more will happen; guarded by mu
}

// dice is a random source that is safe for concurrent use.
type dice struct {
	mu  sync.Mutex
	pcg *rand.PCG
}

// Uint64 implements [rand.Source].
func (d *dice) Uint64() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pcg.Uint64()
}

func (o options) newRun(more string, seed uint64) (*run, error) {
	h, err := o.newHome(more)
	if err != nil {
		return nil, err
	}
	return &run{home: h, rng: rand.New(&dice{pcg: rand.NewPCG(seed, 7)})}, nil
}

// bad records a violation.
func (r *run) bad(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// new makes a job; plan lists agents with their tools.
func (r *run) new(kind string, plan ...hop) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := &job{id: len(r.jobs) + 1, kind: kind, plan: plan}
	r.jobs = append(r.jobs, j)
	return j
}

func (j *job) prompt() string { return fmt.Sprintf("job %d hop 0 plan %s", j.id, words(j.plan)) }

// pick returns a hop of an agent with n random tools.
func (r *run) pick(agent string, n int) hop {
	kinds := []string{"bash", "bash", "read", "list", "pair", "create", "edit", "goals"}
	h := hop{agent: agent}
	for range n {
		h.tools = append(h.tools, kinds[r.rng.IntN(len(kinds))])
	}
	return h
}

// ask gives work to an agent and does not wait.
func (r *run) ask(kind, agent string, tools ...string) *job {
	j := r.new(kind, hop{agent, tools})
	res := r.fika(kind, "--no-wait", agent, j.prompt())
	j.request = res.stdout
	r.judge(j, res, res.stdout != "")
	return j
}

// judge records whether the program confirmed that it has the work.
func (r *run) judge(j *job, res result, said bool) {
	j.accepted = said
	j.refused = !said && res.code > 0
	if res.code == 0 && !said {
		r.bad("job %d: exit 0 and nothing printed: %v", j.id, res)
	}
	if res.code > 0 && lastLine(res.stderr) == "" {
		r.bad("job %d: exit %d without a word: %v", j.id, res.code, res)
	}
}

// follow gives work to an agent and waits for the answer.
func (r *run) follow(kind, agent string, tools ...string) *job {
	j := r.new(kind, hop{agent, tools})
	res := r.fika(kind, agent, j.prompt())
	want := fmt.Sprintf("answer %d hop 0", j.id)
	r.judge(j, res, res.code == 0)
	j.waited, j.exit = true, res.code
	j.refused = false // it may be waiting for a process that was killed
	if res.code == 0 && res.stdout != want {
		r.bad("job %d: exit 0 and %q, not %q", j.id, res.stdout, want)
	}
	return j
}

// once is a prompt in the foreground, in a context of its own.
func (r *run) once(context string, tools ...string) *job {
	j := r.new("run", hop{context, tools})
	res := r.fika("run", "-c", context, j.prompt())
	r.judge(j, res, res.code == 0)
	j.waited, j.exit = true, res.code
	j.refused = false
	j.may = []string{"interrupted"} // what a person watches does not continue unseen
	if want := fmt.Sprintf("answer %d hop 0", j.id); res.code == 0 && res.stdout != want {
		r.bad("job %d: exit 0 and %q, not %q", j.id, res.stdout, want)
	}
	return j
}

// chat creates a chat and sends its first message.
func (r *run) chat(plan ...hop) *job {
	j := r.new("chat", plan...)
	j.chat = fmt.Sprintf("table%d", j.id)
	if res := r.fika("chat", "create", j.chat); res.code != 0 {
		// Killed after its commit, the command has created the chat all the same.
		_ = r.fika("chat", "create", j.chat)
	}
	r.say(j)
	return j
}

// say sends the first message of a chat.
func (r *run) say(j *job) {
	res := r.fika("chat", "send", j.chat, "@"+j.plan[0].agent+" "+j.prompt())
	r.judge(j, res, res.stdout != "")
}

// chain returns a plan of n hops around the agents.
func (r *run) chain(n, tools int) []hop {
	var plan []hop
	first := r.rng.IntN(len(agents))
	for i := range n {
		plan = append(plan, r.pick(agents[(first+i)%len(agents)], tools))
	}
	return plan
}

// start brings the hub up. It tries again when the planned crash hits the start.
func (r *run) start() bool {
	if r.over() {
		return false
	}
	var res result
	ok := wait(patience, func() bool {
		res = r.fika("up")
		return res.code == 0
	})
	if !ok {
		r.bad("the hub does not come up: %v", res)
		r.mu.Lock()
		r.down = true
		r.mu.Unlock()
	}
	return ok
}

// over reports whether this home is given up.
func (r *run) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down
}

// settle restarts what does not run and waits until nothing is open.
func (r *run) settle() bool {
	open, looked := -1, time.Time{}
	ok := wait(patience, func() bool {
		if time.Since(looked) > 100*time.Millisecond {
			looked = time.Now()
			if r.hubPID() == 0 && !r.start() {
				return true
			}
		}
		taken := r.taken() // before what is open is counted: it may become more
		n, err := r.open()
		if err == nil {
			open = n
		}
		return r.over() || taken && err == nil && n == 0
	})
	if !ok {
		r.bad("%d things are still open: %s", open, r.openWork())
	}
	return ok
}

// taken reports whether every request that the bus has acknowledged has become a row.
func (r *run) taken() bool {
	for _, j := range r.jobs {
		if j.kind == "wire" && j.accepted {
			if n, err := r.number(`SELECT count(*) FROM requests WHERE id = ?`, j.request); err != nil || n == 0 {
				return false
			}
		}
	}
	return true
}

func (r *run) openWork() string {
	db, err := r.query()
	if err != nil {
		return err.Error()
	}
	rows, err := db.Query(`SELECT 'request ' || id || ' ' || kind || ' ' || state || ' ' || reason || ' announced ' || announced_at FROM requests
WHERE finished_at = 0 OR announced_at = 0 AND origin = 'queued'
UNION ALL SELECT 'notification ' || id || ' ' || state || ' ' || conversation FROM notifications WHERE state IN ('pending', 'claimed')`)
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if rows.Scan(&s) == nil {
			all = append(all, s)
		}
	}
	return strings.Join(all, "; ")
}

// finish brings everything down in the ordinary way and checks what is left.
func (r *run) finish() {
	var res result
	if !wait(patience, func() bool { res = r.fika("down"); return res.code == 0 || r.hubPID() == 0 || r.over() }) {
		r.bad("down: %v", res)
	}
	if !wait(5*time.Second, func() bool { return len(r.processes("")) == 0 }) {
		r.bad("left behind: %v", r.processes(""))
		r.signal("", syscall.SIGKILL)
	}
	if found := r.mounts(); len(found) > 0 {
		r.bad("still mounted: %v", found)
	}
	r.leftovers()
	r.verdict()
}

// leftovers finds files that belong to no process any more: half-written ones, and
// locks that look held.
func (r *run) leftovers() {
	_ = filepath.WalkDir(r.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		name := d.Name()
		if strings.Contains(path, "/set-aside/") { // kept for the person
			return nil
		}
		if r.folderShared && strings.Contains(name, ".edited-") { // by one owner, because the other wrote it
			return nil
		}
		if strings.HasPrefix(name, ".") || strings.Contains(name, ".edited-") || strings.Contains(name, ".corrupt") || filepath.Base(filepath.Dir(path)) == "calls" {
			r.bad("left over: %s", strings.TrimPrefix(path, r.root))
		}
		if name == "lock" && held(path) {
			r.bad("somebody still holds %s", strings.TrimPrefix(path, r.root))
		}
		return nil
	})
}

// held reports whether a process holds the lock. The text in a free lock file is only
// informative.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
