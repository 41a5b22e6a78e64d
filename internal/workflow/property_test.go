package workflow_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fika/internal/workflow"
)

// genWorkflow draws the text of a workflow; inside lists the nested workflows that it
// may use.
func genWorkflow(t *rapid.T, label string, inside []string, joins []string) string {
	var b strings.Builder
	b.WriteString("[inputs]\nx = 1\n")
	n := rapid.IntRange(1, 6).Draw(t, label+" steps")
	each := map[string]bool{} // the steps that go through a list
	for i := range n {
		at := func(s string) string { return fmt.Sprintf("%s s%d %s", label, i, s) }
		var needs []string
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, at(fmt.Sprint("needs ", j))) == 0 {
				needs = append(needs, fmt.Sprintf("s%d", j))
			}
		}
		fmt.Fprintf(&b, "[[steps]]\nid = \"s%d\"\n", i)
		if len(needs) > 0 {
			fmt.Fprintf(&b, "needs = [\"%s\"]\n", strings.Join(needs, `", "`))
		}
		if len(needs) > 1 {
			fmt.Fprintf(&b, "join = %q\n", rapid.SampledFrom(joins).Draw(t, at("join")))
		} else if len(needs) == 1 && slices.Contains(joins, "ended") && rapid.Bool().Draw(t, at("ended")) {
			b.WriteString("join = \"ended\"\n")
		}
		if len(needs) > 0 && rapid.IntRange(0, 3).Draw(t, at("when")) == 0 {
			fmt.Fprintf(&b, "when = 'steps.%s.state == \"done\" && inputs.x == 1'\n", needs[0])
		}
		reads := ""
		for _, need := range needs {
			reads += "{{json .steps." + need + ".output}}"
			if each[need] {
				reads += "{{json .steps." + need + ".failed}}"
			}
		}
		switch kind := rapid.IntRange(0, 7).Draw(t, at("kind")); {
		case kind == 0:
			b.WriteString("approve = true\nprompt = \"go on?\"\n")
		case kind == 1 && len(inside) > 0:
			fmt.Fprintf(&b, "workflow = %q\ninputs = { x = 1 }\n", rapid.SampledFrom(inside).Draw(t, at("inside")))
		case kind == 2:
			fmt.Fprintf(&b, "chat = { agents = [\"a\", \"b\"], topic = 'talk %s' }\n", reads)
		default:
			fmt.Fprintf(&b, "agent = \"a\"\nprompt = 'do %s'\n", reads)
			if kind == 3 {
				b.WriteString("approve = true\n")
			}
		}
		if rapid.IntRange(0, 3).Draw(t, at("each")) == 0 {
			each[fmt.Sprintf("s%d", i)] = true
			fmt.Fprintf(&b, "for_each = '1..%d'\nmax_parallel = %d\n", rapid.IntRange(0, 5).Draw(t, at("items")), rapid.IntRange(1, 3).Draw(t, at("parallel")))
		}
		if rapid.IntRange(0, 3).Draw(t, at("repeat")) == 0 {
			fmt.Fprintf(&b, "repeat = { until = 'round >= %d', max = %d }\n", rapid.IntRange(1, 3).Draw(t, at("until")), rapid.IntRange(1, 3).Draw(t, at("rounds")))
		}
		if rapid.IntRange(0, 2).Draw(t, at("retry")) == 0 {
			fmt.Fprintf(&b, "retry = %d\n", rapid.IntRange(1, 2).Draw(t, at("retries")))
		}
	}
	return b.String()
}

// fate returns outcomes that depend only on the row's place and attempt.
func fate(seed, failing int) func(workflow.Row, workflow.Call) (workflow.State, string) {
	return func(r workflow.Row, c workflow.Call) (workflow.State, string) {
		h := fnv.New32a()
		fmt.Fprintf(h, "%d %s %d", seed, r.Path, r.Attempt)
		if int(h.Sum32()%100) < failing {
			return workflow.Failed, "bad luck at " + r.Path
		}
		return workflow.Done, fmt.Sprintf("%s!%d", r.Path, r.Attempt)
	}
}

