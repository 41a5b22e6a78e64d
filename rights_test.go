package fika_test

import (
	"reflect"
	"testing"

	"fika"
)

func TestRightsDoNotGrow(t *testing.T) {
	reader := &fika.Rights{Tools: []string{"read", "list", "fetch"}, Sandbox: "best", Lend: []string{"~/.npmrc"}, Hosts: []string{"a.example"}}
	coder := &fika.Rights{Tools: []string{"bash", "read", "list", "read"}, Sandbox: "off", Network: true, Lend: []string{"ssh-agent"}, Hosts: []string{"a.example", "b.example"}}
	both := &fika.Rights{Tools: []string{"read", "list"}, Sandbox: "best", Hosts: []string{"a.example"}}
	for name, c := range map[string]struct{ a, b, want *fika.Rights }{
		"a person asks":      {coder, nil, coder},
		"of everybody":       {nil, reader, reader},
		"an agent asks":      {coder, reader, both},
		"nothing is nothing": {coder, &fika.Rights{}, &fika.Rights{Tools: []string{}, Sandbox: ""}},
		"the strictest sandbox": {&fika.Rights{Sandbox: "required", ReadOnly: true, Network: true}, &fika.Rights{Sandbox: "best", Network: true},
			&fika.Rights{Tools: []string{}, Sandbox: "required", ReadOnly: true, Network: true}},
	} {
		if got := c.a.IntersectWith(c.b); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	var all *fika.Rights
	if !all.AllowsTool("bash") || both.AllowsTool("bash") || !both.AllowsTool("read") {
		t.Error("who may what")
	}
}
