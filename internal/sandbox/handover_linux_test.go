package sandbox

import (
	"io"
	"net"
	"strings"
	"testing"
)

// A process without a network is answered by whoever took its listener, at its own
// loopback, and by nobody else.
func TestHandover(t *testing.T) {
	script := `exec 9<>/dev/tcp/127.0.0.1/61080 && cat <&9; ls -l /proc/self/fd | grep -c socket; ss -xl 2>/dev/null | grep -c handover`
	for name, s := range tiers(t) {
		if s.Tier() != Full {
			continue
		}
		p := newPlace(t)
		h, err := NewHandover(ProxyPort)
		must(t, err)
		p.profile.Proxy = h
		answered := make(chan error, 1)
		go func() {
			l, err := h.Listener()
			if err != nil {
				answered <- err
				return
			}
			defer l.Close()
			c, err := l.Accept()
			if err == nil {
				_, err = io.WriteString(c, "HELLO\n")
				c.Close()
			}
			answered <- err
		}()
		out, err := s.sh(t, p.profile, script)
		if failed := <-answered; failed != nil || !strings.HasPrefix(out, "HELLO\n1\n") { // 1: the one to the proxy
			t.Errorf("%s: %q, %v, %v", name, out, err, failed)
		}
		h.Close()
		if c, err := net.Dial("tcp", "127.0.0.1:61080"); err == nil {
			c.Close()
			t.Errorf("%s: it listens on the machine", name)
		}
		// A process that is never started hands nothing over.
		h, err = NewHandover(ProxyPort)
		must(t, err)
		p.profile.Proxy = h
		c, err := s.Command(p.profile, "/nonexistent")
		must(t, err)
		c.Close()
		if l, err := h.Listener(); err == nil {
			l.Close()
			t.Errorf("%s: a listener of nobody", name)
		}
		h.Close()
	}
}
