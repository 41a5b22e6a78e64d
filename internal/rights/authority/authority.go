package authority

import (
	"slices"

	"fika/internal/api"
)

// Relation is what an object is to a principal.
type Relation int

// The relations, in order. What a verb lists, counts or sums has none: use [Seen], and
// leave out what may not be seen.
const (
	Foreign Relation = iota // it may not see the object
	Seen                    // it may see the object
	Own                     // the agent itself, or what it has done or been given
)

// Refusal says why a principal may not do something; empty: it may.
type Refusal api.Code

// The refusals.
const (
	None          Refusal = ""
	Unknown       Refusal = "denied.nobody"        // nobody asks
	PersonsOnly   Refusal = "denied.persons_only"  // only a person says this
	TokenTooSmall Refusal = "denied.conduct"       // more than the program's token allows
	HereOnly      Refusal = "denied.host"          // acts on this machine, and a program is elsewhere
	NotSeen       Refusal = "denied.not_readable"  // the object may not be seen
	NotReachable  Refusal = "denied.not_reachable" // the program may not reach the agent
)

// Check decides whether a principal may do a verb to an object that is rel to it. For a
// verb about an agent, the caller checks [api.Principal.Reaches] and, if it speaks, the
// agent's own rule (callable_by).
func Check(p api.Principal, v api.Verb, rel Relation) Refusal {
	switch p.Kind {
	case api.Person:
		return None
	case api.System:
		if v.Conduct == api.Answers || v.Whole {
			return PersonsOnly
		}
		return None
	case api.Agent:
		if v.Conduct > api.Speaks || v.Whole {
			return PersonsOnly
		}
	case api.Program:
		switch {
		case v.Conduct == api.Answers || v.Whole:
			return PersonsOnly
		case v.Conduct > p.Most:
			return TokenTooSmall
		case v.Host:
			return HereOnly
		}
	default:
		return Unknown
	}
	switch on := v.Object(); {
	case v.Lists, on == api.Home, on == api.Host, on == api.FileObject, on == api.BudgetObject:
		return None
	case needsOwn(v) && rel < Own, rel < Seen && !speaksToAgent(v):
		return NotSeen
	}
	return None
}

// SeesAll reports whether a principal sees everything: a person, the system, and a
// program that may manage all agents. What others see is for
// package service to find out.
func SeesAll(p api.Principal) bool {
	return p.Kind == api.Person || p.Kind == api.System ||
		p.Kind == api.Program && p.Most >= api.Manages && slices.Contains(p.Agents, "*")
}

// needsOwn reports whether a verb shows all work of an agent in whatever conversation,
// which is more than readable_by is about.
func needsOwn(v api.Verb) bool { return v.Name == "agent.attach" || v.Name == "agent.recall" }

// speaksToAgent reports whether a verb gives an agent work. Whether it may is the
// agent's rule alone: an agent can be asked by those who may not read what it says.
func speaksToAgent(v api.Verb) bool { return v.Conduct == api.Speaks && v.Object() == api.AgentObject }

// Row is what a principal may do with a verb: to something foreign, seen, and its own.
type Row struct {
	Verb    api.Verb
	Refusal [Own + 1]Refusal
}

// Table returns the decisions for every verb.
func Table(p api.Principal) []Row {
	var out []Row
	for _, v := range api.Verbs() {
		r := Row{Verb: v}
		for rel := range r.Refusal {
			r.Refusal[rel] = Check(p, v, Relation(rel))
		}
		out = append(out, r)
	}
	return out
}

// Walkers returns one principal of each sort for which the table is written.
func Walkers() []api.Principal {
	return []api.Principal{
		{Kind: api.Person, Name: "anna", Door: api.DoorCLI},
		{Kind: api.Agent, Name: "arya", Door: api.DoorCLI},
		{Kind: api.Program, Name: "build-server", Door: api.DoorBus, Agents: []string{"*"}, Most: api.Speaks}, // a member of the bus
		{Kind: api.Program, Name: "board", Door: api.DoorPage, Agents: []string{"*"}, Most: api.Looks},        // may only look
		{Kind: api.Program, Name: "panel", Door: api.DoorPage, Agents: []string{"*"}, Most: api.Manages},
		{Kind: api.System, Name: "hub", Door: api.DoorHub},
		{},
	}
}
