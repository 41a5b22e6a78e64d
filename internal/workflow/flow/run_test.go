package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// TestSchemaFails: an answer that does not fit the schema fails its step, and the
// steps that need it are not asked.
func TestSchemaFails(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='plan'\nagent='a'\noutput='json'\nschema={type='object', required=['n']}\nprompt='plan'\n[[steps]]\nid='do'\nneeds=['plan']\nagent='b'\nprompt='{{json .steps.plan.output}}'\n", nil)
		w.answer = func(fika.AgentName, string) (string, error) { return "no json at all", nil }
		r := w.work(run)
		w.want("state", r.State, fika.RequestFailed)
		w.want("reason", w.steps(run)["plan"].Reason, workflow.ReasonSchema)
		w.want("blocked", w.steps(run)["do"].State, workflow.Blocked)
		w.want("asked", w.asked, []string{"a: plan"})
	})
}

// TestJSON: the output of a JSON step is the JSON alone, whatever surrounds it.
func TestJSON(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='plan'\nagent='a'\noutput='json'\nprompt='plan'\n[[steps]]\nid='each'\nneeds=['plan']\nagent='b'\nfor_each='steps.plan.output.files'\nprompt='do {{.item}}'\n", nil)
		w.answer = func(a fika.AgentName, prompt string) (string, error) {
			if a == "a" {
				return "```json\n{\"files\": [\"x\", \"y\"]}\n```", nil
			}
			return prompt + " done", nil
		}
		w.want("answer", w.work(run).Outcome.Answer, "do x done\n\ndo y done")
	})
}

// TestManyItems: of many items never more than max_parallel are open, all are done
// within the usual limits of chains, and the rows that a plan looks at do not grow.
func TestManyItems(t *testing.T) {
	items := 300
	if testing.Short() {
		items = 60
	}
	onEngines(t, func(w *world) {
		run := w.start(fmt.Sprintf("[[steps]]\nid='each'\nagent='a'\nfor_each='1..%d'\nmax_parallel=20\nprompt='{{.item}}'\n", items), nil)
		r, most := w.advance(run), 0
		for !r.Over() {
			open := must(w.store.ListRequests(w.Context(), store.RequestFilter{States: []fika.RequestState{fika.Open, fika.Running}, Kinds: []fika.RequestKind{fika.TaskRequest}}))(w)
			most = max(most, len(open))
			v := must(w.store.View(w.Context(), run))(w)
			if len(v.Rows) > 25 {
				t.Fatalf("%d rows are looked at", len(v.Rows))
			}
			w.end(w.claim("a"))
			r = w.advance(run)
		}
		w.want("state", r.State, fika.Done)
		w.want("open at once", most, 20)
		w.want("asked", len(w.asked), items)
		w.want("each once", len(slices.Compact(slices.Sorted(slices.Values(w.asked)))), items)
		w.want("turns", r.Spent.Turns, items)
	})
}

// TestAny: the first answer decides; the other requests end, a running one is told to
// stop, and its agent is woken.
func TestAny(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='x'\nagent='a'\nprompt='1'\n[[steps]]\nid='y'\nagent='b'\nprompt='2'\n[[steps]]\nid='z'\nagent='c'\nprompt='3'\n[[steps]]\nid='end'\nneeds=['x','y','z']\njoin='any'\nagent='a'\nprompt='{{.first.step}}: {{.first.output}}'\n", nil)
		w.advance(run)
		slow := w.claim("c")
		w.end(w.claim("b"))
		w.woken = nil
		w.advance(run)
		sig := must(w.store.Signal(w.Context(), slow.Fence))(w)
		w.want("who runs is told", sig.Cancel, true)
		w.want("who waits has ended", must(w.store.Request(w.Context(), store.StepRequestID(w.steps(run)["x"].ID)))(w).State, fika.Cancelled)
		if !slices.Contains(w.woken, "c") {
			t.Errorf("woken: %v", w.woken)
		}
		r := w.work(run)
		w.want("answer", r.Outcome.Answer, "a did: y: b did: 2")
		w.want("asked", w.askedOf("a"), []string{"y: b did: 2"})
	})
}

