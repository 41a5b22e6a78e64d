package trace

import (
	"cmp"
	"slices"
	"time"

	"fika"
	"fika/internal/store"
)

// Durations summarises spans of one kind.
type Durations struct {
	N        int
	P50, P95 time.Duration
	Sum      time.Duration
}

// AgentProfile summarises the requests of an agent.
type AgentProfile struct {
	Agent    fika.AgentName
	Requests int
	Spans    map[Kind]Durations // ended spans; a kind without any is missing
	Usage    fika.Usage         // of open spans, too
}

// Profile groups requests by agent. The zero value is ready to use.
type Profile struct {
	agents map[fika.AgentName]*collected
}

type collected struct {
	requests int
	took     map[Kind][]time.Duration
	usage    fika.Usage
}

// Add adds requests as of now. Each request must be added only once.
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

// Agents returns a profile of each agent, sorted by name.
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

// durationsOf summarises took, which it sorts.
func durationsOf(took []time.Duration) Durations {
	slices.Sort(took)
	d := Durations{N: len(took), P50: percentile(took, 50), P95: percentile(took, 95)}
	for _, t := range took {
		d.Sum += t
	}
	return d
}

// percentile returns the smallest element that at least p percent of the sorted list
// do not exceed, or 0 for an empty list.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}
