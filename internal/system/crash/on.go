//go:build chaos

package crash

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Point is a moment at which a process may die: after what was written before it,
// before whatever comes next.
func Point(name string) {
	if how, hit := pass(name); hit {
		end(how)
	}
}

// Committing is the point before the commit of a transaction.
func Committing(op string) { Point(op + ".before") }

// Committed is the point after a commit.
func Committed(op string) { Point(op + ".after") }

// Torn is a point in the middle of a write of data to w.
func Torn(name string, w io.Writer, data []byte) {
	if how, hit := pass(name); hit {
		_, _ = w.Write(data[:len(data)/2])
		end(how)
	}
}

// Without reports whether the harness leaves a guard out.
func Without(g Guard) bool {
	for _, name := range strings.Fields(read("without")) {
		if name == string(g) {
			return true
		}
	}
	return false
}

// Now returns the time, shifted as the harness says.
func Now() time.Time { return time.Now().Add(shift("clock") + Skew()) }

// Skew returns by how much the clock of this machine is wrong.
func Skew() time.Duration { return shift("skew") }

func shift(name string) time.Duration {
	ms, _ := strconv.ParseInt(strings.TrimSpace(read(name)), 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// Pages returns the maximum size of the database file in pages; 0 means no limit.
func Pages() int {
	n, _ := strconv.Atoi(strings.TrimSpace(read("pages")))
	return n
}

// Pace returns how often to check for work whose wake-up was lost: d, shortened as the
// harness says, because a harness makes thousands of runs and many begin with a lost
// wake-up.
func Pace(d time.Duration) time.Duration {
	if n, err := strconv.Atoi(strings.TrimSpace(read("pace"))); err == nil && n > 1 {
		return d / time.Duration(n)
	}
	return d
}

func read(name string) string {
	dir := os.Getenv("FIKA_CHAOS")
	if dir == "" {
		return ""
	}
	data, _ := os.ReadFile(filepath.Join(dir, name))
	return string(data)
}

// pass counts a pass of a point and reports whether it is the planned one.
func pass(name string) (how string, hit bool) {
	dir := os.Getenv("FIKA_CHAOS")
	if dir == "" {
		return "", false
	}
	name = strings.ReplaceAll(name, " ", "-")
	n := count(filepath.Join(dir, "passed-"+name))
	for line := range strings.Lines(read("plan")) {
		plan := strings.Fields(line)
		if len(plan) != 3 || plan[0] != name {
			continue
		}
		if want, err := strconv.ParseInt(plan[1], 10, 64); err == nil && n == want {
			return plan[2], true
		}
	}
	return "", false
}

// count adds a byte to a file and returns the byte's number. O_APPEND makes the kernel
// assign each position once, whichever process writes.
func count(path string) int64 {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0
	}
	defer f.Close()
	if _, err := f.Write([]byte{'.'}); err != nil {
		return 0
	}
	n, _ := f.Seek(0, io.SeekCurrent)
	return n
}

// end kills or halts this process with a signal that it cannot handle.
func end(how string) {
	sig := syscall.SIGKILL
	if how == "stop" {
		sig = syscall.SIGSTOP
	}
	_ = syscall.Kill(os.Getpid(), sig)
	time.Sleep(50 * time.Millisecond) // the signal goes to the process: another thread may handle it first
}