// TestPauseRun: a pause is one row, however many requests wait: nothing of the run is
// claimed, running turns are told, and the run later goes on where it was.
func TestPauseRun(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='each'\nagent='a'\nfor_each='1..100'\nmax_parallel=100\ntimeout='10m'\nprompt='{{.item}}'\n", nil)
		w.advance(run)
		running := w.claim("a")
		before := must(w.store.Requests.Request(w.Context(), running.Request.ID))(w)
		must(w.store.PauseRun(w.Context(), run))(w)
		w.want("who works is told", must(w.store.Signal(w.Context(), running.Fence))(w).Paused, true)
		w.ok(w.store.Suspend(w.Context(), running.Fence, fika.WaitPause, time.Time{}))
		if c := w.claim("a"); c != nil {
			t.Fatalf("%s was claimed", c.Request.ID)
		}
		w.want("work", len(must(w.store.WithWork(w.Context()))(w)), 0)
		w.want("due", len(w.due(w.Context())), 0)
		w.clock.Advance(time.Hour)
		w.advance(run)
		w.want("nothing has ended", w.steps(run)["each"].Failed, 0)
		_, ring, err := w.store.ContinueRun(w.Context(), run)
		w.ok(err)
		w.want("rung", ring, []fika.AgentName{"a"})
		w.want("the time does not count", w.advance(run).Over(), false)
		w.want("the one that waited continues", w.claim("a").Request.ID, before.ID)
	})
}

// TestCancelRun: after a cancel nothing begins, everything that waits ends, and so
// does the run, even if it is paused.
func TestCancelRun(t *testing.T) {
	onEngines(t, func(w *world) {
		for _, paused := range []bool{false, true} {
			run := w.start("[[steps]]\nid='each'\nagent='a'\nfor_each='1..100'\nmax_parallel=100\nprompt='{{.item}}'\n[[steps]]\nid='after'\nneeds=['each']\nagent='b'\nprompt='x'\n", nil)
			w.advance(run)
			running := w.claim("a")
			if paused {
				must(w.store.PauseRun(w.Context(), run))(w)
			}
			_, ring, err := w.store.StopRun(w.Context(), run, "enough")
			w.ok(err)
			w.want("rung", ring, []fika.AgentName{"a"})
			if c := w.claim("a"); c != nil {
				t.Fatalf("%s was claimed", c.Request.ID)
			}
			w.want("who works is told", must(w.store.Signal(w.Context(), running.Fence))(w).Cancel, true)
			r := w.advance(run)
			w.want("run", r.State, fika.Cancelled)
			w.want("reason", r.Reason, "enough")
			left := must(w.store.ListRequests(w.Context(), store.RequestFilter{States: []fika.RequestState{fika.Open, fika.Waiting}}))(w)
			w.want("left", len(left), 0)
			_, err = w.store.Finish(w.Context(), running.Fence, store.Finish{State: fika.Cancelled, Reason: "told to"})
			w.ok(err)
			w.want("due", len(w.due(w.Context())), 0)
			if _, err := w.store.PauseRun(w.Context(), run); !fika.IsKind(err, fika.Conflict) {
				t.Errorf("pause of a run that is over: %v", err)
			}
		}
	})
}

