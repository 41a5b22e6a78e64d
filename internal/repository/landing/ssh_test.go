package landing_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fika"
)

// sshServer runs an sshd of the test's own, which lets in who has the key, and returns the
// address of a folder there. It skips the test where no sshd is installed.
func (s *shore) sshServer(folder string) string {
	s.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(sshd); err != nil {
		s.Skip("there is no sshd on this machine")
	}
	for _, key := range []string{"host", "key"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.dir, key)).CombinedOutput(); err != nil {
			s.Fatalf("%v: %s", err, out)
		}
	}
	conf := filepath.Join(s.dir, "sshd.conf")
	s.must(os.WriteFile(conf, fmt.Appendf(nil, "HostKey %s/host\nAuthorizedKeysFile %s/authorized\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n", s.dir, s.dir), 0o600))
	if out, err := exec.Command(sshd, "-t", "-f", conf).CombinedOutput(); err != nil {
		s.Skipf("sshd does not run here: %s", out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f, err := c.(*net.TCPConn).File()
			_ = c.Close()
			if err != nil {
				return
			}
			one := exec.Command(sshd, "-i", "-e", "-f", conf)
			one.Stdin, one.Stdout = f, f
			served.Go(func() { _ = one.Run(); _ = f.Close() })
		}
	})
	s.Cleanup(func() { _ = l.Close(); served.Wait() })
	return "ssh://" + l.Addr().String() + folder
}

// The person's own ssh pushes, to a real server. It asks nothing: a server that it does not
// know and a key that the server does not take are told. The command after it is a program
// that is found where the person's are, as gh is.
func TestPushingOverSSH(t *testing.T) {
	s := newShore(t)
	s.git("remote", "set-url", "origin", s.sshServer(s.bare))
	known := filepath.Join(s.dir, "known")
	s.git("config", "core.sshCommand", fmt.Sprintf("ssh -F none -i %s/key -o IdentitiesOnly=yes -o UserKnownHostsFile=%s", s.dir, known))
	bin := filepath.Join(s.dir, "bin")
	s.must(os.MkdirAll(bin, 0o755))
	s.must(os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\necho gh \"$@\" >>\""+s.dir+"/gh.log\"\n[ \"$2\" = create ] && mkdir \""+s.dir+"/pull\" && echo https://example.org/pull/1\n"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s.after = "gh pr create --fill --head $FIKA_LANDED_BRANCH --base $FIKA_LANDED_INTO || gh pr view $FIKA_LANDED_BRANCH"
	s.offer("one", "a", "1\n")
	s.run()
	fails := func(why string) {
		t.Helper()
		s.push()
		o := s.shown(1)
		if o.Push.State != fika.PushWaiting || !strings.Contains(o.Push.Reason, why) {
			t.Fatalf("%+v", o.Push)
		}
		s.now = o.Push.Next
	}
	fails("Host key verification failed")
	host, err := os.ReadFile(filepath.Join(s.dir, "host.pub"))
	s.must(err)
	at := strings.TrimPrefix(s.git("remote", "get-url", "origin"), "ssh://")
	name, port, _ := strings.Cut(strings.TrimSuffix(at, s.bare), ":")
	s.must(os.WriteFile(known, fmt.Appendf(nil, "[%s]:%s %s", name, port, host), 0o600))
	fails("Permission denied")
	key, err := os.ReadFile(filepath.Join(s.dir, "key.pub"))
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.dir, "authorized"), key, 0o600))
	s.push()
	if p := s.shown(1).Push; p.State == fika.PushWaiting || s.far("fika/landing/main") != s.git("rev-parse", "fika/landing/main") {
		t.Fatalf("%+v", p)
	}
	s.saysYes(1)
	s.push()
	s.offer("two", "b", "2\n")
	s.run()
	s.push()
	called, err := os.ReadFile(filepath.Join(s.dir, "gh.log"))
	s.must(err)
	const created = "gh pr create --fill --head fika/landing/main --base main\n"
	if want := created + created + "gh pr view fika/landing/main\n"; string(called) != want {
		t.Errorf("gh was called: %q", called)
	}
	if p := s.shown(1).Push; p.Output != "https://example.org/pull/1\n" {
		t.Errorf("%+v", p)
	}
}