func genDefinition(t *rapid.T, joins ...string) *workflow.Definition {
	inner := genWorkflow(t, "inner", nil, joins)
	middle := genWorkflow(t, "middle", []string{"inner"}, joins)
	return load(t, genWorkflow(t, "outer", []string{"inner", "middle"}, joins), map[string]string{"inner": inner, "middle": middle})
}

// disturbed makes a run in which plans are lost, worked out twice and bounded, and in
// which outcomes arrive in any order, several at a time.
func disturbed(t *rapid.T, w *world) {
	for n := 0; w.result == nil; n++ {
		if n > 20_000 {
			t.Fatalf("it never ends: %s", w.dump())
		}
		w.max = rapid.IntRange(1, 12).Draw(t, "max")
		p := w.next()
		if again := w.next(); !reflect.DeepEqual(p, again) {
			t.Fatalf("the same view, another plan:\n%+v\n%+v", p, again)
		}
		switch ids := w.openIDs(); rapid.IntRange(0, 3).Draw(t, "what") {
		case 0: // the plan is lost
		case 1:
			if len(ids) > 0 {
				w.end(rapid.SampledFrom(ids).Draw(t, "ends"))
				continue // so the plan is out of date and refused
			}
			w.apply(p)
		default:
			w.apply(p)
			if !p.More && len(p.Rows) == 0 && len(w.open) == 0 && !p.WakeAt.IsZero() {
				w.now = p.WakeAt
			}
		}
	}
}

// TestNextAnyOrder: in whatever order outcomes arrive, and however often a plan is
// lost, repeated or cut short, the result is that of the undisturbed run, and nothing
// is begun twice. (The world itself checks that no attempt is begun twice and that no
// end changes.)
func TestNextAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := genDefinition(t, "all", "ended")
		seed, failing := rapid.IntRange(0, 1000).Draw(t, "seed"), rapid.SampledFrom([]int{0, 10, 30, 60}).Draw(t, "failing")
		calm := newWorld(t, d, nil)
		calm.outcome = fate(seed, failing)
		calm.run(func(int) int { return 0 })

		w := newWorld(t, d, nil)
		w.outcome = fate(seed, failing)
		disturbed(t, w)
		if got, want := w.told(), calm.told(); got != want {
			t.Fatalf("got\n%s\nwant\n%s\n%s", got, want, w.dump())
		}
		if len(w.asked) != len(calm.asked) {
			t.Fatalf("%d calls, undisturbed %d", len(w.asked), len(calm.asked))
		}
	})
}

// TestNextAny: with join = "any" the order decides who is first, but every run ends,
// nothing stays open, and nothing that failed is reported as done.
func TestNextAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, genDefinition(t, "all", "any", "ended"), nil)
		w.outcome = fate(rapid.IntRange(0, 1000).Draw(t, "seed"), rapid.SampledFrom([]int{0, 30, 60}).Draw(t, "failing"))
		disturbed(t, w)
		if len(w.open) > 0 {
			t.Fatalf("still open: %v", w.openIDs())
		}
		for _, r := range w.rows {
			if !r.State.Ended() {
				t.Fatalf("%s is %s", r.Path, r.State)
			}
		}
	})
}

// TestNextStop: once a run is stopped, nothing begins any more, and everything in it
// comes to an end.
func TestNextStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, genDefinition(t, "all", "any", "ended"), nil)
		w.outcome = fate(rapid.IntRange(0, 1000).Draw(t, "seed"), 20)
		for range rapid.IntRange(0, 20).Draw(t, "outcomes before") {
			if w.calm(); w.result != nil {
				return
			}
			w.end(rapid.SampledFrom(w.openIDs()).Draw(t, "ends"))
		}
		w.stop = rapid.SampledFrom([]string{workflow.ReasonStopped, workflow.ReasonLimit, workflow.LimitTurns}).Draw(t, "why")
		before := len(w.asked)
		disturbed(t, w)
		if len(w.asked) != before || len(w.open) > 0 || w.result.State == workflow.Done {
			t.Fatalf("%d calls after the stop, %d open, %+v", len(w.asked)-before, len(w.open), w.result)
		}
	})
}