// TestApproval: a step waits for a person while no process holds anything. Yes lets
// it go on, no fails it, and only the first answer counts.
func TestApproval(t *testing.T) {
	onEngines(t, func(w *world) {
		text := "[[steps]]\nid='one'\nagent='a'\nprompt='1'\n[[steps]]\nid='ok'\nneeds=['one']\napprove=true\nprompt='publish {{.steps.one.output}}?'\n[[steps]]\nid='do'\nneeds=['ok']\napprove=true\nagent='b'\nprompt='do it'\n"
		for _, allow := range []bool{true, false} {
			w.asked = nil
			run := w.start(text, nil)
			w.work(run)
			open := must(w.store.OpenApprovals(w.Context()))(w)
			w.want("questions", len(open), 1)
			w.want("asked", w.asked, []string{"a: 1"})
			must(w.store.AnswerApproval(w.Context(), open[0].N, store.ApprovalAnswer{Allow: allow, By: "ann", Why: "fine"}))(w)
			if _, err := w.store.AnswerApproval(w.Context(), open[0].N, store.ApprovalAnswer{Allow: true, By: "ben"}); !fika.IsKind(err, fika.Conflict) {
				t.Errorf("a second answer: %v", err)
			}
			w.want("due", w.due(w.Context()), []fika.RequestID{run})
			w.flow = w.advancer() // everything was restarted
			r := w.work(run)
			if !allow {
				w.want("state", r.State, fika.RequestFailed)
				w.want("reason", w.steps(run)["ok"].Reason, workflow.ReasonDenied)
				continue
			}
			w.want("output", must(w.store.Output(w.Context(), w.steps(run)["ok"].ID))(w).Text, "fine")
			open = must(w.store.OpenApprovals(w.Context()))(w)
			w.want("the next question", len(open), 1)
			must(w.store.AnswerApproval(w.Context(), open[0].N, store.ApprovalAnswer{Allow: true, By: "ann"}))(w)
			w.want("answer", w.work(run).Outcome.Answer, "b did: do it")
		}
	})
}

// TestRetry: a failed step is tried again after a pause, for which somebody wakes up.
func TestRetry(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='x'\nagent='a'\nprompt='x'\nretry={max=2, backoff='1m'}\n", nil)
		n := 0
		w.answer = func(fika.AgentName, string) (string, error) {
			if n++; n < 3 {
				return "", errors.New("busy")
			}
			return "at last", nil
		}
		w.work(run)
		w.want("due", len(w.due(w.Context())), 0)
		for range 2 {
			w.clock.Advance(3 * time.Minute)
			w.want("due", len(w.due(w.Context())), 1)
			w.work(run)
		}
		w.want("answer", w.run(run).Outcome.Answer, "at last")
		w.want("attempts", w.steps(run)["x"].Attempt, 3)
	})
}

// TestClockPutBack: after a clock is put back, nothing waits for longer than its step
// says.
func TestClockPutBack(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='x'\nagent='a'\nprompt='x'\nretry={max=1, backoff='1m'}\n[[steps]]\nid='y'\nagent='b'\nprompt='y'\ntimeout='90s'\n", nil)
		w.advance(run)
		w.answer = func(fika.AgentName, string) (string, error) { return "", errors.New("busy") }
		w.end(w.claim("a"))
		w.advance(run)
		w.clock.Advance(-time.Hour)
		w.want("somebody looks", w.due(w.Context()), []fika.RequestID{run})
		w.advance(run)
		w.want("and rests", len(w.due(w.Context())), 0)
		if c := w.claim("a"); c != nil {
			t.Fatal("it is tried again too early")
		}
		w.clock.Advance(time.Minute)
		w.advance(run)
		if w.claim("a") == nil {
			t.Fatal("it is not tried again")
		}
		w.clock.Advance(40 * time.Second)
		w.want("somebody looks again", w.due(w.Context()), []fika.RequestID{run})
		w.advance(run)
		w.want("what takes too long", w.steps(run)["y"].Reason, workflow.ReasonTimeout)
	})
}

// TestTimeout: a step that takes too long fails, and its request is told to stop.
func TestTimeout(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='x'\nagent='a'\nprompt='x'\ntimeout='1m'\n", nil)
		w.advance(run)
		c := w.claim("a")
		w.clock.Advance(2 * time.Minute)
		w.want("due", len(w.due(w.Context())), 1)
		r := w.advance(run)
		w.want("reason", w.steps(run)["x"].Reason, workflow.ReasonTimeout)
		w.want("state", r.State, fika.RequestFailed)
		w.want("told", must(w.store.Signal(w.Context(), c.Fence))(w).Cancel, true)
	})
}

