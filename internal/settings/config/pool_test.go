package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/settings/config"
)

// TestPools holds that members have all that their pool's entry says, under names of
// their own, and that what cannot be is told once, with its place.
func TestPools(t *testing.T) {
	c, err := config.Parse("config.toml", []byte("[[agents]]\nid = \"coder\"\ninstances = 3\ndescription = \"writes\"\ncapabilities = [\"go\"]\nbackup = [\"other\"]\n[[agents]]\nid = \"other\"\nbackup = [\"coder\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%d %d %v %s %s %v", len(c.Agents), len(c.Entries()), c.Agent("coder").Members(), c.Agent("coder-3").Pool, c.Agent("coder-3").Description, c.Agent("coder-3").Members()); got != "5 2 [coder-1 coder-2 coder-3] coder writes []" {
		t.Errorf("members: %s", got)
	}
	if at, ok := c.WhereAgent("coder-2"); !ok || at.Line != 2 {
		t.Errorf("a member is at %v", at)
	}
	agent := func(id, more string) string { return "[[agents]]\nid = \"" + id + "\"\n" + more + "\n" }
	for text, want := range map[string]string{
		agent("a", "instances = 0"):                                                     "instances",
		agent("a", "instances = 33"):                                                    "instances",
		agent("a", "instances = \"4\""):                                                 "instances must be",
		agent("a", "instances = 2") + agent("a-2", ""):                                  "config.toml:2:1: the agent \"a-2\" is defined twice; the first is at config.toml:5:1 (it is a member of the pool \"a\"",
		agent(strings.Repeat("x", 30), "instances = 10"):                                "too long",
		agent("a", "instances = 2\nbackup = [\"a-1\"]"):                                 "is a member of the pool",
		agent("a", "places = 2"):                                                        "places is for a pool",
		"[store]\nurl = \"postgres://h/d\"\n" + agent("a", "instances = 2\nplaces = 3"): "no 3 places",
		"[store]\nurl = \"postgres://h/d\"\n" + agent("a", "instances = 4\nplaces = 2"): "",
		agent("a", "instances = 4\nplaces = 2"):                                         "places needs a database that hosts share",
		agent("a", "instances = 2\nmodel = \"nothing-known\""):                          "nothing-known",
		agent("a", "instances = 2\nexecutor = \"nobody\""):                              "nobody",
		agent("a", "instances = 2\nbase_url = \"http://example.org/v1\"\nmodel=\"m\""):  "",
	} {
		_, err := config.Parse("config.toml", []byte(text))
		var problems *config.Problems
		switch {
		case want == "" && err == nil:
		case !errors.As(err, &problems) || len(problems.List) != 1 || !strings.Contains(problems.List[0].String(), want):
			t.Errorf("%s\n%v, want %q, once", text, err, want)
		}
	}
	if _, err := fika.ParseAgentName(config.MemberName(strings.Repeat("x", 29), config.MaxInstances)); err != nil {
		t.Error(err)
	}
}
