package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"fika/internal/store"
	"fika/internal/store/pgtest"
)

// lab is the place of the measurements: a folder for homes, the binary, the helper
// process of the floors. It is not safe for concurrent use.
type lab struct {
	fika   string
	peer   string // built on first use
	dir    string
	n      int
	warm   int
	up     []*home        // hubs to bring down
	server *pgtest.Server // of the homes' databases; nil: they are files
}

func newLab(ctx context.Context, fika, parent string, n, warm int) (*lab, error) {
	fika, err := filepath.Abs(fika)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(fika); err != nil {
		return nil, fmt.Errorf("%w: build it first (make build)", err)
	}
	dir, err := os.MkdirTemp(parent, "fika-bench-")
	if err != nil {
		return nil, err
	}
	return &lab{fika: fika, dir: dir, n: n, warm: warm}, nil
}

func (l *lab) close() {
	for _, h := range l.up {
		h.down()
	}
	if l.server != nil {
		l.server.Close()
	}
	_ = os.RemoveAll(l.dir)
}

// rounds returns how often a measure runs, including the warm-up.
func (l *lab) rounds() int { return l.n + l.warm }

// home is one FIKA_HOME.
type home struct {
	lab  *lab
	root string
	work string // where commands run
	url  string // of its database; empty: a file
}

// home makes a home whose model is at url; more is added to its config.
func (l *lab) home(name, url, more string) (*home, error) {
	database := ""
	if l.server != nil {
		database = l.database(name, l.server.Dir)
	}
	return l.homeAt(name, url, more, database)
}

// homeAt is home with the URL of its database; empty: a file.
func (l *lab) homeAt(name, url, more, database string) (*home, error) {
	h := &home{lab: l, root: filepath.Join(l.dir, name), work: filepath.Join(l.dir, name+"-work"), url: database}
	for _, d := range []string{h.root, h.work} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf("model = \"bench\"\n%s\n[[models]]\nid = \"bench\"\nprovider = \"openai\"\nbase_url = %q\napi_key_env = \"BENCH_KEY\"\ncontext_window = 400000\n", more, url)
	if database != "" {
		config += fmt.Sprintf("[store]\nurl = %q\n", database)
	}
	return h, os.WriteFile(filepath.Join(h.root, "config.toml"), []byte(config), 0o600)
}

// store opens the home's database; the caller closes it.
func (h *home) store(ctx context.Context) (*store.Store, error) {
	if h.url != "" {
		return store.Open(ctx, store.Options{URL: h.url})
	}
	return store.Open(ctx, store.Options{Path: filepath.Join(h.root, "fika.db")})
}

// command prepares a run of fika in this home, without any other variable of fika in
// its environment.
func (h *home) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.lab.fika, args...)
	cmd.Dir = h.work
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FIKA_") && !strings.HasPrefix(kv, "GODEBUG=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "FIKA_HOME="+h.root, "BENCH_KEY=sk-bench", "NO_COLOR=1")
	return cmd
}

// run runs fika and returns its output and how long the whole process took.
func (h *home) run(ctx context.Context, args ...string) (string, time.Duration, error) {
	return timed(h.command(ctx, args...))
}

// forgetPeak makes what this process has had resident count no more: Linux counts the peak
// of its starter as that of a program.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakOf returns how much a program that has ended had resident at most, in bytes.
func peakOf(cmd *exec.Cmd) int64 {
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}

func timed(cmd *exec.Cmd) (string, time.Duration, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	started := time.Now()
	err := cmd.Run()
	took := time.Since(started)
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), took, err
}

// agents returns [[agents]] entries that start with the hub.
func agents(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "[[agents]]\nid = %q\nauto_start = true\npersistent = true\n", n)
	}
	return b.String()
}

// ready is the output of fika up --json.
type ready struct {
	PID    int `json:"pid"`
	Agents []struct {
		Name  string
		PID   int
		OK    bool
		Error string
	} `json:"agents"`
}

func (h *home) start(ctx context.Context) (ready, time.Duration, error) {
	var r ready
	out, took, err := h.run(ctx, "up", "--json")
	if err == nil {
		h.lab.up = append(h.lab.up, h)
		err = json.Unmarshal([]byte(out), &r)
	}
	for _, a := range r.Agents {
		if !a.OK && err == nil {
			err = fmt.Errorf("agent %s did not come up: %s", a.Name, a.Error)
		}
	}
	return r, took, err
}

func (h *home) down() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, _, _ = h.run(ctx, "down")
}
