package cli_test

import (
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika/internal/cli"
	"fika/internal/system/term"
)

// TestD7WalkHungHub calls every command that looks while the hub is stopped:
// each comes to its end, with the status it has when all is well, or says that
// the hub does not answer.
func TestD7WalkHungHub(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("a process that is stopped is told by /proc")
	}
	h := newHome(t, "model = \"script\"\n[[models]]\nid = \"script\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"coder\"\nauto_start = true\npersistent = true\n")
	h.write("rules.toml", "fallback = \"<{{.Last}}>\"\n")
	h.run(0, "run", "hello")
	h.run(0, "up")
	t.Cleanup(func() { h.run(0, "down", "--now") })
	h.run(0, "chat", "create", "design")
	h.run(0, "chat", "send", "design", "hello")
	walk := walkedHome{dir: h.dir}
	out, _ := h.run(0, "status", "--json")
	_, after, _ := strings.Cut(out, `"pid": `)
	digits, _, _ := strings.Cut(after, ",")
	hub, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("pid of the hub: %v", err)
	}
	out, _ = h.run(0, "request", "list", "--json")
	_, after, _ = strings.Cut(out, `"id":"`)
	walk.request, _, _ = strings.Cut(after, `"`)
	args, left := walked()
	call := func(path string) (int, string) {
		type end struct {
			status int
			said   string
		}
		ended := make(chan end, 1)
		go func() {
			status, said := walk.call("", io.Discard, path, args[path])
			ended <- end{status, said}
		}()
		select {
		case e := <-ended:
			return e.status, e.said
		case <-time.After(patience):
			t.Fatalf("%s hangs", path)
			panic("unreachable")
		}
	}
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(cli.Declared())) {
		if cli.Declared()[path] == "looks" && left[path] == "" {
			paths = append(paths, path)
		}
	}
	well := map[string]int{}
	for _, path := range paths {
		well[path], _ = call(path)
	}
	if err := syscall.Kill(hub, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(hub, syscall.SIGCONT) })
	for _, path := range paths {
		status, said := call(path)
		told := path == "fika status" || path == "fika agent health" || path == "fika doctor"
		switch {
		case strings.Contains(said, "panic"):
			t.Errorf("%s: %s", path, said)
		case told && status != 1:
			t.Errorf("%s with a hung hub: status %d: %s", path, status, said)
		case !told && status != well[path]:
			t.Errorf("%s with a hung hub: status %d, and %d with one that is well: %s", path, status, well[path], said)
		}
	}
	var shown term.Buffer
	if _, said := walk.call("", &shown, "fika status", ""); !strings.Contains(shown.String()+said, "the hub does not answer") {
		t.Errorf("status: %s%s", shown.String(), said)
	}
}
