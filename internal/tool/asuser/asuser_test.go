package asuser_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fika"
	"fika/internal/chat/attachment"
	"fika/internal/rights/guard"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/asuser"
	"fika/internal/tool/file"
	"fika/internal/tool/tooltest"
)

// TestMain makes this program the process of a call, too.
func TestMain(m *testing.M) {
	if asuser.Serves(os.Args[1:]) {
		os.Exit(asuser.Serve(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// nobody is another user where this process may act as one, else itself.
func nobody(t *testing.T) *process.User {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := process.FindUser("nobody")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// workspace is a folder that everybody can enter and write.
func workspace(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fika-asuser-")
	ok(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	ok(t, os.Chmod(dir, 0o777))
	return dir
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, u *process.User, o file.Options, name string) tool.Tool {
	t.Helper()
	for _, x := range (asuser.Host{User: u}).Tools(o) {
		if x.Spec().Name == name {
			return x
		}
	}
	t.Fatal("there is no " + name)
	return nil
}

func args(kv ...string) json.RawMessage {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
		if kv[i+1] == "true" {
			m[kv[i]] = true
		}
	}
	text, _ := json.Marshal(m)
	return text
}

// TestSuite: in a process of their own the tools are what tools have to be.
func TestSuite(t *testing.T) {
	dir := workspace(t)
	ok(t, os.WriteFile(filepath.Join(dir, "a"), []byte("one\n"), 0o666))
	ok(t, os.Chmod(filepath.Join(dir, "a"), 0o666))
	for name, good := range map[string]string{
		"read": `{"path":"a"}`, "list": `{"path":"."}`, "create": `{"path":"new","content":"x","overwrite":true}`, "edit": `{"path":"a","old":"one","new":"1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			tooltest.Run(t, tooltest.Case{Tool: find(t, nobody(t), file.Options{}, name), Good: []string{good}, Bad: []string{`{"path":"../x"}`}, Workspace: dir})
		})
	}
}

// TestKeepsBefore: before a change, this process is given what is replaced, of any size, and
// its refusal is the result; nothing is changed then.
func TestKeepsBefore(t *testing.T) {
	dir := workspace(t)
	large := bytes.Repeat([]byte("0123456789abcde\n"), 50_000)
	for _, c := range []struct {
		name, existing string
		refuse         error
	}{
		{"new", "", nil}, {"small", "before", nil}, {"large", string(large), nil}, {"refused", "before", fika.Errorf(fika.Storage, "undo", "no room for it")},
	} {
		path := filepath.Join(dir, c.name)
		if c.existing != "" {
			ok(t, os.WriteFile(path, []byte(c.existing), 0o600))
			ok(t, os.Chmod(path, 0o666))
		}
		asked := 0
		keep := func(call tool.Call, x file.Change) error {
			asked++
			was := ""
			if x.Old != nil {
				all, err := io.ReadAll(x.Old)
				if err != nil || int64(len(all)) != x.Size {
					t.Errorf("%s: %d bytes of %d: %v", c.name, len(all), x.Size, err)
				}
				was = string(all)
			}
			if was != c.existing || string(x.New) != "after" || x.Path != c.name || call.Step != "r/1" {
				t.Errorf("%s: asked about %q, %d bytes before, %q after, step %s", c.name, x.Path, len(was), x.New, call.Step)
			}
			return c.refuse
		}
		r, err := find(t, nobody(t), file.Options{Keep: keep}, "create").Call(t.Context(), tool.Call{Step: "r/1", Workspace: dir, Args: args("path", c.name, "content", "after", "overwrite", "true")})
		now, _ := os.ReadFile(path)
		want := "after"
		if c.refuse != nil {
			want = c.existing
		}
		if err != nil || r.IsError != (c.refuse != nil) || asked != 1 || string(now) != want {
			t.Errorf("%s: %+v, %v, asked %d times; now %.20q", c.name, r, err, asked, now)
		}
		if c.refuse != nil && !strings.Contains(r.Text, "no room for it") {
			t.Errorf("it says %q", r.Text)
		}
	}
}

// TestPictures: this process keeps pictures, which the other user could not.
func TestPictures(t *testing.T) {
	dir, kept := workspace(t), attachment.StoreIn(t.TempDir())
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
	ok(t, os.WriteFile(filepath.Join(dir, "p.png"), []byte(png), 0o644))
	r, err := find(t, nobody(t), file.Options{Pictures: kept}, "read").Call(t.Context(), tool.Call{Workspace: dir, Args: args("path", "p.png")})
	if err != nil || r.IsError || len(r.Attachments) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if data, err := kept.Read(r.Attachments[0]); err != nil || string(data) != png {
		t.Errorf("%d bytes are kept, %v", len(data), err)
	}
}

// TestReach: what is out of reach stays so, although the other user cannot look into it.
func TestReach(t *testing.T) {
	home, dir := t.TempDir(), workspace(t)
	ok(t, os.WriteFile(filepath.Join(home, "key"), []byte("secret\n"), 0o644))
	ok(t, os.Link(filepath.Join(home, "key"), filepath.Join(dir, "link")))
	ok(t, os.WriteFile(filepath.Join(dir, "shared"), []byte("x\n"), 0o644))
	ok(t, os.WriteFile(filepath.Join(dir, "yours"), []byte("x\n"), 0o600))
	ok(t, os.Mkdir(filepath.Join(dir, ".git"), 0o777))
	paths := guard.Paths{Homes: []string{home}}
	obeyed := func(w string) []string { return []string{filepath.Join(w, "named")} }
	for _, c := range []struct {
		tool, path, want string
		other            bool // only another user is refused
	}{
		{"read", "link", "out of reach", false}, {"read", "yours", "permission denied", true}, {"create", ".git/config", "git's own", false},
		{"create", "named", "read or run by git", false}, {"create", "yours", "permission denied", true}, {"create", "shared", "permission denied", true},
	} {
		if c.other && nobody(t) == nil {
			continue
		}
		call := tool.Call{Workspace: dir, Args: args("path", c.path)}
		if c.tool == "create" {
			call.Args = args("path", c.path, "content", "x", "overwrite", "true")
		}
		r, err := find(t, nobody(t), file.Options{Paths: paths, Obeyed: obeyed}, c.tool).Call(t.Context(), call)
		if err != nil || !r.IsError || !strings.Contains(r.Text, c.want) || strings.Contains(r.Text, "secret") {
			t.Errorf("%s %s: %+v, %v", c.tool, c.path, r, err)
		}
	}
}

// TestProcessEnds: of a call whose process was killed nobody knows what it did, and a call
// whose program cannot be started is refused.
func TestProcessEnds(t *testing.T) {
	dir := workspace(t)
	pids := make(chan int, 1)
	keep := func(tool.Call, file.Change) error {
		if err := syscall.Kill(<-pids, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		return nil
	}
	call := tool.Call{Workspace: dir, Args: args("path", "f", "content", "x"), Started: func(p fika.Process) { pids <- p.PID }}
	r, err := find(t, nobody(t), file.Options{Keep: keep}, "create").Call(t.Context(), call)
	if err != nil || !r.IsError || !r.Unknown {
		t.Errorf("%+v, %v", r, err)
	}
	if os.Geteuid() != 0 {
		return
	}
	nowhere := &process.User{Name: "x", UID: 1 << 31, GID: 1 << 31, Groups: make([]uint32, 1<<17)} // more groups than there may be
	r, err = find(t, nowhere, file.Options{}, "create").Call(t.Context(), tool.Call{Workspace: dir, Args: args("path", "g", "content", "x")})
	if err != nil || !r.Denied || !strings.Contains(r.Text, "as the user x") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "g")); !errors.Is(err, os.ErrNotExist) {
		t.Error("it was done all the same")
	}
}

// TestGarbage: what is not a request ends the process of a call.
func TestGarbage(t *testing.T) {
	for _, text := range []string{"", "x", "\x03\x04\x00\x00", strings.Repeat("\xff", 1000), fmt.Sprint(args("path", "x"))} {
		if status := asuser.Serve(strings.NewReader(text), io.Discard); status == 0 {
			t.Errorf("%q is taken for a request", text)
		}
	}
}
