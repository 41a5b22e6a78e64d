package route

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fika"
)

// Agent is an agent that may be chosen, as its config entry describes it.
type Agent struct {
	Name         fika.AgentName
	Description  string
	Capabilities []string
	Examples     []string // prompts that are for this agent
	Tools        []string // tools that it may use
	// Barred says why the agent cannot be chosen, however well it fits; empty if it can.
	Barred string
}

// Match is how well an agent fits a prompt.
type Match struct {
	Agent fika.AgentName
	Score float64 // 0: nothing speaks for the agent
	// Sure says that the agent can be chosen without asking; it is true of at most one.
	Sure   bool
	Barred string // why the agent cannot be chosen; empty if it can
	// Work names what the prompt seems to be, as in "code review"; empty if that is not
	// known, or not what this agent is for.
	Work string
	Why  string // what speaks for the agent and against it
}

// The weight of a word, by where it stands.
const (
	inName        = 3.0
	inCapability  = 2.5
	inExample     = 1.2
	inDescription = 1.0
)

// The constants of BM25: how quickly repetitions of a word stop counting, and how much
// the length of an agent's texts matters.
const (
	saturation = 1.2
	lengthPart = 0.4
)

const (
	// fieldWeight is the weight of a field of work relative to a word itself.
	fieldWeight = 1.6
	// unfit is the factor for the score of an agent that may not use the tools that the
	// work needs, if another agent may.
	unfit = 0.75
	// minScore is the score needed to be sure, and minLead the factor by which it must
	// exceed the next.
	minScore = 1.5
	minLead  = 1.8
)

// Rank orders agents by how well they fit a prompt, the best first; those that cannot be
// chosen are at the end.
func Rank(agents []Agent, prompt string) []Match {
	r := newRanking(agents, prompt)
	out := make([]Match, len(agents))
	for i := range agents {
		out[i] = r.match(i)
	}
	slices.SortStableFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(len(a.Barred), 0)-cmp.Compare(len(b.Barred), 0), cmp.Compare(b.Score, a.Score), cmp.Compare(a.Agent, b.Agent))
	})
	markSure(out)
	return out
}

// markSure marks the first agent if it is well ahead of all others, including those that
// cannot be chosen: a prompt that is for one of them is not for the next one.
func markSure(list []Match) {
	if len(list) == 0 || list[0].Barred != "" || list[0].Score < minScore {
		return
	}
	for _, other := range list[1:] {
		if list[0].Score < minLead*other.Score {
			return
		}
	}
	list[0].Sure = true
}

// document holds the texts about an agent as counts of terms.
type document struct {
	terms  map[string]float64
	length float64
}

// ranking is one prompt compared with some agents.
type ranking struct {
	agents []Agent
	docs   []document
	words  *vocabulary
	asked  []asked // the terms of the prompt, in the order of first mention
	mean   float64 // mean length of a document
}

// asked is a term of the prompt with its weight.
type asked struct {
	term   string
	weight float64
	words  []string // words of the prompt that led to the term
}

func newRanking(agents []Agent, prompt string) *ranking {
	r := &ranking{agents: agents, words: shipped()}
	for _, a := range agents {
		d := describe(a, r.words)
		r.docs = append(r.docs, d)
		r.mean += d.length / float64(len(agents))
	}
	r.asked = understand(prompt, r.words)
	return r
}

// describe counts the terms in the texts about an agent.
func describe(a Agent, v *vocabulary) document {
	d := document{terms: map[string]float64{}}
	told := map[string]float64{}
	count := func(text string, weight float64) {
		for _, t := range terms(text) {
			d.terms[t.stem] += weight
			d.length += weight
			for _, h := range v.hints[t.stem] {
				told[h.field] += weight * h.clear
			}
		}
	}
	count(string(a.Name), inName)
	for _, c := range a.Capabilities {
		count(c, inCapability)
	}
	count(a.Description, inDescription)
	for _, e := range a.Examples {
		count(e, inExample)
	}
	strongest := 0.0
	for _, n := range told {
		strongest = max(strongest, n)
	}
	for f, n := range told {
		// What an agent is for is said several times; a word that merely hints at
		// something else should not count for that.
		d.terms[f] = n * n / strongest
	}
	return d
}

