package machines

import (
	"strings"
	"testing"
)

// TestBackAtOnce: a host that is killed and started again at once waits until what it was
// before counts as down, says so, and goes on by itself: nobody is told of a copy.
func TestBackAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it waits for a host to count as down")
	}
	l := newLab(t, 2, "")
	h1, h2 := l.hosts[0], l.hosts[1]
	h1.must("up")
	h2.must("up")
	h1.kill()
	h1.boot()
	if out := h1.must("up"); !strings.Contains(out, "waiting for the host h1, for at most ") || !strings.Contains(out, "a1 started") {
		t.Errorf("up says %q", out)
	}
	if s := h2.shows("h1"); !s.Up || s.Refused != "" {
		t.Errorf("h1 is %+v", s)
	}
	if got := h2.must("ask", "a1", "hello"); got != "hello from h1" {
		t.Errorf("a1 says %q", got)
	}
}
