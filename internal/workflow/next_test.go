package workflow_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fika/internal/workflow"
)

// world is the simplest possible store with agents and people: it keeps the rows of a
// run, does what plans say, and ends what was begun.
type world struct {
	t       rapid.TB
	def     *workflow.Definition
	inputs  map[string]any
	rows    map[string]workflow.Row
	live    map[string]bool
	lists   map[string][]any
	outputs map[string]workflow.Output
	open    map[string]workflow.Call // begun and not ended
	begun   map[string]bool          // ids for which anything has ever begun
	asked   []string                 // path and attempt of each call, in order
	result  *workflow.Result
	now     time.Time
	stop    string
	max     int
	// outcome decides how a call ends.
	outcome func(row workflow.Row, c workflow.Call) (workflow.State, string)

	mostLive int
	reads    int            // of outputs
	mostOpen map[string]int // by parent
	begin    func(c workflow.Call)
}

func newWorld(t rapid.TB, def *workflow.Definition, given map[string]string) *world {
	inputs, err := def.Bind(given, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return &world{
		t: t, def: def, inputs: inputs, rows: map[string]workflow.Row{}, live: map[string]bool{}, outputs: map[string]workflow.Output{}, open: map[string]workflow.Call{}, begun: map[string]bool{},
		now: time.Unix(1_800_000_000, 0), mostOpen: map[string]int{},
		outcome: func(r workflow.Row, _ workflow.Call) (workflow.State, string) {
			return workflow.Done, "out of " + r.Path
		},
	}
}

func (w *world) Output(id string) (workflow.Output, error) {
	w.reads++
	o, ok := w.outputs[id]
	if !ok {
		return o, fmt.Errorf("no output of %s", w.rows[id].Path)
	}
	return o, nil
}

func (w *world) Items(id string) ([]workflow.Output, error) {
	w.reads++
	list := make([]workflow.Output, w.rows[id].Count)
	size := 0
	byAttempt := slices.SortedFunc(maps.Values(w.rows), func(a, b workflow.Row) int { return a.Attempt - b.Attempt })
	for _, r := range byAttempt {
		if r.Parent == id && r.State == workflow.Done {
			list[r.Index] = w.outputs[r.From]
			size += len(list[r.Index].Text)
		}
		if r.Parent == id && r.State.Ended() && r.State != workflow.Done {
			list[r.Index] = workflow.Output{Error: r.Why()}
		}
	}
	if size > workflow.MaxList {
		return nil, workflow.ErrTooMuch
	}
	return list, nil
}

func (w *world) view() workflow.View {
	v := workflow.View{Run: "run", Definition: w.def, Inputs: w.inputs, Outputs: w, Now: w.now, Stop: w.stop, Max: w.max, Lists: w.lists}
	for id := range w.live {
		v.Rows = append(v.Rows, w.rows[id])
	}
	w.mostLive = max(w.mostLive, len(v.Rows))
	return v
}

// next works out a plan without storing it.
func (w *world) next() workflow.Plan {
	p, err := workflow.NextPlan(w.view())
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return p
}

// apply stores a plan and begins its calls.
func (w *world) apply(p workflow.Plan) {
	for _, r := range p.Rows {
		if old, ok := w.rows[r.ID]; ok && old.State.Ended() && old.State != r.State {
			w.t.Fatalf("%s was %s and became %s", r.Path, old.State, r.State)
		}
		w.rows[r.ID] = r
		if w.live[r.ID] = r.Live; !r.Live {
			delete(w.live, r.ID)
		}
	}
	for _, o := range p.Outputs {
		w.outputs[o.Row] = o.Output
	}
	for _, id := range p.Cancel {
		delete(w.open, id)
	}
	for _, c := range p.Calls {
		r := w.rows[c.Row]
		key := c.Row + c.Kind
		if w.begun[key] {
			w.t.Fatalf("%s, attempt %d, was begun twice", r.Path, r.Attempt)
		}
		w.begun[key] = true
		w.open[c.Row] = c
		w.asked = append(w.asked, fmt.Sprintf("%s!%d", r.Path, r.Attempt))
		if w.begin != nil {
			w.begin(c)
		}
	}
	count := map[string]int{}
	for id := range w.open {
		count[w.rows[id].Parent]++
	}
	for parent, n := range count {
		w.mostOpen[parent] = max(w.mostOpen[parent], n)
	}
	if p.Result != nil {
		w.result = p.Result
	}
}

// end gives a call its outcome, as the store does when a request ends.
func (w *world) end(id string) {
	r, c := w.rows[id], w.open[id]
	delete(w.open, id)
	if r.State.Ended() {
		return
	}
	if c.Kind == workflow.KindApproval && r.Kind != workflow.KindApproval {
		r.State, r.Approved = workflow.Waiting, true
		w.rows[id] = r
		return
	}
	state, text := w.outcome(r, c)
	w.now = w.now.Add(time.Second)
	r.State, r.Ended, r.Taken = state, w.now, false
	if state == workflow.Done {
		r.From = r.ID
		w.outputs[r.ID] = workflow.Output{Text: text, JSON: c.JSON}
	} else {
		r.Reason, r.Error = "model", text
	}
	w.rows[id] = r
}

// calm advances until there is nothing to do but wait for an outcome.
func (w *world) calm() {
	for w.result == nil {
		p := w.next()
		w.apply(p)
		switch {
		case p.More || len(p.Rows) > 0:
			w.allSeen(p)
		case len(w.open) == 0 && !p.WakeAt.IsZero():
			w.now = p.WakeAt
		case len(w.open) == 0 && w.result == nil:
			w.t.Fatalf("nothing is open and nothing to wait for: %s", w.dump())
		default:
			return
		}
	}
}

// allSeen checks that a plan below its bound leaves no end unseen; otherwise this run
// would be found due again and again.
func (w *world) allSeen(p workflow.Plan) {
	for id := range w.live {
		if r := w.rows[id]; !p.More && p.Result == nil && r.State.Ended() && !r.Taken {
			w.t.Fatalf("nobody has seen that %s is %s", r.Path, r.State)
		}
	}
}

// openIDs returns the ids of the open calls, in the order of their paths.
func (w *world) openIDs() []string {
	ids := slices.Collect(maps.Keys(w.open))
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(w.rows[a].Path, w.rows[b].Path) })
	return ids
}

