package folder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/system/process"
)

func TestLockTellsWhoHoldsIt(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	_, err := TryLock(context.Background(), f, LockOptions{Kind: LockRun})
	var held *HeldError
	if !fika.IsKind(err, fika.Locked) || !errors.As(err, &held) {
		t.Fatalf("got %v", err)
	}
	if held.Info.PID != os.Getpid() || held.Info.Kind != LockRun || held.Stale || held.Info.Start == 0 {
		t.Fatalf("%+v", held)
	}
	if err := l.SetEpoch(7); err != nil {
		t.Fatal(err)
	}
	if st, err := f.Inspect(); err != nil || st.Status != LockActive || !st.Held || st.Info.Epoch != 7 {
		t.Fatalf("%+v %v", st, err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if st, err := f.Inspect(); err != nil || st.Status != LockFree {
		t.Fatalf("%+v %v", st, err)
	}
	if _, err := os.Stat(f.lockPath()); err != nil {
		t.Fatal("the lock file must stay:", err)
	}
}

func TestLockWaits(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error, 1)
	go func() {
		next, err := WaitLock(ctx, f, LockOptions{})
		if err == nil {
			err = next.Close()
		}
		got <- err
	}()
	_ = l.Close()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	l = testLock(t, f)
	cancel()
	if _, err := WaitLock(ctx, f, LockOptions{}); !fika.IsKind(err, fika.Locked, fika.Interrupted) {
		t.Fatalf("got %v", err)
	}
	_ = l.Close()
}

func TestLockIsTouchedAndBeats(t *testing.T) {
	f := testFolder(t)
	beats := make(chan struct{})
	var n atomic.Int32
	l, err := TryLock(context.Background(), f, LockOptions{Heartbeat: time.Millisecond, Beat: func(context.Context) {
		if n.Add(1) <= 3 {
			beats <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1000, 0)
	if err := os.Chtimes(f.lockPath(), old, old); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-beats
	}
	if st, err := os.Stat(f.lockPath()); err != nil || time.Since(st.ModTime()) > time.Hour {
		t.Fatal("not touched", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	after := n.Load()
	if got := n.Load(); got != after {
		t.Fatal("a beat after Close")
	}
}

func TestLockNoticesThatItsFileIsGone(t *testing.T) {
	f := testFolder(t)
	l, err := TryLock(context.Background(), f, LockOptions{Heartbeat: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Remove(f.lockPath()); err != nil {
		t.Fatal(err)
	}
	<-l.Lost()
	if err := l.Check(); !fika.IsKind(err, fika.Lost) {
		t.Fatalf("got %v", err)
	}
}

func TestStaleLockIsCleanedByWhoAcquires(t *testing.T) {
	self := process.IdentifySelf()
	host, _ := os.Hostname()
	for name, content := range map[string]any{
		"dead pid":    LockInfo{PID: 1 << 30, Host: host, BootID: self.BootID, Start: 1},
		"reused pid":  LockInfo{PID: os.Getpid(), Host: host, BootID: self.BootID, Start: self.Start + 1},
		"other boot":  LockInfo{PID: os.Getpid(), Host: host, BootID: "another", Start: self.Start},
		"other host":  LockInfo{PID: 5, Host: "elsewhere"},
		"garbage":     "\x00\xffnonsense",
		"huge":        string(bytes.Repeat([]byte("x"), 1<<20)),
		"chibi's own": "1768900000",
	} {
		t.Run(name, func(t *testing.T) {
			f := testFolder(t)
			data, ok := content.(string)
			if !ok {
				raw, _ := json.Marshal(content)
				data = string(raw)
			}
			write(t, f.lockPath(), data)
			for range 2 { // looking changes nothing
				if st, err := f.Inspect(); err != nil || st.Status != LockStale || st.Held {
					t.Fatalf("%+v %v", st, err)
				}
			}
			if read(t, f.lockPath()) != data {
				t.Fatal("inspecting cleaned it")
			}
			l := testLock(t, f)
			if st, _ := f.Inspect(); st.Status != LockActive || st.Info.PID != os.Getpid() {
				t.Fatalf("%+v", st)
			}
			_ = l.Close()
		})
	}
}

func TestLockRace(t *testing.T) {
	processes := 200
	if testing.Short() {
		processes = 40
	}
	self := process.IdentifySelf()
	host, _ := os.Hostname()
	stale, _ := json.Marshal(LockInfo{PID: os.Getpid(), Host: host, BootID: self.BootID, Start: self.Start + 1})
	f := testFolder(t)
	write(t, f.lockPath(), string(stale))
	type child struct {
		cmd *exec.Cmd
		in  interface{ Close() error }
	}
	var children []child
	for range processes {
		cmd := helper("race", f, "FOLDER_TEST_DIE=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		children = append(children, child{cmd, in})
	}
	for _, c := range children { // all wait at their stdin: go
		_ = c.in.Close()
	}
	owners, killed := 0, 0
	for _, c := range children {
		_ = c.cmd.Wait()
		ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case ws.Signaled():
			killed++
		case ws.ExitStatus() == 0:
			owners++
		case ws.ExitStatus() != 3:
			t.Errorf("exit %d", ws.ExitStatus())
		}
	}
	t.Logf("%d owned one after the other, %d were killed while owning", owners, killed)
	if owners+killed == 0 {
		t.Fatal("nobody got the lock")
	}
	testLock(t, f)
}

func startHolder(t *testing.T, role string, f Folder) *exec.Cmd {
	t.Helper()
	cmd := helper(role, f)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestUnlockEndsSilentHolder(t *testing.T) {
	for _, role := range []string{"hold", "deaf"} {
		t.Run(role, func(t *testing.T) {
			f := testFolder(t)
			cmd := startHolder(t, role, f)
			o := UnlockOptions{Grace: 200 * time.Millisecond}
			if _, err := f.Unlock(context.Background(), o); !fika.IsKind(err, fika.Locked) {
				t.Fatalf("a holder that is alive was ended: %v", err)
			}
			old := time.Now().Add(-46 * time.Second)
			if err := os.Chtimes(f.lockPath(), old, old); err != nil {
				t.Fatal(err)
			}
			if st, _ := f.Inspect(); st.Status != LockStale || !st.Held {
				t.Fatalf("%+v", st)
			}
			ended, err := f.Unlock(context.Background(), o)
			if err != nil || !ended {
				t.Fatal(ended, err)
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("it was not signalled")
			}
			testLock(t, f)
		})
	}
}

func TestUnlockRefusesAnotherProcess(t *testing.T) {
	f := testFolder(t)
	cmd := startHolder(t, "hold", f)
	st, _ := f.Inspect()
	bystander := startHolder(t, "hold", testFolder(t))
	for name, change := range map[string]func(*LockInfo){
		"reused pid": func(i *LockInfo) { i.Start++ },
		"other boot": func(i *LockInfo) { i.BootID = "another" },
		"other host": func(i *LockInfo) { i.Host = "elsewhere" },
		"bystander":  func(i *LockInfo) { i.PID = bystander.Process.Pid; i.Start = 1 },
		"no start":   func(i *LockInfo) { i.Start = 0 },
		"pid 1":      func(i *LockInfo) { i.PID = 1 },
		"pid -1":     func(i *LockInfo) { i.PID = -1 },
	} {
		info := st.Info
		change(&info)
		data, _ := json.Marshal(info)
		write(t, f.lockPath(), string(data))
		old := time.Now().Add(-time.Hour)
		_ = os.Chtimes(f.lockPath(), old, old)
		if ended, err := f.Unlock(context.Background(), UnlockOptions{Force: true, Grace: time.Millisecond}); ended || !fika.IsKind(err, fika.Denied) {
			t.Errorf("%s: %v %v", name, ended, err)
		}
	}
	for _, c := range []*exec.Cmd{cmd, bystander} {
		if c.Process.Signal(syscall.Signal(0)) != nil {
			t.Fatal("a process was ended")
		}
	}
}

func TestRenameAndRemoveTakeTheLockAlong(t *testing.T) {
	f := testFolder(t)
	if _, err := f.Home.Switch("coder"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Home.Create("taken"); err != nil {
		t.Fatal(err)
	}
	l := testLock(t, f)
	if err := l.Rename("taken"); !fika.IsKind(err, fika.Conflict) {
		t.Fatalf("got %v", err)
	}
	if err := l.Rename("writer"); err != nil {
		t.Fatal(err)
	}
	if err := l.Check(); err != nil || l.Folder().Name != "writer" {
		t.Fatal(err)
	}
	if _, err := TryLock(context.Background(), f.Home.Folder("writer"), LockOptions{}); !fika.IsKind(err, fika.Locked) {
		t.Fatalf("got %v", err)
	}
	if s, err := f.Home.State(); err != nil || s.Current != "writer" {
		t.Fatal(s, err)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(f.Home, "writer"); !fika.IsKind(err, fika.NotFound) {
		t.Fatalf("got %v", err)
	}
	if s, err := f.Home.State(); err != nil || s.Current != DefaultContext {
		t.Fatal(s, err)
	}
	if left, _ := os.ReadDir(f.Home.ContextsDir()); len(left) != 1 {
		t.Fatal(left)
	}
}

// TestLockTidies: what a process was killed in the middle of writing goes when
// the context is used again, an hour later; a person's own hidden file stays.
func TestLockTidies(t *testing.T) {
	f := testFolder(t)
	long := time.Now().Add(-2 * abandoned)
	for name, stays := range map[string]bool{".system_prompt.md607864": false, ".goals.md1": false, ".notes": true, ".draft.md": true} {
		path := f.path(name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, long, long)); err != nil {
			t.Fatal(err)
		}
		if err := testLock(t, f).Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}
