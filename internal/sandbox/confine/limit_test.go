package confine

import (
	"os"
	"strings"
	"testing"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/sandbox"
	"fika/internal/system/cgroup"
)

// withoutGroups is a probe of a machine without control groups.
func withoutGroups() *Probe {
	p := &Probe{}
	p.groups.once.Do(func() { p.groups.err = fika.Errorf(fika.NotFound, "", "there are none") })
	return p
}

// Where limits cannot be kept a call runs without them, or is refused when they are
// required; both say why.
func TestLimitsThatCannotBeKept(t *testing.T) {
	l := Limits{Limits: cgroup.Limits{PIDs: 20}, Agent: "a", Home: t.TempDir()}
	p := withoutGroups()
	begin := func(l Limits) error {
		a := New(Options{Probe: p, Mode: sandbox.Off, Paths: guard.Paths{}, Limits: l})
		c, err := a.Tools(t.TempDir()).Confine("/bin/true", nil)
		if err == nil && c.Group != nil {
			t.Error("it has a group")
		}
		_, failed := a.Server(t.TempDir(), false).Confine("/bin/true", nil)
		if (err == nil) != (failed == nil) {
			t.Errorf("a command: %v; a server: %v", err, failed)
		}
		return err
	}
	if err := begin(l); err != nil {
		t.Error(err)
	}
	l.Required = true
	if err := begin(l); !fika.IsKind(err, fika.Denied) || !strings.Contains(err.Error(), "there are none") {
		t.Errorf("got %v", err)
	}
	if why := p.NoLimits(l); why != "there are none" {
		t.Errorf("got %q", why)
	}
	if why := p.NoLimits(Limits{}); why != "" {
		t.Errorf("nothing is limited, and yet: %q", why)
	}
}

// A call begins in a group of its own, which is gone after it.
func TestLimitsAreKept(t *testing.T) {
	p := &Probe{}
	l := Limits{Limits: cgroup.Limits{PIDs: 20}, Agent: "a", Home: t.TempDir()}
	if why := p.NoLimits(l); why != "" {
		t.Skip("no limits here: " + why)
	}
	a := New(Options{Probe: p, Mode: sandbox.Off, Limits: l})
	c, err := a.Tools(t.TempDir()).Confine("/bin/true", nil)
	if err != nil || c.Group == nil {
		t.Fatal(c, err)
	}
	dir := c.Group.Name()
	c.Ended()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}
