package service

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus"
	"fika/internal/store"
	"fika/internal/workflow"
	"fika/internal/workflow/flow"
)

// Runs is the interface to runs of workflows: start, read, pause, continue,
// end.
type Runs struct {
	c    *Service
	flow *flow.Advancer
}

// The values of the store that describe runs.
type (
	// Run is the current state of a run.
	Run = store.Run
	// RunStep is one step of a run.
	RunStep = store.RunStep
)

// Runs returns the interface to the runs of this home.
func (c *Service) Runs() *Runs {
	return &Runs{c, c.app.Advancer(c.store, c.bus, c.subjects)}
}

// Start starts a run of a definition for the person who asks, with inputs as they were
// typed. Its first steps exist when Start returns. Error kinds: Invalid for missing or
// wrong inputs, Denied inside a tool, since agents start no runs.
func (s *Runs) Start(ctx context.Context, d *workflow.Definition, given map[string]string) (Run, error) {
	return s.StartDefinition(ctx, d, given, d.Title(given))
}

// StartDefinition is [Runs.Start] for a definition without a name of its own, which
// lists show under title.
func (s *Runs) StartDefinition(ctx context.Context, d *workflow.Definition, given map[string]string, title string) (Run, error) {
	said, err := s.c.personSays("", "")
	if err != nil {
		return Run{}, err
	}
	r, err := s.start(ctx, "run.start", d, given, store.NewRun{Name: d.Name, From: said.From, Title: title})
	if err != nil {
		return r, err
	}
	return s.advanced(ctx, r.ID)
}

// start stores a run of a definition with the further properties in n.
func (s *Runs) start(ctx context.Context, verb string, d *workflow.Definition, given map[string]string, n store.NewRun) (Run, error) {
	if err := s.c.may(verb); err != nil {
		return Run{}, err
	}
	speaker, _, err := s.c.speaker(ctx, Alias{})
	if err == nil && speaker != nil {
		err = fika.Errorf(fika.Denied, "", "@%s cannot start workflow runs inside a tool: only a person can", speaker.Agent)
	}
	if err != nil {
		return Run{}, err
	}
	if n, err = s.prepare(d, given, n); err != nil {
		return Run{}, err
	}
	return once(ctx, s.c, verb, []any{n.Definition, n.Inputs, n.From, n.In}, func(to *store.Store) (Run, error) { return to.Start(ctx, n) },
		func(done *store.Repeated) (Run, error) { return s.c.store.Run(ctx, done.Last(store.RunEvent).Run) })
}

// prepare adds to n what the definition and its inputs determine.
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

// makeContexts creates the contexts that are missing.
func (s *Runs) makeContexts(names []fika.AgentName) error {
	for _, name := range names {
		if _, err := s.c.home.Create(name); err != nil && !fika.IsKind(err, fika.Conflict) {
			return err
		}
	}
	return nil
}

// deadline returns when a run that starts now has used up its time; zero if it has no
// limit.
func (s *Runs) deadline(d *workflow.Definition) time.Time {
	if d.Limits.Time == 0 {
		return time.Time{}
	}
	return s.c.now().Add(d.Limits.Time)
}

// advanced does what can be done in a run now, and reads it. A failure is only logged,
// because the hub tries again.
func (s *Runs) advanced(ctx context.Context, id fika.RequestID) (Run, error) {
	if err := s.flow.Advance(ctx, id); err != nil {
		s.c.app.Log().Warn("advance run", "run", id, "err", err)
	}
	s.c.waker.WakeHub()
	_ = s.c.bus.Flush(ctx)
	return s.c.store.Run(ctx, id)
}

// Find returns a run by its id or a unique prefix of it, or NotFound. It returns Denied
// if an agent asks through a command in one of its tools and may not see all of the
// run.
func (s *Runs) Find(ctx context.Context, id string) (Run, error) {
	r, err := s.c.store.Run(ctx, fika.RequestID(id))
	if err != nil {
		return r, err
	}
	return r, s.c.mayRun(ctx, "run.show", r.ID)
}

// List returns the runs that the caller may see, newest first: all, or only unfinished
// ones. A limit of 0 means no limit.
func (s *Runs) List(ctx context.Context, going bool, limit int) ([]Run, error) {
	return s.c.sight().runs(ctx, going, limit)
}

// Steps returns the steps of a run in the order in which they began, including each
// attempt at a step.
func (s *Runs) Steps(ctx context.Context, id fika.RequestID) ([]RunStep, error) {
	if err := s.c.mayRun(ctx, "run.steps", id); err != nil {
		return nil, err
	}
	return s.c.store.RunSteps(ctx, id, time.Time{})
}

// Definition returns the definition that a run was started with.
func (s *Runs) Definition(ctx context.Context, id fika.RequestID) (*workflow.Definition, error) {
	if err := s.c.mayRun(ctx, "run.definition", id); err != nil {
		return nil, err
	}
	frozen, _, _, err := s.c.store.Definition(ctx, id)
	if err != nil {
		return nil, err
	}
	return workflow.Thaw(frozen)
}

// Output returns all output of a step, or NotFound if it has none. For a step that went
// through a list it returns the output of each item, in order.
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

// maxOutput bounds the bytes that are read of the items of a step.
const maxOutput = 256 << 20

// Pause lets nothing more of a run begin, however much of it waits.
func (s *Runs) Pause(ctx context.Context, id fika.RequestID) (Run, error) {
	if err := s.c.may("run.pause"); err != nil {
		return Run{}, err
	}
	return s.c.store.PauseRun(ctx, id)
}

