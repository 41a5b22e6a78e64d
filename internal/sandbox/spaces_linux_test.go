package sandbox

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
)

// A process that joins the namespaces of another reaches what listens there, sees nothing
// of its processes and has no capability; nobody else reaches it.
func TestSpacesAreShared(t *testing.T) {
	s, ok := tiers(t)["namespaces"]
	if !ok {
		t.Skip("fika's own namespaces do not work here")
	}
	p := newPlace(t)
	share, err := NewHandover(0)
	must(t, err)
	defer share.Close()
	first := p.profile
	first.Share = share
	c, err := s.Command(first, "/usr/bin/env", "python3", "-c", `
import socket
s = socket.create_server(("127.0.0.1", 8123))
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b"HELLO\n")
    c.close()`)
	must(t, err)
	server := exec.CommandContext(t.Context(), c.Path, c.Args...)
	server.Dir, server.ExtraFiles, server.Env = p.project, c.Files, append(server.Environ(), c.Env...)
	out, err := server.StdoutPipe()
	must(t, err)
	must(t, server.Start())
	c.Close()
	spaces, err := share.Spaces()
	must(t, err)
	defer spaces.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	const ask = `exec 9<>/dev/tcp/127.0.0.1/8123 && cat <&9`
	joined := p.profile
	joined.Join = spaces
	for name, script := range map[string]string{
		"the same network":  ask + ` | grep HELLO`,
		"no capability":     `! grep '^Cap' /proc/self/status | grep -qv 0000000000000000`,
		"its own processes": `test $(ls -d /proc/[0-9]* | wc -l) -le 6`,
		"its own files":     `! test -e ~/.ssh/id && echo x > f`,
		"its own listener":  `python3 -c 'import socket; socket.create_server(("127.0.0.1", 8124))' && ! python3 -c 'import socket; socket.create_server(("127.0.0.1", 8123))' 2>/dev/null`,
	} {
		if out, err := s.sh(t, joined, script); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if out, err := s.sh(t, p.profile, ask); err == nil || strings.Contains(out, "HELLO") {
		t.Errorf("reached without joining: %s", out)
	}
	spaces.Close()
	if out, err := s.sh(t, joined, ask); err == nil || strings.Contains(out, "HELLO") {
		t.Errorf("reached after the end: %s", out)
	}
	must(t, server.Process.Kill())
	_ = server.Wait()
}

// A process that never starts hands over no namespaces.
func TestNoSpacesWithoutProcess(t *testing.T) {
	share, err := NewHandover(0)
	must(t, err)
	share.theirs.Close()
	if s, err := share.Spaces(); err == nil {
		s.Close()
		t.Error("namespaces of nobody")
	}
	share.Close()
}
