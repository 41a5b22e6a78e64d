package trace

import (
	"cmp"
	"slices"
	"time"

	"fika"
	"fika/internal/store"
)

// Durations are spans of one kind, put together.
type Durations struct {
	N        int
	P50, P95 time.Duration
	Sum      time.Duration
}

// AgentProfile says what the requests of an agent took.
type AgentProfile struct {
	Agent    fika.AgentName
	Requests int
	Spans    map[Kind]Durations // of what has ended; a kind that there was none of is missing
	Usage    fika.Usage         // also of what goes on
}

// Profile puts requests together by agent. The zero value is ready.
type Profile struct {
	agents map[fika.AgentName]*collected
}

type collected struct {
	requests int
	took     map[Kind][]time.Duration
	usage    fika.Usage
}

// Add adds requests as of now, each once.
func (p *Profile) Add(list []store.Traced, now time.Time) {
	if p.agents == nil {
		p.agents = map[fika.AgentName]*collected{}
	}
	for _, r := range list {
		c := p.agents[r.AgentName]
		if c == nil {
			c = &collected{took: map[Kind][]time.Duration{}}
			p.agents[r.AgentName] = c
		}
		one := spansOf(r, now)
		c.requests++
		c.usage = c.usage.Add(one.Usage)
		for _, s := range one.Spans {
			if !s.Open {
				c.took[s.Kind] = append(c.took[s.Kind], s.Took)
			}
		}
	}
}

// Agents gives what was added, by name of the agent.
func (p *Profile) Agents() []AgentProfile {
	var out []AgentProfile
	for name, c := range p.agents {
		a := AgentProfile{Agent: name, Requests: c.requests, Usage: c.usage, Spans: map[Kind]Durations{}}
		for kind, took := range c.took {
			a.Spans[kind] = durationsOf(took)
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b AgentProfile) int { return cmp.Compare(a.Agent, b.Agent) })
	return out
}

// durationsOf sorts what it is given.
func durationsOf(took []time.Duration) Durations {
	slices.Sort(took)
	d := Durations{N: len(took), P50: percentile(took, 50), P95: percentile(took, 95)}
	for _, t := range took {
		d.Sum += t
	}
	return d
}

// percentile is the smallest of the sorted list that p percent of it do not
// exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}
