package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOnDemand: what is wrong with a host that starts on demand is said with its place.
func TestOnDemand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	load := func(text string) (*Config, error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(path)
	}
	const shared = "[store]\nurl = \"postgres://h/d\"\n"
	c, err := load(shared + "[hosts.\"box.example.org\"]\nstart = \"a\"\nstop = \"b\"\nidle_for = \"1h\"\n[hosts.laptop]\nstart = \"c\"\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]OnDemand{
		"box.example.org": {Start: "a", Stop: "b", IdleFor: time.Hour, StartWithin: 5 * time.Minute},
		"laptop":          {Start: "c", IdleFor: 15 * time.Minute, StartWithin: 5 * time.Minute},
	} {
		if got := c.OnDemand[name]; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for text, want := range map[string]string{
		shared + "[hosts.box]\nstop = \"b\"\n":                     ":3:8: [hosts.box] has no start",
		shared + "[hosts.box]\nstart = \" \"\n":                    ":4:9: start: must be a command",
		shared + "[hosts.box]\nstart = \"a\"\nstop = \"\"\n":       ":5:8: stop: must be a command",
		shared + "[hosts.box]\nstart = \"a\"\nidle_for = \"1s\"\n": ":5:12: idle_for is out of range",
		shared + "[hosts.\"a b\"]\nstart = \"a\"\n":                ":3:8: \"a b\" is not the name of a host",
		shared + "[hosts]\nstart = \"a\"\n":                        ":4:",
		"[hosts.box]\nstart = \"a\"\n":                             ":1:8: [hosts.box] needs a database that hosts share",
	} {
		if _, err := load(text); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v does not say %q", text, err, want)
		}
	}
}