// TestUnknownAgent: a step whose agent does not exist (any more) fails with an error that
// says so, but the run goes on.
func TestUnknownAgent(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='x'\nagent='nobody'\nprompt='x'\n[[steps]]\nid='y'\nagent='a'\nprompt='y'\n[[steps]]\nid='z'\nneeds=['x','y']\njoin='ended'\nagent='b'\nprompt='{{.steps.x.error}}'\n", nil)
		w.want("answer", w.work(run).Outcome.Answer, "b did: agent not found: nobody")
	})
}

// TestLongOutput: a prompt gets the beginning of a long text, and the name of a file
// that contains all of it.
func TestLongOutput(t *testing.T) {
	onEngines(t, func(w *world) {
		long := strings.Repeat("0123456789", 10_000)
		run := w.start("[[steps]]\nid='x'\nagent='a'\nprompt='x'\n[[steps]]\nid='y'\nneeds=['x']\nagent='b'\nprompt='{{.steps.x.output}}'\n", nil)
		w.answer = func(a fika.AgentName, prompt string) (string, error) {
			if a == "a" {
				return long, nil
			}
			return fmt.Sprint(len(prompt) < 40_000), nil
		}
		w.want("answer", w.work(run).Outcome.Answer, "true")
		w.want("files", len(w.kept), 1)
		for path, text := range w.kept {
			if text != long || !strings.Contains(w.askedOf("b")[0], "all 100000 bytes are in "+path) {
				t.Errorf("%s has %d bytes; the prompt ends with %q", path, len(text), w.askedOf("b")[0][32<<10:])
			}
		}
	})
}

// TestEndsWithItsPlan: outputs that a plan ends or assembles are in the answer of a
// run that ends with the same plan, and in the prompts that begin with it.
func TestEndsWithItsPlan(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	inner := "[[steps]]\nid='x'\nagent='a'\nprompt='x {{.inputs.n}}'\n"
	pair := inner + "[[steps]]\nid='y'\nagent='b'\nprompt='y {{.inputs.n}}'\n"
	each := "[[steps]]\nid='each'\nworkflow='inner'\nfor_each='1..3'\nmax_parallel=3\ninputs={n='{{.item}}'}\n"
	one := "[[steps]]\nid='one'\nworkflow='inner'\ninputs={n='1'}\n"
	reader := func(of string) string {
		return "[[steps]]\nid='last'\nneeds=['" + of + "']\nagent='c'\nprompt='{{json .steps." + of + ".output}}'\n"
	}
	for name, c := range map[string]struct {
		inner, outer, want string // want: "" if it does not matter
		says               string // instead of the prompt
		files              int
	}{
		"items":           {inner, each, "a did: x 1\n\na did: x 2\n\na did: x 3", "", 0},
		"put together":    {pair, one, "## x\n\na did: x 1\n\n## y\n\nb did: y 1", "", 0},
		"both":            {pair, each, "## x\n\na did: x 1\n\n## y\n\nb did: y 1\n\n## x\n\na did: x 2\n\n## y\n\nb did: y 2\n\n## x\n\na did: x 3\n\n## y\n\nb did: y 3", "", 0},
		"long in a list":  {inner, each + reader("each"), "", long, 3},
		"long and merged": {pair, one + reader("one"), "", long, 1},
		"long, to a workflow inside": {"[[steps]]\nid='last'\nagent='c'\nprompt='{{.inputs.n}}'\n",
			"[[steps]]\nid='x'\nagent='a'\nprompt='x 1'\n[[steps]]\nid='in'\nneeds=['x']\nworkflow='inner'\ninputs={n='{{.steps.x.output}}'}\n", "", long, 1},
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(w *world) {
				w.answer = func(a fika.AgentName, prompt string) (string, error) {
					if c.says != "" && a != "c" {
						return c.says + strings.Fields(prompt)[1], nil
					}
					return string(a) + " did: " + prompt, nil
				}
				known := workflow.Known{Names: []string{"inner"}, Read: func(string) (string, []byte, error) {
					return "inner.toml", []byte("[inputs]\nn={type='text'}\n" + c.inner), nil
				}}
				d, err := workflow.Load("test", "test.toml", []byte(c.outer), known)
				w.ok(err)
				r := w.work(w.startDefinition(d, nil))
				w.want("state", r.State, fika.Done)
				if c.want != "" {
					w.want("answer", r.Outcome.Answer, c.want)
				}
				w.want("files", len(w.kept), c.files)
				for path, text := range w.kept {
					if !strings.Contains(w.askedOf("c")[0], path) || !strings.Contains(text, c.says) {
						t.Errorf("%s has %d bytes; it is not in %.100q", path, len(text), w.askedOf("c")[0])
					}
				}
			})
		})
	}
}

