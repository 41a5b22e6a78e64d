//go:build !chaos

package process

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestD8Private: the environment of a private process is closed to others of
// its account, its identity is not, and what it starts is open again.
func TestD8Private(t *testing.T) {
	if err := MakePrivate(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }()
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 {
		t.Fatalf("dumpable is %d, %v", n, err)
	}
	if self := IdentifySelf(); !Alive(self) {
		t.Errorf("%+v is not alive", self)
	}
	if os.Geteuid() != 0 {
		t.Skip("another process of the account is needed, which root can make")
	}
	probe := "cat /proc/$PPID/environ >/dev/null 2>&1 && echo open; cat /proc/$PPID/stat >/dev/null && echo known; cat /proc/self/environ >/dev/null && echo own"
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("no setpriv to give rights up with")
	}
	cmd := exec.Command(setpriv, "--bounding-set=-all", "--inh-caps=-all", "sh", "-c", probe)
	out, err := cmd.CombinedOutput()
	if got := strings.Fields(string(out)); err != nil || strings.Join(got, " ") != "known own" {
		t.Errorf("%q, %v", out, err)
	}
}