// TestNextPaused: a paused run stands still, and later goes on from there.
func TestNextPaused(t *testing.T) {
	a, _ := workflow.ParseAddress("a,b", nil)
	w := newWorld(t, a.Definition("c"), map[string]string{"prompt": "x"})
	v := w.view()
	v.Paused = true
	if p, err := workflow.NextPlan(v); err != nil || !reflect.DeepEqual(p, workflow.Plan{}) {
		t.Errorf("%+v, %v", p, err)
	}
	if w.run(first).State != workflow.Done {
		t.Errorf("%+v", w.result)
	}
}

// TestNextTenThousand: of 10,000 items no more than max_parallel are open at any
// time, and the rows to look at do not grow with those finished.
func TestNextTenThousand(t *testing.T) {
	d := load(t, "[[steps]]\nid = 'each'\nagent = 'a'\nfor_each = '1..10000'\nmax_parallel = 20\nprompt = 'item {{.item}}'\n[[steps]]\nid = 'after'\nneeds = ['each']\nagent = 'a'\nwhen = 'len(steps.each.output) == 10000'\nprompt = 'all of {{len .steps.each.output}}'\n", nil)
	w := newWorld(t, d, nil)
	w.lists = map[string][]any{}
	var last string
	w.begin = func(c workflow.Call) { last = c.Prompt }
	w.outcome = func(workflow.Row, workflow.Call) (workflow.State, string) { return workflow.Done, "ok" }
	n := 0
	w.run(func(open int) int { n++; return n % open })
	most := 0
	for _, n := range w.mostOpen {
		most = max(most, n)
	}
	if w.result.State != workflow.Done || len(w.asked) != 10_001 || most != 20 || w.mostLive > 25 || w.reads > 5 || last != "all of 10000" {
		t.Errorf("%+v: %d calls, %d open at once, %d rows looked at, %d outputs read, %q", w.result, len(w.asked), most, w.mostLive, w.reads, last)
	}
}

// TestNextTimeout: a step that takes too long fails, its call is cancelled, and a
// step that a person has to approve does not run unapproved at the second attempt.
func TestNextTimeout(t *testing.T) {
	d := load(t, "[[steps]]\nid = 'a'\nagent = 'a'\nprompt = 'x'\napprove = true\nretry = 1\ntimeout = '1m'\n", nil)
	w := newWorld(t, d, nil)
	var kinds []string
	w.begin = func(c workflow.Call) { kinds = append(kinds, c.Kind) }
	w.calm()
	w.now = w.now.Add(time.Minute)
	w.calm() // the person did not answer; the second attempt waits for its time
	if len(w.open) == 0 {
		t.Fatalf("%s", w.dump())
	}
	w.end(w.openIDs()[0]) // approved
	w.calm()
	w.now = w.now.Add(time.Minute)
	w.calm()
	if fmt.Sprint(kinds) != "[approval approval agent]" || w.result.State != workflow.Failed || !strings.Contains(w.result.Error, "took longer than 1m0s") {
		t.Errorf("%v %+v", kinds, w.result)
	}
}

// TestNextBackoff: the pause before an attempt doubles.
func TestNextBackoff(t *testing.T) {
	d := load(t, "[[steps]]\nid = 'a'\nagent = 'a'\nprompt = 'x'\nretry = { max = 3, backoff = '10s' }\n", nil)
	w := newWorld(t, d, nil)
	w.outcome = func(workflow.Row, workflow.Call) (workflow.State, string) { return workflow.Failed, "busy" }
	var at []time.Duration
	begin := w.now
	w.begin = func(workflow.Call) { at = append(at, w.now.Sub(begin)); begin = w.now }
	w.run(first)
	if fmt.Sprint(at) != "[0s 11s 21s 41s]" {
		t.Errorf("%v", at)
	}
}

