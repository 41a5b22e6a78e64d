package trace

import (
	"time"

	"fika"
	"fika/internal/store"
)

// Kind is the kind of a span.
type Kind string

// The kinds of span.
const (
	Wait       Kind = "wait"       // for the agent, a pause, or between two steps another's answer
	Model      Kind = "model"      // a model call
	Tool       Kind = "tool"       // a tool call; delegate lasts until the answer is there
	Compaction Kind = "compaction" // a summary
	Commit     Kind = "commit"     // fika's own work between two of the others
)

// longCommit is the gap between two steps that is too long to be fika's own work: the
// request waited.
const longCommit = time.Second

// Span is one activity of a request.
type Span struct {
	Kind Kind
	Name string // the model or the tool
	// Choice is why this one of an agent's several models was chosen; empty: it is the
	// first.
	Choice string
	Args   string // the beginning of a tool's arguments
	Step   int    // its number in the request; 0: it is time between two steps
	Round  int
	Start  time.Time
	Took   time.Duration
	Open   bool // it has not ended
	Failed bool // a model call that came to nothing, a tool call with an error, or a step that did not end
	Usage  fika.Usage
	// Unpriced means that the cost of the span is not known ([Trace.NoteUnpriced]).
	Unpriced bool
}

// Request is a request with its spans in order.
type Request struct {
	store.RequestInfo
	Level int // number of requests above it in the tree
	Spans []Span
	End   time.Time // when it ended, or now
	Usage fika.Usage
	Spent map[Kind]time.Duration
	// Unpriced means that the cost of some of it is not known.
	Unpriced bool
}

// Trace describes a piece of work.
type Trace struct {
	Requests []Request // each after the request it works for
	Start    time.Time
	End      time.Time
	Usage    fika.Usage
	Spent    map[Kind]time.Duration // of all requests together, which may overlap in time
	Unpriced bool                   // the cost of some of it is not known
}

// NoteUnpriced marks every span of unknown cost, its request and the trace. known
// reports whether the cost of a model's usage is known.
func (t *Trace) NoteUnpriced(known func(model string, u fika.Usage) bool) {
	for i := range t.Requests {
		r := &t.Requests[i]
		for k := range r.Spans {
			s := &r.Spans[k]
			s.Unpriced = (s.Kind == Model || s.Kind == Compaction) && !known(s.Name, s.Usage)
			r.Unpriced = r.Unpriced || s.Unpriced
		}
		t.Unpriced = t.Unpriced || r.Unpriced
	}
}

// SpansOf computes the spans of requests, which are given oldest first, as of now.
func SpansOf(list []store.Traced, now time.Time) Trace {
	t := Trace{Spent: map[Kind]time.Duration{}}
	for _, r := range inTree(list) {
		one := spansOf(r.Traced, now)
		one.Level = r.level
		t.Usage = t.Usage.Add(one.Usage)
		for k, d := range one.Spent {
			t.Spent[k] += d
		}
		if t.Start.IsZero() || one.CreatedAt.Before(t.Start) {
			t.Start = one.CreatedAt
		}
		if one.End.After(t.End) {
			t.End = one.End
		}
		t.Requests = append(t.Requests, one)
	}
	return t
}

type leveled struct {
	store.Traced
	level int
}

// inTree puts each request after the one that waits for it.
func inTree(list []store.Traced) []leveled {
	known := map[fika.RequestID]bool{}
	for _, r := range list {
		known[r.ID] = true
	}
	below := map[fika.RequestID][]store.Traced{}
	for _, r := range list {
		above := r.Parent
		if !known[above] {
			above = ""
		}
		below[above] = append(below[above], r)
	}
	var out []leveled
	var walk func(above fika.RequestID, level int)
	walk = func(above fika.RequestID, level int) {
		for _, r := range below[above] {
			out = append(out, leveled{r, level})
			walk(r.ID, level+1)
		}
	}
	walk("", 0)
	return out
}

func spansOf(r store.Traced, now time.Time) Request {
	q := Request{RequestInfo: r.RequestInfo, End: r.FinishedAt, Spent: map[Kind]time.Duration{}}
	if q.End.IsZero() {
		q.End = now
	}
	at := r.CreatedAt
	begun := r.StartedAt
	if begun.IsZero() {
		begun = q.End
	}
	q.add(Span{Kind: Wait, Start: at, Took: begun.Sub(at), Open: r.StartedAt.IsZero() && r.FinishedAt.IsZero()})
	at = begun
	for _, st := range r.Steps {
		s := Span{Kind: kindOf(st), Name: st.Tool, Choice: st.Choice, Args: st.Args, Step: st.N, Round: st.Round, Start: st.StartedAt, Usage: st.Usage}
		if s.Name == "" {
			s.Name = st.Model
		}
		switch {
		case st.StartedAt.IsZero(): // planned, but never begun
			s.Start = at
		case st.FinishedAt.IsZero() && !r.State.Terminal():
			s.Took, s.Open = now.Sub(st.StartedAt), true
		case !st.FinishedAt.IsZero():
			s.Took = max(0, st.FinishedAt.Sub(st.StartedAt))
		}
		s.Failed = st.Failed || st.Kind == fika.FailedStep || st.State == fika.StepInterrupted || r.State.Terminal() && st.FinishedAt.IsZero()
		q.between(at, s.Start)
		q.add(s)
		if end := s.Start.Add(s.Took); end.After(at) {
			at = end
		}
	}
	q.between(at, q.End)
	return q
}

func kindOf(st store.TracedStep) Kind {
	switch st.Kind {
	case fika.ToolStep:
		return Tool
	case fika.CompactionStep:
		return Compaction
	}
	return Model
}

// between adds a span for the time between two steps, if there is any.
func (q *Request) between(from, to time.Time) {
	d := to.Sub(from)
	switch {
	case d <= 0 || from.IsZero() || to.IsZero():
	case d >= longCommit:
		q.add(Span{Kind: Wait, Start: from, Took: d})
	default:
		q.add(Span{Kind: Commit, Start: from, Took: d})
	}
}

func (q *Request) add(s Span) {
	q.Spans = append(q.Spans, s)
	q.Spent[s.Kind] += s.Took
	q.Usage = q.Usage.Add(s.Usage)
}
