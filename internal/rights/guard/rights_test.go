package guard_test

import (
	"reflect"
	"slices"
	"testing"

	"fika"
	"fika/internal/rights/guard"
)

func TestD3Effective(t *testing.T) {
	coder := func() *fika.Rights {
		return &fika.Rights{Tools: []string{"read", "bash", "fetch"}, Sandbox: "off", Network: true}
	}
	reader := &fika.Rights{Tools: []string{"read", "fetch"}, Sandbox: "best", Hosts: []string{"a.example"}}
	outside := &fika.Rights{Tools: []string{"read"}, Sandbox: "best", Fixed: true}
	for name, c := range map[string]struct {
		policy  guard.Policy
		cause   *fika.Rights
		tainted bool
		tools   []string
		network bool
		sandbox string
	}{
		"a person asks":                         {guard.Policy{Rights: "least"}, nil, false, []string{"read", "bash", "fetch"}, true, "off"},
		"an agent asks, own":                    {guard.Policy{Rights: "own"}, reader, false, []string{"read", "bash", "fetch"}, true, "off"},
		"an agent asks, least":                  {guard.Policy{Rights: "least"}, reader, false, []string{"read", "fetch"}, false, "best"},
		"an agent asks what is tainted":         {guard.Policy{Rights: "own"}, reader, true, []string{"read", "fetch"}, false, "best"},
		"the zero policy tightens":              {guard.Policy{}, reader, true, []string{"read", "fetch"}, false, "best"},
		"tainted, and that is allowed":          {guard.Policy{Rights: "own", Taint: "allow"}, reader, true, []string{"read", "bash", "fetch"}, true, "off"},
		"tainted, and least whatever":           {guard.Policy{Rights: "least", Taint: "allow"}, reader, true, []string{"read", "fetch"}, false, "best"},
		"a person asks what is tainted":         {guard.Policy{}, nil, true, []string{"read", "bash", "fetch"}, true, "off"},
		"a person asks, offline":                {guard.Policy{Taint: "offline"}, nil, true, []string{"read", "bash"}, false, "best"},
		"from outside, whatever is allowed":     {guard.Policy{Rights: "own", Taint: "allow"}, outside, true, []string{"read"}, false, "best"},
		"not tainted, offline changes nothing":  {guard.Policy{Taint: "offline"}, nil, false, []string{"read", "bash", "fetch"}, true, "off"},
		"an agent asks what is tainted,offline": {guard.Policy{Taint: "offline"}, reader, true, []string{"read"}, false, "best"},
	} {
		own := coder()
		got := c.policy.EffectiveRights(own, c.cause, c.tainted)
		if !slices.Equal(got.Tools, c.tools) || got.Network != c.network || got.Sandbox != c.sandbox {
			t.Errorf("%s: got %+v", name, got)
		}
		if !reflect.DeepEqual(own, coder()) {
			t.Errorf("%s: the agent's own rights were changed: %+v", name, own)
		}
	}
}

func TestD3PassedOn(t *testing.T) {
	if guard.PassedRights(nil, []string{"a.example"}) != nil {
		t.Error("without a bound there is none to pass on")
	}
	r := &fika.Rights{Hosts: []string{"a.example"}}
	if got := guard.PassedRights(r, []string{"a.example", "b.example"}).Hosts; !slices.Equal(got, []string{"a.example", "b.example"}) {
		t.Errorf("got %q", got)
	}
	if len(r.Hosts) != 1 {
		t.Errorf("the turn's own were changed: %q", r.Hosts)
	}
}