// TestNextLosers: the first of several steps decides, and the others are cancelled
// together with the steps that only they needed.
func TestNextLosers(t *testing.T) {
	d := load(t, `
[[steps]]
id = "slow"
agent = "a"
prompt = "x"
[[steps]]
id = "slower"
needs = ["slow"]
agent = "a"
prompt = "x"
[[steps]]
id = "quick"
agent = "b"
prompt = "x"
[[steps]]
id = "use"
needs = ["slower", "quick"]
join = "any"
agent = "c"
prompt = "{{.first.step}}: {{.first.output}}"
`, nil)
	w := newWorld(t, d, nil)
	var last string
	w.begin = func(c workflow.Call) { last = c.Prompt }
	w.calm()
	w.end(w.openIDs()[0]) // quick
	p := w.next()
	w.apply(p)
	if len(p.Cancel) != 1 || w.rows[p.Cancel[0]].Path != "slow" || last != "quick: out of quick" {
		t.Errorf("%+v, %q", p.Cancel, last)
	}
	w.run(first)
	if w.result.State != workflow.Done || fmt.Sprint(w.asked) != "[slow!1 quick!1 use!1]" {
		t.Errorf("%+v %v", w.result, w.asked)
	}
}

// TestNextEmpty: a for_each over nothing is done with an empty list as its output;
// over a value that is not a list it fails and says what the value was.
func TestNextEmpty(t *testing.T) {
	text := "[inputs]\nfiles = []\nn = { type = 'list' }\n[[steps]]\nid = 'e'\nagent = 'a'\nprompt = '{{.item}}'\nfor_each = 'inputs.files'\n[[steps]]\nid = 'l'\nagent = 'a'\noutput = 'json'\nprompt = 'x'\n[[steps]]\nid = 'm'\nneeds = ['l']\nagent = 'a'\nprompt = '{{.item}}'\nfor_each = 'steps.l.output.files'\n"
	w := newWorld(t, load(t, text, nil), map[string]string{"n": "[]"})
	w.outcome = func(workflow.Row, workflow.Call) (workflow.State, string) {
		return workflow.Done, `{"files": "a.go"}`
	}
	w.run(first)
	if w.result.Error != `step m failed: steps.l.output.files gave "\"a.go\"", which is not a list` || w.result.Parts[0].State != workflow.Done {
		t.Errorf("%s", w.told())
	}
}

// TestNextSplit: a for_each goes through the parts of a text.
func TestNextSplit(t *testing.T) {
	w := newWorld(t, load(t, "[inputs]\nnames = 'x'\n[[steps]]\nid = 'e'\nagent = 'a'\nprompt = 'item {{.item}}'\nfor_each = 'split(inputs.names, \",\")'\n", nil), map[string]string{"names": "one,two,three"})
	var asked []string
	w.outcome = func(_ workflow.Row, c workflow.Call) (workflow.State, string) {
		asked = append(asked, c.Prompt)
		return workflow.Done, ""
	}
	w.run(first)
	if got := strings.Join(asked, ", "); got != "item one, item two, item three" {
		t.Errorf("%s\n%s", got, w.told())
	}
}

// TestNextTooMuch: outputs that are too large together fail the step that reads them,
// but the run still goes on.
func TestNextTooMuch(t *testing.T) {
	d := load(t, "[[steps]]\nid = 'each'\nagent = 'a'\nfor_each = '1..10'\nprompt = 'x'\n[[steps]]\nid = 'all'\nneeds = ['each']\nagent = 'a'\nprompt = '{{json .steps.each.output}}'\n", nil)
	w := newWorld(t, d, nil)
	w.outcome = func(workflow.Row, workflow.Call) (workflow.State, string) {
		return workflow.Done, strings.Repeat("x", 1<<20)
	}
	if w.run(first); w.result.State != workflow.Failed || !strings.Contains(w.result.Error, "what each gave: it is more than 8 MiB together") {
		t.Errorf("%+v", w.result)
	}
}

