package bustest

import (
	"testing"

	"go.uber.org/goleak"

	"fika/internal/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	Run(t, func(t *testing.T) Fixture {
		first := Memory()
		t.Cleanup(func() { must(t, first.Close()) })
		return Fixture{
			Dial: func(*testing.T) bus.Bus { return first.Peer() },
			Down: func(*testing.T) { first.Down() },
			Up:   func(*testing.T) { first.Up() },
		}
	})
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a.b.c", false}, {"a.b.c", "a.b", false},
		{"a.*", "a.b", true}, {"a.*", "a", false}, {"a.*", "a.b.c", false}, {"*.b", "a.b", true},
		{"a.>", "a.b.c", true}, {"a.>", "a", false}, {">", "a", true}, {"a", "b", false},
	} {
		if got := Match(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.subject, got)
		}
	}
}
