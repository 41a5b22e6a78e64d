package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk stands for everything behind the console.
type desk struct {
	starts   chan struct{} // what a start waits for; nil: nothing, and did is not used
	did      chan string
	mu       sync.Mutex
	lines    chan string // closed: the end of input
	shown    []string
	tty      bool
	requests map[fika.RequestID]*service.RequestInfo
	saved    []fika.RequestID
	agents   []service.AgentView
	here     func(context.Context, string) (service.RequestInfo, error)
	broken   error // of the store
	next     int
	never    api.Status   // why nobody answers
	how      fika.Desired // of the last stop
	rung     chan struct{}
}

func newDesk() *desk {
	return &desk{lines: make(chan string, 20), requests: map[fika.RequestID]*service.RequestInfo{}, rung: make(chan struct{}, 1)}
}

func (d *desk) master(change func(*Options)) *Master {
	o := Options{
		Screen: d, Requests: d, Agents: keeper{d}, Directory: keeper{d}, Availability: keeper{d}, Routing: keeper{d}, Archive: archive{}, Usage: noUsage, Here: d.worksHere, Memory: d, Ended: d.rung, Configured: true,
		NewID: func() fika.RequestID { d.next++; return fika.RequestID(fmt.Sprintf("id-%d", d.next)) },
	}
	if change != nil {
		change(&o)
	}
	return New(o)
}

func (d *desk) ReadLine(ctx context.Context) (string, error) {
	select {
	case l, ok := <-d.lines:
		if !ok {
			return "", io.EOF
		}
		return l, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (d *desk) Print(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = append(d.shown, strings.TrimRight(text, "\n"))
}

func (d *desk) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.shown, "\n")
}

func (d *desk) Status(string)     {}
func (d *desk) Interactive() bool { return d.tty }

func (d *desk) Submit(_ context.Context, a fika.Agent, ask service.Ask) (service.Accepted, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.saved, ask.ID) {
		return service.Accepted{}, errors.New("submitted before it was remembered")
	}
	r := fika.Request{ID: ask.ID, Kind: ask.Kind, State: fika.Open, Payload: fika.Payload{Prompt: ask.Prompt}}
	d.requests[ask.ID] = &service.RequestInfo{AgentName: a.Name, Request: r}
	return service.Accepted{Request: r}, nil
}

func (d *desk) Request(_ context.Context, id fika.RequestID) (service.RequestInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return service.RequestInfo{}, d.broken
	}
	r := d.requests[id]
	if r == nil {
		return service.RequestInfo{}, fika.Errorf(fika.NotFound, "", "request %q not found (fika request list)", id)
	}
	return *r, nil
}

func (d *desk) Cancel(_ context.Context, id fika.RequestID, _ string) (fika.Request, error) {
	d.end(id, fika.Cancelled, "")
	r, err := d.Request(context.Background(), id)
	return r.Request, err
}

func (d *desk) worksHere(ctx context.Context, prompt string) (service.RequestInfo, error) {
	return d.here(ctx, prompt)
}

func (d *desk) Load() ([]fika.RequestID, error) { return d.saved, nil }

func (d *desk) Save(ids []fika.RequestID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saved = ids
	return nil
}

// end gives a request its outcome and rings.
func (d *desk) end(id fika.RequestID, state fika.RequestState, answer string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.requests[id]
	r.State, r.Outcome.Answer, r.Reason = state, answer, "for a reason"
	r.StartedAt = time.Unix(100, 0)
	r.FinishedAt = r.StartedAt.Add(12300 * time.Millisecond)
	r.Outcome.Usage = fika.Usage{Input: 1200, Output: 450, Cost: 4000}
	select {
	case d.rung <- struct{}{}:
	default:
	}
}

type keeper struct{ *desk }

func (k keeper) Find(_ context.Context, name string) (fika.Agent, error) {
	if !slices.Contains([]string{"coder", "lazy", "researcher"}, name) {
		return fika.Agent{}, fika.Errorf(fika.NotFound, "", "agent %q not found", name)
	}
	return fika.Agent{ID: fika.AgentID(name), Name: fika.AgentName(name)}, nil
}

