package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fika/internal/llm/llmtest"
	"fika/internal/store/pgtest"
)

const (
	patience = 4 * time.Minute // for anything that has to happen, on a busy machine
	glance   = 20 * time.Millisecond
)

// agents lists the agents of every home: two start with the hub, one is woken by work.
var agents = []string{"arya", "gendry", "hotpie"}

// home is one FIKA_HOME with its own model server.
type home struct {
	bin     string
	dir     string // everything that belongs to the run
	root    string // FIKA_HOME
	chaos   string // FIKA_CHAOS
	marker  string // what unsafe tools leave behind
	env     []string
	model   *model
	models  *llmtest.Server
	server  *pgtest.Server // of the database; nil: it is a file
	url     string         // of the database, if it is on a server, as the program gets it
	owner   string         // the same for the server's owner
	opening sync.Mutex
	db      *sql.DB      // guarded by opening
	power   sync.RWMutex // held for reading by everybody who runs a command
}

func (o options) newHome(more string) (*home, error) {
	dir, err := os.MkdirTemp(o.dir, "fika-chaos-")
	if err != nil {
		return nil, err
	}
	h := &home{bin: o.bin, dir: dir, root: filepath.Join(dir, "home"), chaos: filepath.Join(dir, "chaos"), marker: filepath.Join(dir, "marks", "marker")}
	h.model = &model{marker: h.marker, thinks: 30 * time.Millisecond}
	if o.server != nil {
		h.server, h.owner = o.server, o.server.URL()
		h.url = strings.Replace(h.owner, "postgres@", "fika@", 1)
	}
	for _, d := range []string{h.root, h.chaos, filepath.Join(dir, "work"), filepath.Dir(h.marker), filepath.Join(h.root, "workflows")} {
		err = errors.Join(err, os.Mkdir(d, 0o700))
	}
	for name, text := range workflows {
		err = errors.Join(err, os.WriteFile(filepath.Join(h.root, "workflows", name+".toml"), []byte(text), 0o600))
	}
	if err == nil {
		h.models, err = llmtest.Listen("127.0.0.1:0", llmtest.OpenAI, h.model.answer)
	}
	if err != nil {
		return nil, err
	}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FIKA_") && !strings.HasPrefix(kv, "USER=") && !strings.Contains(kv, "_API_KEY=") {
			h.env = append(h.env, kv)
		}
	}
	h.env = append(h.env, "FIKA_HOME="+h.root, "FIKA_CHAOS="+h.chaos, "NO_COLOR=1")
	return h, errors.Join(h.tell("pace", "10"), os.WriteFile(filepath.Join(h.root, "config.toml"), []byte(h.config(more)), 0o600))
}

// config gives each agent a model with its own name, so that the server can tell them
// apart.
func (h *home) config(more string) string {
	var b strings.Builder
	tools := `["bash", "read", "list", "edit", "create", "run_workflow"]`
	fmt.Fprintf(&b, "model = \"own\"\nlock_heartbeat_seconds = 1\nreflection_enabled = false\ntool_permissions = %s\n%s\n", tools, more)
	for i, a := range agents {
		eager := i < 2
		fmt.Fprintf(&b, "[[agents]]\nid = %q\nmodel = %q\nauto_start = %v\npersistent = %v\nmax_idle_seconds = 3\ntool_permissions = %s\n", a, a, eager, eager, tools)
	}
	for _, n := range append([]string{"own"}, agents...) {
		fmt.Fprintf(&b, "[[models]]\nid = %q\nprovider = \"openai\"\nbase_url = %q\n", n, h.models.URL())
	}
	b.WriteString(askRule)
	fmt.Fprintf(&b, "[sandbox]\nwrite = [%q]\n", filepath.Dir(h.marker)) // what tools do is seen in a file there
	if h.url != "" {
		fmt.Fprintf(&b, "[store]\nurl = %q\n", h.url)
	}
	return b.String()
}

// tell atomically writes one of the files that a chaos build obeys.
func (h *home) tell(name, text string) error {
	next := filepath.Join(h.chaos, "."+name)
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(h.chaos, name))
}

// passed returns how often a point was passed.
func (h *home) passed(point string) int {
	st, err := os.Stat(filepath.Join(h.chaos, "passed-"+point))
	if err != nil {
		return 0
	}
	return int(st.Size())
}