func TestLimitsReached(t *testing.T) {
	l := workflow.Limits{Cost: 2, Tokens: 100, Turns: 3, Time: time.Hour}
	for want, s := range map[string]workflow.Spent{
		" ": {Cost: 1.99, Tokens: 99, Turns: 2, Time: time.Minute}, "max_cost 2.00": {Cost: 2}, "max_tokens 100": {Tokens: 100}, "max_turns 3": {Turns: 4}, "max_time 1h0m0s": {Time: time.Hour},
	} {
		if name, value := l.Reached(s); name+" "+value != want {
			t.Errorf("%+v: %s %s, want %q", s, name, value, want)
		}
	}
	if name, _ := (workflow.Limits{}).Reached(workflow.Spent{Cost: 1e9}); name != "" {
		t.Errorf("no limit: %q", name)
	}
}

// ended returns the rows from which a run is resumed.
func (w *world) ended() []workflow.Row {
	var rows []workflow.Row
	last := map[string]workflow.Row{}
	for _, r := range w.rows {
		switch {
		case r.Parent == "" && r.Live:
			rows = append(rows, r)
		case r.Parent != "" && w.rows[r.Parent].Parent == "" && w.rows[r.Parent].Kind == workflow.KindEach:
			if old, ok := last[r.Path]; !ok || r.Attempt > old.Attempt {
				last[r.Path] = r
			}
		}
	}
	return append(rows, slices.Collect(maps.Values(last))...)
}

// resume resumes a run that has ended.
func (w *world) resume(from string) error {
	rows, err := workflow.ResumeRows("run", w.def, w.def, w.ended(), from)
	if err != nil {
		return err
	}
	for _, r := range rows {
		w.rows[r.ID] = r
		w.live[r.ID] = r.Live
	}
	w.result, w.stop = nil, ""
	return nil
}

// TestNextResume: a run that failed or was stopped, and is resumed when nothing fails
// any more, ends as if nothing ever had failed, and repeats no step or item that was
// done.
func TestNextResume(t *testing.T) {
	attempts := regexp.MustCompile(`~\d+`)
	good := func(r workflow.Row, _ workflow.Call) (workflow.State, string) {
		return workflow.Done, "out of " + attempts.ReplaceAllString(r.Path, "")
	}
	rapid.Check(t, func(t *rapid.T) {
		d := genDefinition(t, "all")
		calm := newWorld(t, d, nil)
		calm.outcome = good
		calm.run(first)

		w := newWorld(t, d, nil)
		bad := fate(rapid.IntRange(0, 1000).Draw(t, "seed"), 40)
		w.outcome = func(r workflow.Row, c workflow.Call) (workflow.State, string) {
			if s, text := bad(r, c); s == workflow.Failed {
				return s, text
			}
			return good(r, c)
		}
		for range rapid.IntRange(0, 30).Draw(t, "outcomes before the stop") {
			if w.calm(); w.result != nil {
				break
			}
			w.end(rapid.SampledFrom(w.openIDs()).Draw(t, "ends"))
		}
		w.stop = workflow.ReasonStopped
		disturbed(t, w)
		done := map[string]bool{}
		for _, r := range w.ended() {
			done[r.Path] = r.State == workflow.Done
		}
		asked := len(w.asked)
		if err := w.resume(""); err != nil {
			if w.result.State != workflow.Done && !strings.Contains(err.Error(), "all steps are done") {
				t.Fatalf("%v", err)
			}
			return
		}
		w.outcome = good
		disturbed(t, w)
		if got, want := w.told(), calm.told(); got != want {
			t.Fatalf("got\n%s\nwant\n%s\n%s", got, want, w.dump())
		}
		for _, a := range w.asked[asked:] {
			path, _, _ := strings.Cut(a, "!")
			if done[path] {
				t.Fatalf("%s was done and is asked again", path)
			}
		}
	})
}