// Choose takes what speaks of reviews for the coder's, and is sure of nothing else.
func (k keeper) ChooseJudged(ctx context.Context, prompt string, _ func(string)) (fika.Agent, service.Match, error) {
	return k.Choose(ctx, prompt)
}

func (k keeper) Choose(ctx context.Context, prompt string) (fika.Agent, service.Match, error) {
	if !strings.Contains(prompt, "review") {
		return fika.Agent{}, service.Match{}, fika.Errorf(fika.Invalid, "", "it is not sure whom this is for")
	}
	row, err := k.Find(ctx, "coder")
	return row, service.Match{Agent: "coder", Sure: true, Work: "code review", Why: "code review, by \"review\""}, err
}

// View shows coder as running already.
func (k keeper) View(ctx context.Context, name string) (service.AgentView, error) {
	row, err := k.Find(ctx, name)
	v := service.AgentView{Row: row}
	if name == "coder" {
		v.PID = 7
	}
	return v, err
}

func (k keeper) NeverAnswers(context.Context, fika.Agent) api.Status { return k.never }

func (k keeper) List(context.Context, bool) ([]service.AgentView, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.agents), nil
}

func (k keeper) Start(_ context.Context, row fika.Agent, _ time.Duration) (service.AgentView, error) {
	if k.desk.starts != nil {
		<-k.desk.starts
		k.desk.did <- "start"
	}
	return service.AgentView{Row: row, PID: 7}, nil
}

func (k keeper) Stop(_ context.Context, _ fika.Agent, how fika.Desired, _ time.Duration) (service.AgentView, error) {
	k.desk.how = how
	if k.desk.starts != nil {
		k.desk.did <- "stop"
	}
	return service.AgentView{}, nil
}

func (k keeper) Reset(context.Context, fika.Agent) (fika.Conversation, error) {
	return fika.Conversation{}, nil
}

func (k keeper) Switch(context.Context, fika.Agent, string) (fika.Conversation, error) {
	return fika.Conversation{}, nil
}

type archive struct{}

func (archive) List(context.Context, service.ConversationFilter) ([]service.ConversationInfo, error) {
	return nil, nil
}
func (archive) Active(context.Context) (map[fika.ConversationID]bool, error) { return nil, nil }

func noUsage(context.Context, time.Time) ([]service.UsageRow, error) { return nil, nil }

// run runs a console beside the test, in a bubble where time is the test's.
func run(t *testing.T, m *Master, d *desk, test func()) error {
	t.Helper()
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = m.Run(t.Context())
	}()
	synctest.Wait()
	test()
	close(d.lines)
	<-done
	return err
}

func (d *desk) shows(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	for _, w := range want {
		if !strings.Contains(d.text(), w) {
			t.Errorf("no %q in:\n%s", w, d.text())
		}
	}
}

func TestRouting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		err := run(t, d.master(nil), d, func() {
			d.lines <- "@coder:task: build it"
			d.lines <- "@lazy: look"
			d.shows(t, "→ Sent task to @coder  id-1", "→ Sent to @lazy  id-2")
			d.end("id-2", fika.Done, "seen")
			d.shows(t, "✓ @lazy completed (12.3 s, 1.2k/450 tokens, $0.004)\n  ask id-2: look\nseen")
			d.end("id-1", fika.RequestFailed, "")
			d.shows(t, "✗ @coder failed: for a reason\n  task id-1: build it")
		})
		if !errors.Is(err, ErrFailed) || len(d.saved) != 0 {
			t.Errorf("error %v, saved %v", err, d.saved)
		}
	})
}

func TestOutcomesNeedNoBell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		_ = run(t, d.master(func(o *Options) { o.Ended = nil }), d, func() {
			d.lines <- "@coder: x"
			synctest.Wait()
			d.end("id-1", fika.Done, "found")
			time.Sleep(time.Second)
			d.shows(t, "found")
		})
	})
}

func TestInterruptCancelsTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		m := d.master(nil)
		_ = run(t, m, d, func() {
			d.lines <- "@coder: one"
			d.lines <- "@coder: two"
			d.lines <- "@coder: three"
			synctest.Wait()
			m.Interrupt()
			d.shows(t, "✗ @coder cancelled: for a reason\n  ask id-3: three")
			d.lines <- "/cancel id-1"
			d.shows(t, "  ask id-1: one")
			m.Interrupt()
			d.shows(t, "  ask id-2: two")
			m.Interrupt()
			d.shows(t, "nothing is waiting")
		})
	})
}

func TestRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.tty = true
		_ = run(t, d.master(nil), d, func() {
			d.lines <- "@coder: one"
			d.lines <- "@coder: two"
			synctest.Wait()
		})
		d.shows(t, "2 still at work")
		d.end("id-1", fika.Done, "meanwhile")
		d.saved = append(d.saved, "never-committed")
		d.lines, d.shown = make(chan string), nil
		_ = run(t, d.master(nil), d, func() { d.shows(t, "  ask id-1: one\nmeanwhile") })
		if !slices.Equal(d.saved, []fika.RequestID{"id-2"}) {
			t.Errorf("saved %v", d.saved)
		}
	})
}

func TestPlainText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		_ = run(t, d.master(func(o *Options) { o.Default = "coder" }), d, func() {
			d.lines <- "hello"
			d.shows(t, "→ Sent to @coder")
			d.end("id-1", fika.Done, "")
		})
		d = newDesk()
		_ = run(t, d.master(nil), d, func() {
			d.lines <- "hello"
			d.shows(t, "set default_agent")
		})
		d = newDesk()
		started := make(chan string, 2)
		d.here = func(ctx context.Context, p string) (service.RequestInfo, error) {
			started <- p
			if p == "long" {
				<-ctx.Done()
				return service.RequestInfo{}, fika.Errorf(fika.Interrupted, "", "cancelled")
			}
			return service.RequestInfo{Request: fika.Request{State: fika.Done, Outcome: fika.Outcome{Answer: "done " + p}}}, nil
		}
		m := d.master(func(o *Options) { o.Configured = false })
		_ = run(t, m, d, func() {
			d.lines <- "long"
			<-started
			m.Interrupt()
			d.shows(t, "cancelled")
			d.lines <- "short"
			d.shows(t, "done short")
		})
	})
}

// TestTellsOfCrashes: what happens to agents is said without being asked.
func TestTellsOfCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		set := func(status fika.AgentState, pid int, trouble string) {
			d.mu.Lock()
			d.agents = []service.AgentView{{Row: fika.Agent{Name: "coder"}, Status: status, PID: pid}}
			if trouble != "" {
				d.agents[0].Trouble = api.Stands(api.AgentReports, "reason", trouble)
			}
			d.mu.Unlock()
			time.Sleep(time.Minute)
		}
		d.agents = []service.AgentView{{Row: fika.Agent{Name: "coder"}, Status: fika.AgentIdle, PID: 1}}
		_ = run(t, d.master(nil), d, func() {
			set(fika.AgentUnhealthy, 0, "signal: killed")
			d.shows(t, "✗ @coder is unhealthy: signal: killed")
			set(fika.AgentIdle, 2, "")
			d.shows(t, "✓ @coder is back (pid: 2)")
			set(fika.AgentBusy, 3, "")
			d.shows(t, "↻ @coder was restarted (pid: 3)")
		})
	})
}

// TestStoreTrouble: a store that refuses is told once, and loses nothing.
func TestStoreTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		_ = run(t, d.master(nil), d, func() {
			d.lines <- "@coder: x"
			synctest.Wait()
			d.mu.Lock()
			d.broken = fika.Errorf(fika.Storage, "", "the disk is full")
			d.mu.Unlock()
			time.Sleep(time.Minute)
			d.mu.Lock()
			d.broken = nil
			d.mu.Unlock()
			d.end("id-1", fika.Done, "after all")
			d.shows(t, "after all")
		})
		if n := strings.Count(d.text(), "the disk is full"); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// TestHostileText: what others wrote cannot steer the terminal.