// result is the result of a command.
type result struct {
	args   []string
	stdout string
	stderr string
	code   int // -1: it was killed
}

func (r result) String() string {
	return fmt.Sprintf("fika %s: exit %d, %q, %q", strings.Join(r.args, " "), r.code, r.stdout, r.stderr)
}

// fika runs a command to its end.
func (h *home) fika(args ...string) result { return h.typed("", args...) }

// typed is fika with text on standard input.
func (h *home) typed(stdin string, args ...string) result {
	h.power.RLock()
	defer h.power.RUnlock()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := h.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	r := result{args: args, stdout: strings.TrimSpace(out.String()), stderr: strings.TrimSpace(errs.String())}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		r.code, r.stderr = -1, err.Error()
	}
	return r
}

func (h *home) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.bin, args...)
	cmd.Dir, cmd.Env = filepath.Join(h.dir, "work"), h.env
	cmd.WaitDelay = time.Second // a hub that was started in the background may hold the pipes
	return cmd
}

// processes returns the processes of this home whose command line contains words.
func (h *home) processes(words string) map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(d))
		environ, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil || pid == os.Getpid() || !bytes.Contains(environ, []byte(h.dir)) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		args := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		if args != "" && strings.Contains(args, words) {
			found[pid] = args
		}
	}
	return found
}

// dark kills every process of the home and calls f while none can start. Those that run
// tools go first: one that lives on for a moment would see its tool killed, and write down
// truthfully that it ended so.
func (h *home) dark(f func()) (killed int) {
	for !h.power.TryLock() {
		killed += h.signal("", syscall.SIGKILL)
		time.Sleep(glance)
	}
	defer h.power.Unlock()
	h.forget()
	wait(5*time.Second, func() bool {
		n := h.signal(agentsWords, syscall.SIGKILL) + h.signal(executorWords, syscall.SIGKILL)
		n += h.signal("", syscall.SIGKILL)
		killed += n
		return n == 0 && len(h.processes("")) == 0
	})
	f()
	return killed
}

const (
	hubWords    = "up --foreground"
	agentsWords = "agent run"
)

func agentWords(name string) string { return "agent run --by-hub --wait 10s " + name }

// signal sends a signal to the processes whose command line contains words and returns
// their number.
func (h *home) signal(words string, s syscall.Signal) (n int) {
	for pid := range h.processes(words) {
		if syscall.Kill(pid, s) == nil {
			n++
		}
	}
	return n
}

// hubPID returns the process id of the hub, if it runs.
func (h *home) hubPID() int {
	for pid := range h.processes(hubWords) {
		return pid
	}
	return 0
}

// query opens the database on first use; it exists once a command has run.
func (h *home) query() (*sql.DB, error) {
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.db != nil {
		return h.db, nil
	}
	db, err := h.connect()
	if err != nil {
		return nil, err
	}
	h.db = db
	return db, nil
}

// forget closes the database; query opens it again.
func (h *home) forget() {
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.db != nil {
		_ = h.db.Close()
		h.db = nil
	}
}

// number runs a query that returns one number.
func (h *home) number(text string, args ...any) (int, error) {
	db, err := h.query()
	if err != nil {
		return 0, err
	}
	var n int
	return n, db.QueryRow(h.sql(text), args...).Scan(&n)
}

// open counts what is not settled: requests, notifications that nothing holds back,
// unpublished outcomes.
func (h *home) open() (int, error) {
	return h.number(`SELECT (SELECT count(*) FROM requests WHERE finished_at = 0 AND origin = 'queued')
+ (SELECT count(*) FROM notifications WHERE state IN ('pending', 'claimed'))
+ (SELECT count(*) FROM requests WHERE finished_at > 0 AND announced_at = 0 AND origin = 'queued')`)
}

// wait polls until ready reports true, and returns false if that takes longer than d.
func wait(d time.Duration, ready func() bool) bool {
	look := time.NewTicker(glance)
	defer look.Stop()
	for deadline := time.Now().Add(d); !ready(); <-look.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// close kills the remaining processes of the run and closes its model server.
func (h *home) close() {
	h.forget()
	for range 3 {
		if h.signal("", syscall.SIGKILL) == 0 {
			break
		}
		wait(time.Second, func() bool { return len(h.processes("")) == 0 })
	}
	_ = h.models.Close()
}
