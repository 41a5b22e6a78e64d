package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fika/internal/api"
)

// doorway is the door as a process of its own.
type doorway struct {
	*home
	program string

	mu  sync.Mutex
	url string
	end func()
}

// openDoor builds the door and starts it.
func (h *home) openDoor() *doorway {
	h.Helper()
	d := &doorway{home: h, program: filepath.Join(h.TempDir(), "serve")}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", d.program, "fika/test/door/serve").CombinedOutput(); err != nil {
		h.Fatalf("build: %v\n%s", err, out)
	}
	d.start()
	h.Cleanup(func() { d.end() })
	return d
}

func (d *doorway) start() {
	d.Helper()
	c := exec.Command(d.program)
	var errOut bytes.Buffer
	c.Env, c.Stderr = append(slices.Clone(d.env), "DOOR_TOKEN=sesame"), &errOut
	in, err := c.StdinPipe()
	d.ok(err)
	out, err := c.StdoutPipe()
	d.ok(err)
	d.ok(c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = c.Wait()
		d.Fatalf("the door does not open: %v\n%s", err, &errOut)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.url = strings.TrimSpace(line)
	d.end = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = in.Close()
		_ = c.Wait()
	})
}

func (d *doorway) at(path string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.url + path
}

// call does a request, and reads its answer into out if it has the status.
func (d *doorway) call(method, path, key string, body, out any, status int) {
	d.Helper()
	data, err := json.Marshal(body)
	d.ok(err)
	r, err := http.NewRequest(method, d.at(path), bytes.NewReader(data))
	d.ok(err)
	r.Header.Set("Authorization", "Bearer sesame")
	r.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(r)
	d.ok(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	d.ok(err)
	if res.StatusCode != status {
		d.Fatalf("%s %s: %s, not %d\n%s", method, path, res.Status, status, text)
	}
	if out != nil {
		d.ok(json.Unmarshal(text, out))
	}
}

func (d *doorway) state() (cursor api.Cursor, st api.State) {
	d.Helper()
	var out struct {
		Cursor api.Cursor
		State  api.State
	}
	d.call("GET", "/state", "", nil, &out, http.StatusOK)
	return out.Cursor, out.State
}

// viewer is a client that shows what happens, as a page would. It connects again whenever
// its stream ends, and says what it has got last.
type viewer struct {
	door   *doorway
	ctx    context.Context
	ended  chan struct{}
	scope  string
	mu     sync.Mutex
	last   string
	events []api.Event       // committed, as they came
	live   map[string]string // by request: the text of its newest attempt and round
	place  map[string][2]int64
	broken []string
	begun  int
}

func (d *doorway) view(scope string, since api.Cursor) *viewer {
	ctx, stop := context.WithCancel(context.Background())
	v := &viewer{door: d, ctx: ctx, ended: make(chan struct{}), scope: scope, last: string(since), live: map[string]string{}, place: map[string][2]int64{}}
	go func() {
		defer close(v.ended)
		for ctx.Err() == nil {
			_ = v.connect() // the door may be gone: again
		}
	}()
	d.Cleanup(func() { stop(); <-v.ended })
	d.until("a stream", func() bool { v.mu.Lock(); defer v.mu.Unlock(); return v.begun > 0 })
	return v
}

func (v *viewer) connect() error {
	r, err := http.NewRequestWithContext(v.ctx, "GET", v.door.at("/events?"+v.scope), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer sesame")
	v.mu.Lock()
	r.Header.Set("Last-Event-ID", v.last)
	v.mu.Unlock()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	id := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(text)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			v.take(text, id)
			id = ""
		}
	}
}

// take applies one event.
func (v *viewer) take(text, id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begun++
	var e api.Event
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Kind == "" || e.Kind == api.ResetEvent {
		v.broken = append(v.broken, text)
	}
	if id != "" {
		v.last = id
	}
	if e.N > 0 {
		v.events = append(v.events, e)
	}
	d := e.Delta
	if d == nil || d.Kind != api.TextDelta {
		return
	}
	at := [2]int64{d.Attempt, int64(d.Round)}
	if at != v.place[e.Request] || d.Restart {
		v.place[e.Request], v.live[e.Request] = at, ""
	}
	if len(v.live[e.Request]) < d.Offset {
		v.broken = append(v.broken, fmt.Sprintf("text at %d, after %d bytes", d.Offset, len(v.live[e.Request])))
		return
	}
	v.live[e.Request] = v.live[e.Request][:d.Offset] + d.Text // what was shown before comes again on another connection
}

// find returns the first event that is picked, when there is one.
func (v *viewer) find(what string, pick func(api.Event) bool) (e api.Event) {
	v.door.Helper()
	v.door.until(what, func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		i := slices.IndexFunc(v.events, pick)
		if i >= 0 {
			e = v.events[i]
		}
		return i >= 0
	})
	return e
}

// outcome waits for the end of a request.
func (v *viewer) outcome(request, state string) {
	v.door.Helper()
	v.find(request+" "+state, func(e api.Event) bool {
		return e.Kind == api.RequestEvent && e.Request == request && e.State == state
	})
}

// said waits for a message of an agent that holds a text.
func (v *viewer) said(by, text string) api.Event {
	v.door.Helper()
	return v.find("@"+by+": "+text, func(e api.Event) bool {
		return e.Entry != nil && e.Entry.Type == "message" && e.Entry.From == by && strings.Contains(e.Entry.Content, text)
	})
}

// shows waits for the live text of a request.
func (v *viewer) shows(request, text string) {
	v.door.Helper()
	v.door.until(fmt.Sprintf("the text %q of %s", text, request), func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.live[request] == text
	})
}

// calls pairs the tool calls of a request with their results, by call id.
func (v *viewer) calls(request string) map[string][2]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := map[string][2]string{}
	for _, e := range v.events {
		if e.Entry == nil || e.Request != request || e.Entry.CallID == "" {
			continue
		}
		pair := out[e.Entry.CallID]
		pair[map[string]int{"tool_call": 0, "tool_result": 1}[e.Entry.Type]] = e.Entry.Content
		out[e.Entry.CallID] = pair
	}
	return out
}