func TestHostileText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		_ = run(t, d.master(nil), d, func() {
			d.lines <- "@coder: x\x1b]0;title\x07y"
			synctest.Wait()
			d.end("id-1", fika.Done, "a\x1b[2Jb")
			d.shows(t, "ab")
		})
		if strings.ContainsRune(d.text(), '\x1b') {
			t.Errorf("an escape came through: %q", d.text())
		}
	})
}

func TestOrdinaryCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.agents = []service.AgentView{
			{Row: fika.Agent{Name: "coder"}, Status: fika.AgentIdle, Model: "sonnet", PID: 4, Since: time.Now().Add(-83 * time.Minute), Processed: 15},
			{Row: fika.Agent{Name: "researcher"}, Status: fika.AgentStopped, Model: "haiku"},
		}
		_ = run(t, d.master(nil), d, func() {
			for _, l := range []string{"/agents list", "/agents health", "/agents start researcher", "/agents dance", "/switch x", "/queue", "/cancel", "/nope"} {
				d.lines <- l
			}
			d.shows(t,
				"┌────────────┬─────────┬────────┬────────┬──────────┐\n│ Agent      │ Status  │ Model  │ Uptime │ Requests │",
				"│ coder      │ idle    │ sonnet │ 1h 23m │ 15       │\n│ researcher │ stopped │ haiku  │ -      │ -        │",
				"All agents healthy (1/2 running)", "Starting agent 'researcher'...", "✓ Started (pid: 7)",
				"/agents takes list", "/switch takes an agent", "nothing is waited for", "command /nope not found")
		})
	})
}

// TestE2PipedWaitsForItsOwn: a piped console ends when its own lines have their
// answers. What an earlier one waited for is left to the next, and kept.
func TestE2PipedWaitsForItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.saved = []fika.RequestID{"old"}
		d.requests["old"] = &service.RequestInfo{AgentName: "lazy", Request: fika.Request{ID: "old", State: fika.Open}}
		d.never = api.Stands(api.AgentStopped, "agent", "coder")
		if err := run(t, d.master(nil), d, func() {
			d.lines <- "@coder: one"
			d.shows(t, "→ Sent to @coder", "@coder is off: stopped by you (fika agent start coder); until then it waits")
			d.end("id-1", fika.Done, "answered")
		}); err != nil {
			t.Error(err)
		}
		d.shows(t, "answered")
		if !slices.Equal(d.saved, []fika.RequestID{"old"}) {
			t.Errorf("saved %v", d.saved)
		}
	})
}

// TestE2Timeout: the waiting ends, and who has not answered is named.
func TestE2Timeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		err := run(t, d.master(func(o *Options) { o.Timeout = time.Minute }), d, func() { d.lines <- "@coder: one" })
		if !fika.IsKind(err, fika.Detached) || !strings.Contains(err.Error(), "@coder (id-1)") {
			t.Errorf("ended with %v", err)
		}
		if !slices.Equal(d.saved, []fika.RequestID{"id-1"}) {
			t.Errorf("saved %v", d.saved)
		}
	})
}

// TestE5Wait: with Wait a line is sent when those before it have their answers,
// without it at once.
func TestE5Wait(t *testing.T) {
	for _, wait := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk()
			_ = run(t, d.master(func(o *Options) { o.Wait = wait }), d, func() {
				d.lines <- "@coder: one"
				d.lines <- "@lazy: two"
				synctest.Wait()
				if both := strings.Contains(d.text(), "Sent to @lazy"); both == wait {
					t.Errorf("wait %v: shown\n%s", wait, d.text())
				}
				d.end("id-1", fika.Done, "first")
				synctest.Wait()
				d.shows(t, "Sent to @lazy")
				d.end("id-2", fika.Done, "second")
			})
			d.shows(t, "second")
		})
	}
}

