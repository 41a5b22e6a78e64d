package client

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/flow"
	"fika/internal/store"
	"fika/internal/workflow"
)

// Runs is what may be asked of runs of workflows: to begin, to be looked at, to
// pause, to go on, to end.
type Runs struct {
	c    *Client
	flow *flow.Advancer
}

// What the store keeps of them.
type (
	// Run is a run as it stands.
	Run = store.Run
	// RunStep is a piece of a run.
	RunStep = store.RunStep
)

// Runs are those of this system.
func (c *Client) Runs() *Runs {
	return &Runs{c, c.app.Advancer(c.store, c.bus, c.subjects)}
}

// Start begins a run of a definition, with inputs as they were typed, for the
// person who asks. Its first steps are there when Start returns. Error kinds:
// Invalid for inputs that are missing or wrong, Denied inside a tool, since
// agents start no runs.
func (s *Runs) Start(ctx context.Context, d *workflow.Definition, given map[string]string) (Run, error) {
	return s.StartDefinition(ctx, d, given, d.Title(given))
}

// StartDefinition is Start for a definition that lists show as title: one that
// has no name of its own.
func (s *Runs) StartDefinition(ctx context.Context, d *workflow.Definition, given map[string]string, title string) (Run, error) {
	said, err := s.c.personSays("", "")
	if err != nil {
		return Run{}, err
	}
	r, err := s.start(ctx, d, given, store.NewRun{Name: d.Name, From: said.From, Title: title})
	if err != nil {
		return r, err
	}
	return s.advanced(ctx, r.ID)
}

// start stores a run of a definition with what n says of it besides.
func (s *Runs) start(ctx context.Context, d *workflow.Definition, given map[string]string, n store.NewRun) (Run, error) {
	speaker, err := s.c.app.Speaker(ctx)
	if err == nil && speaker != nil {
		err = fika.Errorf(fika.Denied, "", "inside a tool @%s starts no runs: that is a person's to say", speaker.Agent)
	}
	if err != nil {
		return Run{}, err
	}
	if n, err = s.prepare(d, given, n); err != nil {
		return Run{}, err
	}
	return s.c.store.Start(ctx, n)
}

// prepare says of a run what its definition and inputs make of it.
func (s *Runs) prepare(d *workflow.Definition, given map[string]string, n store.NewRun) (store.NewRun, error) {
	w, err := OpenWorkflows(s.c.app)
	if err != nil {
		return n, err
	}
	bound, err := d.Bind(given, w.agents)
	if err != nil {
		return n, err
	}
	if n.Definition, err = d.Freeze(); err != nil {
		return n, err
	}
	if n.Inputs, err = json.Marshal(bound); err != nil {
		return n, fika.Wrap(fika.Invalid, "start run", err)
	}
	n.Deadline = s.deadline(d)
	return n, s.makeContexts(d.MeetingContexts())
}

// makeContexts makes those of the contexts that are missing.
func (s *Runs) makeContexts(names []fika.AgentName) error {
	for _, name := range names {
		if _, err := s.c.home.Create(name); err != nil && !fika.IsKind(err, fika.Conflict) {
			return err
		}
	}
	return nil
}

// deadline is when a run has used up its time.
func (s *Runs) deadline(d *workflow.Definition) time.Time {
	if d.Limits.Time == 0 {
		return time.Time{}
	}
	return s.c.now().Add(d.Limits.Time)
}

// advanced does what there is to do in a run now, and reads it. That it could
// not be done is no error: the hub does it.
func (s *Runs) advanced(ctx context.Context, id fika.RequestID) (Run, error) {
	if err := s.flow.Advance(ctx, id); err != nil {
		s.c.app.Log().Warn("advance run", "run", id, "err", err)
	}
	s.c.waker.WakeHub()
	_ = s.c.bus.Flush(ctx)
	return s.c.store.Run(ctx, id)
}