// run works the run to its end, each time ending the open call that choose picks.
func (w *world) run(choose func(n int) int) *workflow.Result {
	for n := 0; w.result == nil; n++ {
		if n > 100_000 {
			w.t.Fatalf("it never ends: %s", w.dump())
		}
		if w.calm(); w.result != nil {
			break
		}
		ids := w.openIDs()
		w.end(ids[choose(len(ids))])
	}
	return w.result
}

func (w *world) dump() string {
	var b strings.Builder
	for _, r := range w.rows {
		fmt.Fprintf(&b, "\n%s!%d %s %s %s %s", r.Path, r.Attempt, r.Kind, r.State, r.Reason, r.Error)
	}
	return b.String()
}

// told returns the result as text, outputs included.
func (w *world) told() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", w.result.State, w.result.Reason, w.result.Error)
	for _, p := range w.result.Parts {
		fmt.Fprintf(&b, "\n%s %s %s", p.Step, p.State, p.Error)
		if p.Items {
			items, _ := w.Items(p.From)
			fmt.Fprintf(&b, " %v", items)
		} else if p.From != "" {
			fmt.Fprintf(&b, " %v", w.outputs[p.From])
		}
	}
	return b.String()
}

func load(t rapid.TB, text string, others map[string]string) *workflow.Definition {
	known := workflow.Known{Names: slices.Collect(maps.Keys(others)), Read: func(name string) (string, []byte, error) {
		text, ok := others[name]
		if !ok {
			return "", nil, errors.New("not there")
		}
		return name + ".toml", []byte(text), nil
	}}
	d, err := workflow.Load("w", "w.toml", []byte(text), known)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	data, err := d.Freeze()
	if err != nil {
		t.Fatalf("%v", err)
	}
	if d, err = workflow.Thaw(data); err != nil {
		t.Fatalf("%v", err)
	}
	return d
}

func first(int) int { return 0 }

func TestNextHandsOn(t *testing.T) {
	a, err := workflow.ParseAddress("a -> b -> c", nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, a.Definition(""), map[string]string{"prompt": "do {{it}}"})
	var prompts []string
	w.begin = func(c workflow.Call) { prompts = append(prompts, c.Agent+": "+c.Prompt) }
	w.run(first)
	if w.result.State != workflow.Done || len(prompts) != 3 || prompts[0] != "a: do {{it}}" || strings.Count(strings.Join(prompts, ""), "> out of b") != 1 || !strings.Contains(prompts[1], "> out of a") {
		t.Errorf("%+v\n%s", w.result, prompts)
	}
}

// TestNextChainFails: the steps after a failed one are never called.
func TestNextChainFails(t *testing.T) {
	a, _ := workflow.ParseAddress("a -> b -> c", nil)
	w := newWorld(t, a.Definition(""), map[string]string{"prompt": "x"})
	w.outcome = func(r workflow.Row, _ workflow.Call) (workflow.State, string) {
		if r.Path == "b" {
			return workflow.Failed, "no key"
		}
		return workflow.Done, "fine"
	}
	w.run(first)
	if w.result.State != workflow.Failed || w.result.Error != "step b failed: no key" || fmt.Sprint(w.asked) != "[a!1 b!1]" {
		t.Errorf("%+v %v", w.result, w.asked)
	}
}

// TestNextCombine: both answers are shown although one step fails, and the
// combination says so.
func TestNextCombine(t *testing.T) {
	for combine, want := range map[string]workflow.State{"": workflow.Failed, "c": workflow.Done} {
		a, _ := workflow.ParseAddress("a,b", nil)
		d := a.Definition("")
		if combine != "" {
			d = a.Definition("c")
		}
		w := newWorld(t, d, map[string]string{"prompt": "x"})
		var last string
		w.begin = func(c workflow.Call) { last = c.Prompt }
		w.outcome = func(r workflow.Row, _ workflow.Call) (workflow.State, string) {
			if r.Path == "b" {
				return workflow.Failed, "no key"
			}
			return workflow.Done, "fine"
		}
		w.run(first)
		if w.result.State != want {
			t.Errorf("combine %q: %+v", combine, w.result)
		}
		if combine == "" && (len(w.result.Parts) != 2 || w.result.Parts[0].State != workflow.Done || w.result.Parts[1].Error != "no key") {
			t.Errorf("%+v", w.result.Parts)
		}
		if combine != "" && (!strings.Contains(last, "> fine") || !strings.Contains(last, "@b gave no answer (no key).")) {
			t.Errorf("%s", last)
		}
	}
}