// TestE6Revive: a hub is asked for after each line, and when the bus goes away
// while an answer is waited for.
func TestE6Revive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		news := make(chan string)
		var asked []bool
		o := func(o *Options) {
			o.News = news
			o.Revive = func(_ context.Context, killed bool) (string, error) {
				asked = append(asked, killed)
				return fmt.Sprintf("hub %d", len(asked)), nil
			}
		}
		_ = run(t, d.master(o), d, func() {
			d.lines <- "@coder: one"
			d.shows(t, "hub 1")
			news <- "the bus is away"
			d.shows(t, "hub 2")
			d.end("id-1", fika.Done, "")
			synctest.Wait()
			news <- "the bus is away"
			synctest.Wait()
		})
		if !slices.Equal(asked, []bool{false, true}) {
			t.Errorf("asked %v", asked)
		}
	})
}

// TestE10StopInTheMaster: the ways of stopping are those of fika agent stop.
func TestE10StopInTheMaster(t *testing.T) {
	for line, want := range map[string]fika.Desired{
		"/agents stop coder": fika.DesiredStopped, "/agents stop --finish coder": fika.DesiredFinish, "/agents restart @coder --now": fika.DesiredNow,
		"/agents stop --finish --now coder": "", "/agents start coder --now": "", "/agents stop": "", "/agents stop a b": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk()
			_ = run(t, d.master(nil), d, func() {
				d.lines <- line
				synctest.Wait()
			})
			if d.how != want || (want == "") != strings.Contains(d.text(), "takes the name of an agent") {
				t.Errorf("%s: stopped %q\n%s", line, d.how, d.text())
			}
		})
	}
}

// TestAgentCommandsKeepTheirOrder: an agent that is started and then stopped, by lines
// that come at once, is stopped in the end (trial row R2).
func TestAgentCommandsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.starts, d.did = make(chan struct{}), make(chan string, 3)
		_ = run(t, d.master(nil), d, func() {
			d.lines <- "/agents start lazy"
			d.lines <- "/agents stop @lazy"
			synctest.Wait()
			if len(d.did) != 0 {
				t.Error("the stop came first")
			}
			close(d.starts)
			d.shows(t, "✓ Stopped gracefully")
			if one, two := <-d.did, <-d.did; one != "start" || two != "stop" {
				t.Errorf("%s, then %s", one, two)
			}
		})
	})
}

// TestE11StartedAlready: what ran before was not started.
func TestE11StartedAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		_ = run(t, d.master(nil), d, func() {
			d.lines <- "/agents start coder"
			d.shows(t, "✓ Already running (pid: 7)")
			d.lines <- "/agents start lazy"
			d.shows(t, "✓ Started (pid: 7)")
		})
	})
}

// TestK3Proposes: plain text is given to nobody before a person at a terminal has
// said yes; a piped line is never taken for the answer.
func TestK3Proposes(t *testing.T) {
	const question = "This looks like code review. Use @coder? [Y/n]"
	for _, tt := range []struct {
		tty   bool
		lines []string
		want  []string
		not   string
	}{
		{true, []string{"please review this", ""}, []string{question, "→ Sent to @coder"}, "who shall"},
		{true, []string{"please review this", "YES"}, []string{question, "→ Sent to @coder"}, "who shall"},
		{true, []string{"please review this", "n", ""}, []string{question, "not sent: start the line with @NAME:"}, "Sent to"},
		{true, []string{"please review this", "@lazy: look"}, []string{"not sent: please review this", "→ Sent to @lazy"}, "Sent to @coder"},
		{true, []string{"hello", ""}, []string{"no agent given"}, "Sent to"},
		{false, []string{"please review this", "y"}, []string{"no agent given"}, question},
		{false, []string{"@auto:task: please review this"}, []string{"@coder: code review, by", "→ Sent task to @coder"}, question},
		{true, []string{"@auto: hello"}, []string{"not sure whom this is for"}, "Sent to"},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk()
			d.tty = tt.tty
			_ = run(t, d.master(nil), d, func() {
				for _, l := range tt.lines {
					d.lines <- l
				}
				d.shows(t, tt.want...)
				for i := range tt.lines {
					if id := fika.RequestID(fmt.Sprintf("id-%d", i+1)); d.requests[id] != nil {
						d.end(id, fika.Done, "")
					}
				}
			})
			if strings.Contains(d.text(), tt.not) {
				t.Errorf("%q in:\n%s", tt.not, d.text())
			}
		})
	}
}