// Find reads a run by its id or a unique beginning of it. NotFound. Denied when an
// agent asks, through a command in one of its tools, that may not see all of it.
func (s *Runs) Find(ctx context.Context, id string) (Run, error) {
	r, err := s.c.store.Run(ctx, fika.RequestID(id))
	if err != nil {
		return r, err
	}
	reader, err := s.c.newReader()
	if err != nil {
		return r, err
	}
	may, err := reader.run(ctx, r.ID)
	if err == nil && !may {
		err = fika.Errorf(fika.Denied, "", "run %s is not readable by %s: it holds work of agents that leave it out (readable_by)", r.ID, reader.agent)
	}
	return r, err
}

// List gives runs, newest first: those that go on, or all, that whoever asks may
// see. limit 0: no bound.
func (s *Runs) List(ctx context.Context, going bool, limit int) ([]Run, error) {
	list, err := s.c.store.Runs(ctx, going, limit)
	if err != nil {
		return nil, err
	}
	reader, err := s.c.newReader()
	if err != nil || reader.agent == "" {
		return list, err
	}
	var out []Run
	for _, r := range list {
		may, err := reader.run(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if may {
			out = append(out, r)
		}
	}
	return out, nil
}

// Steps are the pieces of a run in the order in which they began, each attempt
// at one included.
func (s *Runs) Steps(ctx context.Context, id fika.RequestID) ([]RunStep, error) {
	return s.c.store.RunSteps(ctx, id, time.Time{})
}

// Definition is what a run was begun with.
func (s *Runs) Definition(ctx context.Context, id fika.RequestID) (*workflow.Definition, error) {
	frozen, _, _, err := s.c.store.Definition(ctx, id)
	if err != nil {
		return nil, err
	}
	return workflow.Thaw(frozen)
}

// Output is all that a step gave; NotFound when it gave nothing. Of a step that
// went through a list it is that of each item, in order.
func (s *Runs) Output(ctx context.Context, step RunStep) ([]string, error) {
	if step.Kind == workflow.KindEach {
		items, err := s.c.store.Items(ctx, step.ID, maxOutput)
		texts := make([]string, len(items))
		for i, o := range items {
			texts[i] = o.Text
		}
		return texts, err
	}
	if step.From == "" {
		return nil, fika.Errorf(fika.NotFound, "", "the step %s has no output: it is %s", step.Path, step.State)
	}
	o, err := s.c.store.Output(ctx, step.From)
	return []string{o.Text}, err
}

// maxOutput bounds what is shown of the items of a step.
const maxOutput = 256 << 20

// Pause lets nothing more of a run begin, however much of it waits.
func (s *Runs) Pause(ctx context.Context, id fika.RequestID) (Run, error) {
	return s.c.store.PauseRun(ctx, id)
}

// Continue lets a paused run go on.
func (s *Runs) Continue(ctx context.Context, id fika.RequestID) (Run, error) {
	r, ring, err := s.c.store.ContinueRun(ctx, id)
	if err != nil {
		return r, err
	}
	s.c.waker.Wake(ring...)
	return s.advanced(ctx, id)
}

// Cancel ends a run: nothing of it begins any more, and what runs is told to
// stop.
func (s *Runs) Cancel(ctx context.Context, id fika.RequestID, reason string) (Run, error) {
	r, ring, err := s.c.store.StopRun(ctx, id, reason)
	if err != nil {
		return r, err
	}
	s.c.waker.Wake(ring...)
	return s.advanced(ctx, id)
}

// FileChanges says how the file of a run's workflow differs from what the run was
// begun with: as the lines of a diff, none when it does not or there is no file.
// The definition is the one that the files give now.
func (s *Runs) FileChanges(ctx context.Context, r Run) (*workflow.Definition, []string, error) {
	before, err := s.Definition(ctx, r.ID)
	if err != nil || before.Name == "" {
		return before, nil, err
	}
	w, err := OpenWorkflows(s.c.app)
	if err != nil {
		return nil, nil, err
	}
	word := before.Name
	if filepath.IsAbs(before.File) {
		word = before.File
	}
	now, err := w.Load(word)
	if fika.IsKind(err, fika.NotFound) {
		return before, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return now, workflow.Diff(before, now), nil
}

// Resume lets a run that is over go on with what is not done, and with the step
// from and all that needs it if from is not empty. now is the definition to go on
// with; nil: the one it had. Error kinds: Conflict when it is not over, Invalid
// when all is done, NotFound (from).
func (s *Runs) Resume(ctx context.Context, r Run, now *workflow.Definition, from string) (Run, error) {
	before, err := s.Definition(ctx, r.ID)
	if err != nil {
		return r, err
	}
	n := store.Resumption{Version: r.Version}
	if now == nil {
		now = before
	} else if n.Definition, err = now.Freeze(); err != nil {
		return r, err
	}
	rows, err := s.c.store.Resumable(ctx, r.ID)
	if err != nil {
		return r, err
	}
	if n.Rows, err = workflow.ResumeRows(string(r.ID), before, now, rows, from); err != nil {
		return r, err
	}
	n.Deadline = s.deadline(now)
	if r, err = s.c.store.ResumeRun(ctx, r.ID, n); err != nil {
		return r, err
	}
	return s.advanced(ctx, r.ID)
}

// Await waits until a run is over, and hands on its own steps and what is under
// way in them whenever something has changed. warn, which may be nil, is told once of
// each thing before which nothing goes on: that no hub is there, and what Hindered says. When ctx ends first the error is ctx's.
func (s *Runs) Await(ctx context.Context, id fika.RequestID, show func(Run, []RunStep), warn func(string)) (Run, error) {
	changed := make(chan struct{}, 1)
	sub, err := s.c.bus.Subscribe(s.c.subjects.Workflow(id), func(bus.Msg) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return Run{}, err
	}
	defer func() { _ = sub.Close() }()
	ask := time.NewTicker(pollEvery)
	defer ask.Stop()
	warned := map[string]bool{}
	told := func(text string) {
		if warn != nil && !warned[text] {
			warned[text] = true
			warn(text)
		}
	}
	since := s.c.now()
	for seen := int64(-1); ; {
		r, err := s.c.store.Run(ctx, id)
		if err != nil {
			return r, errors.Join(ctx.Err(), err)
		}
		if r.Version != seen && show != nil {
			steps, err := s.c.store.RunSteps(ctx, id, since)
			if err != nil {
				return r, errors.Join(ctx.Err(), err)
			}
			show(r, steps)
			for _, st := range steps {
				if st.Ended.After(since) {
					since = st.Ended
				}
			}
			seen = r.Version
		}
		if r.Over() {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-changed:
		case <-ask.C:
			if !s.c.Connected() { // no hub: whoever waits helps
				s.flow.AdvanceDue(ctx)
			}
			if _, up := s.c.home.HubProcess(); !up {
				told("no hub is running, so agents that have ended stay away; fika up starts them again")
			} else if r.Paused.IsZero() {
				for _, why := range s.hinderedNow(ctx, id) {
					told(why)
				}
			}
		}
	}
}

// UnderWay are the steps of a run that an agent has and has not ended.
func (s *Runs) UnderWay(ctx context.Context, id fika.RequestID) ([]RunStep, error) {
	steps, err := s.c.store.RunSteps(ctx, id, s.c.now())
	return slices.DeleteFunc(steps, func(st RunStep) bool { return st.State != workflow.Running || st.Agent == "" }), err
}

// hinderedNow is Hindered for the steps of a run as they are now.
func (s *Runs) hinderedNow(ctx context.Context, id fika.RequestID) []string {
	steps, err := s.c.store.RunSteps(ctx, id, s.c.now())
	if err != nil {
		return nil // the next look says it
	}
	return s.HinderedAgents(ctx, steps)
}

// HinderedAgents says of the agents that have a step to do, and do not come to it before
// a person does something, why and what.
func (s *Runs) HinderedAgents(ctx context.Context, steps []RunStep) []string {
	var names []fika.AgentName
	for _, st := range steps {
		if st.State == workflow.Running && st.Agent != "" && !slices.Contains(names, st.Agent) {
			names = append(names, st.Agent)
		}
	}
	return s.c.Availability.eachHindered(ctx, names, s.c.Availability.NeverAnswers)
}