func TestD1Tighten(t *testing.T) {
	host := &guard.Rule{Tool: "fetch", Host: "*.example", Do: guard.Allow}
	any := &guard.Rule{Tool: "*", Do: guard.Allow}
	allow := guard.Decision{Do: guard.Allow}
	for name, c := range map[string]struct {
		policy guard.Policy
		call   guard.Call
		d      guard.Decision
		named  []string
		want   guard.Action
	}{
		"reflection":                    {guard.Policy{}, guard.Call{Tool: "update_reflection"}, allow, nil, guard.Deny},
		"reflection that a rule allows": {guard.Policy{}, guard.Call{Tool: "update_reflection"}, guard.Decision{Do: guard.Allow, Rule: any}, nil, guard.Deny},
		"the prompt of another":         {guard.Policy{}, guard.Call{Tool: "create_context"}, allow, nil, guard.Deny},
		"todos":                         {guard.Policy{}, guard.Call{Tool: "update_todos"}, allow, nil, guard.Allow},
		"an unknown host":               {guard.Policy{}, guard.Call{Tool: "fetch", Host: "evil.example"}, allow, []string{"a.example"}, guard.Ask},
		"a host that was named":         {guard.Policy{}, guard.Call{Tool: "fetch", Host: "A.example"}, allow, []string{"a.example"}, guard.Allow},
		"a host that a rule names":      {guard.Policy{}, guard.Call{Tool: "fetch", Host: "b.example"}, guard.Decision{Do: guard.Allow, Rule: host}, nil, guard.Allow},
		"a rule that names none":        {guard.Policy{}, guard.Call{Tool: "fetch", Host: "b.example"}, guard.Decision{Do: guard.Allow, Rule: any}, nil, guard.Ask},
		"denied already":                {guard.Policy{}, guard.Call{Tool: "fetch", Host: "b.example"}, guard.Decision{Do: guard.Deny}, []string{"b.example"}, guard.Deny},
		"offline":                       {guard.Policy{Taint: "offline"}, guard.Call{Tool: "fetch", Host: "a.example"}, allow, []string{"a.example"}, guard.Deny},
		"allowed":                       {guard.Policy{Taint: "allow"}, guard.Call{Tool: "update_reflection"}, allow, nil, guard.Allow},
	} {
		got := c.policy.Tighten(c.call, c.d, c.named)
		if got.Do != c.want {
			t.Errorf("%s: got %s, want %s", name, got.Do, c.want)
		}
		if got.Do != c.d.Do && got.Why == "" {
			t.Errorf("%s: nobody is told why", name)
		}
	}
}

func TestHostsIn(t *testing.T) {
	for text, want := range map[string][]string{
		"read https://A.example/x?y, then b.example.":   {"a.example", "b.example"},
		"<http://127.0.0.1:8080/page> [x](c.example/d)": {"127.0.0.1", "c.example"},
		"localhost:80 and node.js":                      {"localhost", "node.js"},
		"http://a.example@evil.example/":                nil,
		"a.example@evil.example":                        nil,
		"no host here, i.e. none":                       {"i.e"},
		"tel:123 ftp://f.example":                       {"f.example"},
		"":                                              nil,
	} {
		if got := guard.HostsIn(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzHostsIn(f *testing.F) {
	f.Add("see https://a.example/x")
	f.Fuzz(func(t *testing.T, text string) {
		for _, h := range guard.HostsIn(text) {
			if h == "" {
				t.Error("an empty host")
			}
		}
	})
}

func TestD3Callable(t *testing.T) {
	for _, c := range []struct {
		by   []string
		who  string
		want bool
	}{
		{nil, "reader", true}, {nil, "user", true}, {[]string{}, "user", false}, {[]string{"*"}, "reader", true},
		{[]string{"user"}, "reader", false}, {[]string{"user"}, "user", true}, {[]string{"boss", "user"}, "boss", true},
	} {
		if got := guard.MayCall(c.by, c.who); got != c.want {
			t.Errorf("%q by %s: %v", c.by, c.who, got)
		}
	}
	if got := guard.UncallableReason([]string{"user", "boss"}, "coder"); got != "coder takes work from people, boss only (callable_by)" {
		t.Error(got)
	}
}
