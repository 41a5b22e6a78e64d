package app

import (
	"strings"
	"testing"
	"time"

	"fika/internal/config"
)

// TestAdviceOnARefusedKey: what is said of a key that a provider refuses names where the
// key is, and how to replace it there (trial row U7).
func TestAdviceOnARefusedKey(t *testing.T) {
	m := config.Model{ID: "m", APIKeyEnv: "SOME_KEY"}
	for _, c := range []struct {
		env, byHub bool
		want       string
	}{
		{false, false, "the stored key SOME_KEY was refused for model \"m\"; replace it: fika key set SOME_KEY"},
		{true, false, "in the environment of this shell"},
		{true, true, "in the environment of the hub"},
	} {
		a := New(Options{Root: t.TempDir(), Now: time.Now, Getenv: func(name string) string {
			if c.env && name == "SOME_KEY" {
				return "wrong"
			}
			return ""
		}})
		if c.byHub {
			a.StartedByHub()
		}
		if got := a.adviceOn(m); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
