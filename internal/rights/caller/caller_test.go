package caller_test

import (
	"testing"

	"fika"
	"fika/internal/rights/caller"
)

func proc(pid int, start int64) fika.Process {
	return fika.Process{PID: pid, Start: start, BootID: "boot"}
}

func TestD2Find(t *testing.T) {
	agent := caller.Holder{Process: proc(40, 400), Agent: "arya", Home: "/h"}
	shot := caller.Holder{Process: proc(60, 600), Agent: "sub", Home: "/h"}
	tree := []fika.Process{proc(70, 700), proc(40, 400), proc(1, 1)}
	for name, c := range map[string]struct {
		o    caller.Options
		want caller.Caller
	}{
		"a person": {
			caller.Options{Ancestors: []fika.Process{proc(9, 9), proc(1, 1)}, Known: true, Holders: []caller.Holder{agent}},
			caller.Caller{Kind: caller.Person, Certain: true},
		},
		"a tool without a mark": {
			caller.Options{Ancestors: tree, Known: true, Holders: []caller.Holder{shot, agent}},
			caller.Caller{Kind: caller.Agent, Agent: "arya", Home: "/h", Certain: true},
		},
		"a mark names the request": {
			caller.Options{Ancestors: tree, Known: true, Holders: []caller.Holder{agent}, Step: "r1/3"},
			caller.Caller{Kind: caller.Agent, Agent: "arya", Home: "/h", Request: "r1", Step: "r1/3", Certain: true},
		},
		"the nearest holder counts": {
			caller.Options{Ancestors: []fika.Process{proc(70, 700), proc(60, 600), proc(50, 500), proc(40, 400)}, Known: true, Holders: []caller.Holder{agent, shot}},
			caller.Caller{Kind: caller.Agent, Agent: "sub", Home: "/h", Certain: true},
		},
		"a pid used again": {
			caller.Options{Ancestors: []fika.Process{proc(40, 401)}, Known: true, Holders: []caller.Holder{agent}},
			caller.Caller{Kind: caller.Person, Certain: true},
		},
		"another boot": {
			caller.Options{Ancestors: []fika.Process{{PID: 40, Start: 400, BootID: "other"}}, Known: true, Holders: []caller.Holder{agent}},
			caller.Caller{Kind: caller.Person, Certain: true},
		},
		"a holder without identity is nobody": {
			caller.Options{Ancestors: []fika.Process{{PID: 40, BootID: "boot"}}, Known: true, Holders: []caller.Holder{{Process: fika.Process{PID: 40, BootID: "boot"}, Agent: "arya"}}},
			caller.Caller{Kind: caller.Person, Certain: true},
		},
		"a mark without an agent": {
			caller.Options{Ancestors: []fika.Process{proc(1, 1)}, Known: true, Step: "r1/3"},
			caller.Caller{Kind: caller.Tool, Request: "r1", Step: "r1/3", Certain: true},
		},
		"a mark that names nothing": {
			caller.Options{Known: true, Step: "yes"},
			caller.Caller{Kind: caller.Tool, Step: "yes", Certain: true},
		},
		"a platform that cannot tell": {
			caller.Options{Step: "r1/3"},
			caller.Caller{Kind: caller.Tool, Request: "r1", Step: "r1/3"},
		},
	} {
		if got := caller.Find(c.o); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
