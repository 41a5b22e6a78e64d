package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
)

// TestD3BusMembers: what is not said is the least, and what is wrong is told with its
// place.
func TestD3BusMembers(t *testing.T) {
	c, err := Parse("c.toml", []byte("[[bus_members]]\nname = \"build\"\n[[bus_members]]\nname = \"whole\"\ntools = [\"*\"]\n[[bus_members]]\nname = \"some\"\ntools = [\"bash\"]\nnetwork = \"on\"\nagents = [\"coder\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if m := c.BusMember("Build"); m == nil || strings.Join(m.Tools, " ") != "read list" || m.Network != "off" {
		t.Errorf("one of which nothing is said: %+v", m)
	}
	some := c.BusMember("some")
	if some.Network != "on" || strings.Join(some.Tools, " ") != "bash" {
		t.Errorf("one of which all is said: %+v", some)
	}
	if some.MayAsk("tester") || !some.MayAsk("coder") || !c.BusMember("whole").MayAsk("tester") || c.BusMember("nobody") != nil {
		t.Error("whom they may ask is wrong")
	}
	for text, want := range map[string]string{
		"tools = [\"read\"]\n":             "c.toml:1:3: this member has no name",
		"name = \"a_b\"\n":                 "no underscore",
		"name = \"a b\"\n":                 "c.toml:2:8: name",
		"name = \"a\"\nagent = [\"x\"]\n":  "unknown key \"agent\" in bus_members",
		"name = \"a\"\nagents = [\">\"]\n": "agents",
		"name = \"a\"\nnetwork = \"yes\"\n[[bus_members]]\nname = \"a\"\n": "is defined twice",
		"name = \"coder\"\n[[agents]]\nid = \"coder\"\n":                   "is the id of an agent",
		"name = \"ann\"\n[[agents]]\nid = \"coder\"\n":                     "is your own username",
	} {
		top := ""
		if strings.Contains(text, "ann") {
			top = "username = \"Ann\"\n"
		}
		if _, err := Parse("c.toml", []byte(top+"[[bus_members]]\n"+text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, without %q", text, err, want)
		}
	}
}

// TestD3BusMembersAreWritten: a member is added and taken out, and the rest of the file
// stays as it is.
func TestD3BusMembersAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	const before = "# mine\nmodel = \"s\"\n\n[[bus_members]] # by hand\nname = \"first\"\ntools = [\"*\"]\n\n[[agents]]\nid = \"coder\"\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := AddBusMember(path, BusMember{Name: "build", Network: "on", Agents: []string{"coder"}}); err != nil {
		t.Fatal(err)
	}
	if err := AddBusMember(path, BusMember{Name: "no name", Network: "off"}); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a name that cannot be: %v", err)
	}
	text, _ := os.ReadFile(path)
	if want := before + "\n[[bus_members]]\nname = \"build\"\nnetwork = \"on\"\nagents = [\"coder\"]\n"; string(text) != want {
		t.Errorf("the file is\n%s", text)
	}
	for _, name := range []string{"build", "first"} {
		if err := RemoveBusMember(path, name); err != nil {
			t.Error(err)
		}
	}
	text, _ = os.ReadFile(path)
	if s := string(text); strings.Contains(s, "bus_members") || !strings.HasPrefix(s, "# mine\nmodel = \"s\"\n") || !strings.Contains(s, "[[agents]]\nid = \"coder\"\n") {
		t.Errorf("the file is\n%s", s)
	}
	if err := RemoveBusMember(path, "first"); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}