// TestLimit: a run that has reached one of its own limits ends and names the limit.
func TestLimit(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[limits]\nmax_turns=3\n[[steps]]\nid='each'\nagent='a'\nfor_each='1..10'\nmax_parallel=1\nprompt='{{.item}}'\n", nil)
		r := w.work(run)
		w.want("state", r.State, fika.RequestFailed)
		w.want("kind", r.Outcome.ErrorKind, fika.Limit)
		w.want("says", r.Outcome.Error, "the run came to its limit max_turns (3)")
		w.want("limit", r.Result.Limit, workflow.LimitTurns)
		w.want("asked", len(w.asked), 3)
		w.want("not by a limit", w.work(w.start("[limits]\nmax_turns=3\n[[steps]]\nid='x'\nagent='a'\nprompt='x'\n", nil)).Result.Limit, "")
	})
}

// TestTimeLimit: a run whose time is up names that limit, whoever finds it.
func TestTimeLimit(t *testing.T) {
	onEngines(t, func(w *world) {
		text := "[limits]\nmax_time='10m'\n[[steps]]\nid='x'\nagent='a'\nprompt='x'\n"
		for name, find := range map[string]func(*store.Claimed){
			"who ends a step":         func(c *store.Claimed) { w.end(c) },
			"who looks for deadlines": func(*store.Claimed) { must(w.store.Expire(w.Context()))(w) },
		} {
			run := w.start(text+"[[steps]]\nid='y'\nneeds=['x']\nagent='b'\nprompt='y'\n", nil)
			w.advance(run)
			c := w.claim("a")
			w.clock.Advance(11 * time.Minute)
			find(c)
			r := w.advance(run)
			w.want(name, r.State, fika.RequestFailed)
			w.want(name, r.Result.Limit, workflow.LimitTime)
			w.want(name, strings.Contains(r.Outcome.Error, "max_time"), true)
		}
	})
}

// TestTaint: text from outside taints every prompt that it enters.
func TestTaint(t *testing.T) {
	onEngines(t, func(w *world) {
		run := w.start("[[steps]]\nid='x'\nagent='a'\nprompt='x'\n[[steps]]\nid='clean'\nagent='c'\nprompt='z'\n[[steps]]\nid='y'\nneeds=['x']\nagent='b'\nprompt='{{.steps.x.output}}'\n", nil)
		w.advance(run)
		c := w.claim("a")
		_, err := w.store.Finish(w.Context(), c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "read"}, Outcome: fika.Outcome{Taint: "fetch example.org"}})
		w.ok(err)
		w.advance(run)
		w.want("tainted", w.claim("b").Request.Taint, "fetch example.org")
		w.want("clean", w.claim("c").Request.Taint, "")
	})
}

// must returns a value, or ends the test.
func must[T any](v T, err error) func(*world) T {
	return func(w *world) T {
		w.Helper()
		w.ok(err)
		return v
	}
}