// understand finds what a prompt is about. Its first words count most, text pasted after
// it counts little, and a repeated word adds nothing.
func understand(prompt string, v *vocabulary) []asked {
	var out []asked
	at := map[string]int{}
	add := func(term, word string, weight float64) {
		i, there := at[term]
		if !there {
			i = len(out)
			at[term] = i
			out = append(out, asked{term: term})
		}
		if !slices.Contains(out[i].words, word) {
			out[i].weight += weight
			out[i].words = append(out[i].words, word)
		}
	}
	take := func(text string, first, rest float64) {
		for i, t := range terms(text) {
			weight := rest
			if i < 2 {
				weight = first
			}
			add(t.stem, t.written, weight)
			for _, h := range v.hints[t.stem] {
				add(h.field, t.written, weight*h.clear)
			}
		}
	}
	question, pasted := ask(prompt)
	take(question, 1.5, 1)
	take(pasted, 0.2, 0.2)
	for i := range out { // saying the same in many ways adds little
		out[i].weight = 2 * out[i].weight / (1 + out[i].weight)
		if strings.HasPrefix(out[i].term, fieldMark) {
			out[i].weight *= fieldWeight
		}
	}
	return out
}

// rarity says how informative a term is: it is high when few agents have the term.
func (r *ranking) rarity(term string) float64 {
	with := 0.0
	for _, d := range r.docs {
		with += min(d.terms[term], 1)
	}
	// Relative to a term that one agent has, so that scores mean the same in small and in
	// large teams.
	return r.inverse(with) / r.inverse(1)
}

// inverse returns the inverse document frequency of BM25.
func (r *ranking) inverse(with float64) float64 {
	return math.Log(1 + (float64(len(r.docs))-with+0.5)/(with+0.5))
}

// part is what one term adds to the score of an agent.
type part struct {
	asked
	score float64
}

func (r *ranking) match(i int) Match {
	a, d := r.agents[i], r.docs[i]
	m := Match{Agent: a.Name, Barred: a.Barred}
	var parts []part
	for _, q := range r.asked {
		n := d.terms[q.term]
		if n == 0 {
			continue
		}
		long := 1.0
		if r.mean > 0 {
			long = 1 - lengthPart + float64(lengthPart*d.length)/r.mean
		}
		s := float64(q.weight*r.rarity(q.term)) * n * (saturation + 1) / (n + float64(saturation*long))
		parts = append(parts, part{q, s})
		m.Score += s
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.score, a.score) })
	lacks := r.lacks(i, parts)
	if lacks != "" {
		m.Score *= unfit
	}
	m.Score = math.Round(m.Score*1000) / 1000
	m.Work, m.Why = r.explain(parts, lacks, a.Barred)
	return m
}

// lacks names the tools that the work needs and this agent may not use, if another agent
// may.
func (r *ranking) lacks(i int, parts []part) string {
	for _, p := range parts {
		f, ok := r.words.fields[p.term]
		if !ok {
			continue
		}
		has := func(a Agent) bool {
			return slices.ContainsFunc(f.tools, func(t string) bool { return slices.Contains(a.Tools, t) })
		}
		if len(f.tools) > 0 && !has(r.agents[i]) && slices.ContainsFunc(r.agents, has) {
			return strings.Join(f.tools, " or ")
		}
		return ""
	}
	return ""
}

// mostReasons is the maximum number of reasons given.
const mostReasons = 3

func (r *ranking) explain(parts []part, lacks, barred string) (work, why string) {
	var reasons []string
	if barred != "" {
		reasons = append(reasons, "not chosen: "+barred)
	}
	for _, p := range parts[:min(len(parts), mostReasons)] {
		if f, ok := r.words.fields[p.term]; ok {
			if work == "" {
				work = f.title
			}
			reasons = append(reasons, fmt.Sprintf("%s, by %s", f.title, quoted(p.words)))
			continue
		}
		reasons = append(reasons, "says "+quoted(p.words))
	}
	if len(parts) == 0 {
		reasons = append(reasons, "no matching words")
	}
	if lacks != "" {
		reasons = append(reasons, "may not use "+lacks)
	}
	return work, strings.Join(reasons, "; ")
}

func quoted(list []string) string {
	var out []string
	for _, w := range list[:min(len(list), 4)] {
		out = append(out, fmt.Sprintf("%q", w))
	}
	return strings.Join(out, ", ")
}