// Continue resumes a paused run.
func (s *Runs) Continue(ctx context.Context, id fika.RequestID) (Run, error) {
	if err := s.c.may("run.continue"); err != nil {
		return Run{}, err
	}
	r, ring, err := s.c.store.ContinueRun(ctx, id)
	if err != nil {
		return r, err
	}
	s.c.waker.Wake(ring...)
	return s.advanced(ctx, id)
}

// Cancel ends a run: nothing more of it begins, and running steps are told to stop.
func (s *Runs) Cancel(ctx context.Context, id fika.RequestID, reason string) (Run, error) {
	if err := s.c.may("run.cancel"); err != nil {
		return Run{}, err
	}
	r, ring, err := s.c.store.StopRun(ctx, id, reason)
	if err != nil {
		return r, err
	}
	s.c.waker.Wake(ring...)
	return s.advanced(ctx, id)
}

// FileChanges returns how the file of a run's workflow differs from the definition that
// the run was started with, as the lines of a diff: none if there is no difference or
// no file. The definition is the one in the file now, or the run's own if there is no
// file.
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

// Resume continues a run that is over with the steps that are not done, and, if from is
// not empty, with the step from and all that depend on it. now is the definition to
// continue with; nil means the one it had. Error kinds: Conflict if the run is not
// over, Invalid if everything is done, NotFound for from.
func (s *Runs) Resume(ctx context.Context, r Run, now *workflow.Definition, from string) (Run, error) {
	if err := s.c.may("run.resume"); err != nil {
		return Run{}, err
	}
	var frozen []byte
	if now != nil {
		var err error
		if frozen, err = now.Freeze(); err != nil {
			return r, err
		}
	}
	err := s.c.onceOnly(ctx, "run.resume", []any{r.ID, frozen, from}, func(to *store.Store) error {
		return s.resume(ctx, to, r, now, frozen, from)
	})
	if err != nil {
		return r, err
	}
	return s.advanced(ctx, r.ID)
}

func (s *Runs) resume(ctx context.Context, to *store.Store, r Run, now *workflow.Definition, frozen []byte, from string) error {
	before, err := s.Definition(ctx, r.ID)
	if err != nil {
		return err
	}
	n := store.Resumption{Version: r.Version, Definition: frozen}
	if now == nil {
		now = before
	}
	rows, err := s.c.store.Resumable(ctx, r.ID)
	if err != nil {
		return err
	}
	if n.Rows, err = workflow.ResumeRows(string(r.ID), before, now, rows, from); err != nil {
		return err
	}
	n.Deadline = s.deadline(now)
	_, err = to.ResumeRun(ctx, r.ID, n)
	return err
}

// Await blocks until a run is over. Whenever something has changed it passes the run,
// its steps and the work under way in them to show. warn, which may be nil, is told
// once of each obstacle: that no hub runs, and what [Runs.HinderedAgents] says. If ctx
// ends first, the error is ctx's.
func (s *Runs) Await(ctx context.Context, id fika.RequestID, show func(Run, []RunStep), warn func(api.Status)) (Run, error) {
	if err := s.c.mayRun(ctx, "run.wait", id); err != nil {
		return Run{}, err
	}
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
	var warned []api.Status
	tell := func(why api.Status) {
		if warn != nil && !slices.ContainsFunc(warned, why.Equal) {
			warned = append(warned, why)
			warn(why)
		}
	}
	since := s.c.now()
	for seen := int64(-1); ; {
		r, err := outlasting(ctx, s.c, func() { tell(api.Stands(api.StoreAway)) }, func(ctx context.Context) (store.Run, error) { return s.c.store.Run(ctx, id) })
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
			if !s.c.Connected() { // without a hub, the waiting process advances runs itself
				s.flow.AdvanceDue(ctx)
			}
			if _, up := s.c.home.HubProcess(); !up {
				tell(api.Stands(api.HubAgentsAway))
			} else if r.Paused.IsZero() {
				for _, why := range s.hinderedNow(ctx, id) {
					tell(why)
				}
			}
		}
	}
}

// UnderWay returns the steps of a run that an agent has taken and not ended.
func (s *Runs) UnderWay(ctx context.Context, id fika.RequestID) ([]RunStep, error) {
	if err := s.c.mayRun(ctx, "run.steps", id); err != nil {
		return nil, err
	}
	steps, err := s.c.store.RunSteps(ctx, id, s.c.now())
	return slices.DeleteFunc(steps, func(st RunStep) bool { return st.State != workflow.Running || st.Agent == "" }), err
}

// hinderedNow is [Runs.HinderedAgents] for the current steps of a run.
func (s *Runs) hinderedNow(ctx context.Context, id fika.RequestID) []api.Status {
	steps, err := s.c.store.RunSteps(ctx, id, s.c.now())
	if err != nil {
		return nil // the next look reports it
	}
	return s.HinderedAgents(ctx, steps)
}

// HinderedAgents says, for each agent that has a running step but will not work it
// until a person does something, why, and what to do.
func (s *Runs) HinderedAgents(ctx context.Context, steps []RunStep) []api.Status {
	var names []fika.AgentName
	for _, st := range steps {
		if st.State == workflow.Running && st.Agent != "" && !slices.Contains(names, st.Agent) {
			names = append(names, st.Agent)
		}
	}
	return s.c.Availability.eachHindered(ctx, names, s.c.Availability.NeverAnswers)
}