// TestNextResumeFrom: step 7 of 10 fails, and resuming repeats steps 7 to 10. If a
// step is named, that one and those after it are repeated.
func TestNextResumeFrom(t *testing.T) {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "[[steps]]\nid = 's%d'\nagent = 'a'\nprompt = 'x'\n", i+1)
		if i > 0 {
			fmt.Fprintf(&b, "needs = ['s%d']\n", i)
		}
	}
	w := newWorld(t, load(t, b.String(), nil), nil)
	broken := true
	w.outcome = func(r workflow.Row, _ workflow.Call) (workflow.State, string) {
		if broken && r.Step == "s7" {
			return workflow.Failed, "no key"
		}
		return workflow.Done, "ok"
	}
	w.run(first)
	broken, w.asked = false, nil
	if err := w.resume(""); err != nil {
		t.Fatal(err)
	}
	if w.run(first); w.result.State != workflow.Done || fmt.Sprint(w.asked) != "[s7!2 s8!2 s9!2 s10!2]" {
		t.Errorf("%+v %v", w.result, w.asked)
	}
	if err := w.resume(""); err == nil || !strings.Contains(err.Error(), "all steps are done") {
		t.Errorf("%v", err)
	}
	if err := w.resume("s11"); err == nil || !strings.Contains(err.Error(), "did you mean s1?") {
		t.Errorf("%v", err)
	}
	w.asked = nil
	if err := w.resume("s9"); err != nil {
		t.Fatal(err)
	}
	if w.run(first); w.result.State != workflow.Done || fmt.Sprint(w.asked) != "[s9!3 s10!3]" {
		t.Errorf("%+v %v", w.result, w.asked)
	}
}

// TestNextResumeItems: the 300 of 1,000 items that failed are repeated, never more
// than max_parallel at a time.
func TestNextResumeItems(t *testing.T) {
	w := newWorld(t, load(t, "[[steps]]\nid = 'each'\nagent = 'a'\nfor_each = '1..1000'\nmax_parallel = 7\nprompt = '{{.item}}'\n", nil), nil)
	broken := true
	w.outcome = func(r workflow.Row, _ workflow.Call) (workflow.State, string) {
		if broken && r.Index%10 < 3 {
			return workflow.Failed, "no key"
		}
		return workflow.Done, "ok"
	}
	w.run(first)
	if want := "step each failed: 300 of 1000 items failed, the first is number 1: no key"; w.result.Error != want {
		t.Errorf("%s", w.result.Error)
	}
	broken, w.asked = false, nil
	if err := w.resume(""); err != nil {
		t.Fatal(err)
	}
	w.run(first)
	for _, n := range w.mostOpen {
		if n != 7 {
			t.Errorf("%d at a time", n)
		}
	}
	if w.result.State != workflow.Done || len(w.asked) != 300 {
		t.Errorf("%+v, %d asked", w.result, len(w.asked))
	}
}

// TestNextResumeUnseen: the last item had ended, but the run was stopped before any
// plan saw that.
func TestNextResumeUnseen(t *testing.T) {
	w := newWorld(t, load(t, "[[steps]]\nid = 'each'\nagent = 'a'\nfor_each = '1..1'\nprompt = '{{.item}}'\n[[steps]]\nid = 'b'\nagent = 'a'\nprompt = 'x'\n", nil), nil)
	w.calm()
	g := w.rows[workflow.RowID("run", "each", 1)]
	w.end(workflow.RowID("run", "each[0]", 1))
	w.stop = workflow.ReasonStopped
	g.State, g.Reason, g.Taken = workflow.Cancelled, workflow.ReasonStopped, true // by a bounded plan
	w.rows[g.ID] = g
	w.run(first)
	w.asked = nil
	if err := w.resume(""); err != nil {
		t.Fatal(err)
	}
	if w.run(first); w.result.State != workflow.Done || fmt.Sprint(w.asked) != "[b!2]" {
		t.Errorf("%+v %v", w.result, w.asked)
	}
}
