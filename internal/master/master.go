package master

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"fika"
	"fika/internal/changes"
	"fika/internal/client"
	"fika/internal/question"
	"fika/internal/term"
	"fika/internal/workflow"
)

// Screen is where lines come from and words go.
type Screen interface {
	ReadLine(context.Context) (string, error)
	Print(text string)
	Status(text string)
	Interactive() bool
}

// Requests gives agents work, and tells what came of it.
type Requests interface {
	// Submit commits a request under the given id and wakes the agent.
	Submit(context.Context, fika.Agent, client.Ask) (client.Accepted, error)
	// Request reads one; NotFound.
	Request(context.Context, fika.RequestID) (client.RequestInfo, error)
	Cancel(ctx context.Context, id fika.RequestID, reason string) (fika.Request, error)
}

// Agents looks after agents.
type Agents interface {
	List(ctx context.Context, all bool) ([]client.AgentView, error)
	// Start returns with the first sign of life, Stop when the process has gone.
	Start(context.Context, fika.Agent, time.Duration) (client.AgentView, error)
	Stop(context.Context, fika.Agent, fika.Desired, time.Duration) (client.AgentView, error)
	// Reset and Switch change the conversation that an agent goes on with.
	Reset(context.Context, fika.Agent) (fika.Conversation, error)
	Switch(ctx context.Context, agent fika.Agent, conversation string) (fika.Conversation, error)
}

// Directory finds agents.
type Directory interface {
	// Find finds one by what was typed; NotFound comes with the nearest name.
	Find(ctx context.Context, name string) (fika.Agent, error)
	// View tells besides how it is.
	View(ctx context.Context, name string) (client.AgentView, error)
}

// Availability says why an agent will not come to its work by itself; "" when it
// will.
type Availability interface {
	NeverAnswers(context.Context, fika.Agent) string
}

// Routing finds the agent that a prompt is for.
type Routing interface {
	// Choose gives the agent that a prompt is for: NotFound or Invalid when that
	// is nobody who can be chosen, or not sure.
	Choose(ctx context.Context, prompt string) (fika.Agent, client.Match, error)
	// ChooseJudged may ask a model where that is not sure; warn is told why the model
	// has not chosen.
	ChooseJudged(ctx context.Context, prompt string, warn func(string)) (fika.Agent, client.Match, error)
}

// Teams lets several agents work on one line.
type Teams interface {
	// StartTeam begins a run of a team; NotFound for an agent there is not.
	StartTeam(context.Context, workflow.Line) (client.Run, *workflow.Definition, error)
	Cancel(ctx context.Context, id fika.RequestID, reason string) (client.Run, error)
}

// Archive reads what happened.
type Archive interface {
	List(context.Context, client.ConversationFilter) ([]client.ConversationInfo, error)
	// Active tells which ask conversations are gone on with.
	Active(context.Context) (map[fika.ConversationID]bool, error)
}

// Agent is a line of the tables about agents.
type Agent struct {
	Name     fika.AgentName
	Status   fika.AgentState
	Model    string
	PID      int
	Uptime   time.Duration // negative: it does not run
	Requests int64
	Waiting  int
	Seen     time.Time
	Trouble  string // empty: healthy
	Why      string // what a busy one does
}

// Memory keeps which requests a console waits for beyond its end.
type Memory interface {
	Load() ([]fika.RequestID, error)
	Save([]fika.RequestID) error
}

// Options is all that a master depends on.
type Options struct {
	Screen       Screen
	Requests     Requests
	Teams        Teams
	Agents       Agents
	Directory    Directory
	Availability Availability
	Routing      Routing
	Archive      Archive
	Approvals    question.Approvals // calls that wait for a person's word
	Changes      changes.Source     // what agents changed in files; nil: it cannot be undone here
	Person       string             // who answers
	// Usage tells what was spent since a time.
	Usage func(ctx context.Context, since time.Time) ([]client.UsageRow, error)
	// CostKnown reports whether it is known what a model took for what was used of
	// it; nil: it always is.
	CostKnown func(model string, u fika.Usage) bool
	// Summarise sums up what an agent has before it now.
	Summarise func(ctx context.Context, agent fika.AgentName) (string, error)
	// Here works a prompt in this process, in the current context.
	Here   func(ctx context.Context, prompt string) (client.RequestInfo, error)
	Memory Memory
	// Ended gets a value when some request may have its outcome, and News brings
	// lines about the bus to show; both may be nil.
	Ended      <-chan struct{}
	News       <-chan string
	NewID      func() fika.RequestID
	Style      term.Style
	Width      int                        // of tables; 0: as wide as they are
	Render     func(answer string) string // what of an answer is shown; nil: its text, cleaned
	Configured bool                       // the config names agents; else plain text is worked here
	Default    fika.AgentName             // for plain text; empty: none
	Quiet      bool                       // bare completion lines
	// Wait lets each line of piped input wait for the answers of those before
	// it. Timeout ends the waiting for answers to piped input; 0: never.
	Wait    bool
	Timeout time.Duration
	// Revive starts a hub when none runs, and returns a line that says so. It
	// is called after a request was sent, and, with killed, when the bus goes
	// away while an answer is waited for: then only a hub that was killed is
	// started again, not one that was stopped. It may be nil.
	Revive func(ctx context.Context, killed bool) (string, error)
	// Revives reports whether Revive would start a hub now: then nobody need be
	// told that none runs. It may be nil.
	Revives func() bool
	Poll    time.Duration // how often to look at the store; 0: 500 ms
	Health  time.Duration // how often to look at agents; 0: 30 s
	Now     func() time.Time
}

// Master is a console. Create it with [New], run it once.
type Master struct {
	o         Options
	out       *display
	roster    *roster
	pending   *pendingList
	questions *questions

	mail   chan func() // capacity 64; senders wait when it is full, or until Run ends
	done   chan struct{}
	jobs   sync.WaitGroup
	here   chan struct{} // capacity 1: taken by the prompt that is worked here
	busy   int           // jobs that run
	revive bool          // Revive is at work

	failed  int           // requests and lines that did not end well
	said    string        // the last trouble with the store
	offered *proposal     // what the next line may say yes to; nil: nothing
	idle    chan struct{} // closed when nothing is waited for; nil: nobody asks
	ended   bool          // no more lines will come
	quit    bool
}

// New makes a master.
func New(o Options) *Master {
	if o.Poll == 0 {
		o.Poll = 500 * time.Millisecond
	}
	if o.Health == 0 {
		o.Health = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	out := &display{screen: o.Screen, style: o.Style, width: o.Width, quiet: o.Quiet, render: o.Render}
	return &Master{
		o:         o,
		out:       out,
		roster:    &roster{agents: o.Agents, directory: o.Directory, now: o.Now, known: map[fika.AgentName]Agent{}},
		pending:   &pendingList{memory: o.Memory},
		questions: &questions{approvals: o.Approvals, desk: question.Desk{Person: o.Person}, screen: o.Screen, out: out},
		mail:      make(chan func(), 64), done: make(chan struct{}), here: make(chan struct{}, 1),
	}
}

// Hello prints the lines a console begins with. started are the agents that were
// started for it.
func (m *Master) Hello(started []Agent, bus string) { m.out.showHello(started, bus) }

// ErrFailed says that some request of the session did not end well; it has
// been told already.
var ErrFailed = errors.New("a request failed")

// Run reads lines until the input ends or /quit, and on a terminal leaves
// then, while work goes on; otherwise it waits for all answers first and
// returns [ErrFailed] when one of them was bad.
func (m *Master) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer m.jobs.Wait()
	defer close(m.done)
	defer stop()
	if err := m.takeUpPending(ctx); err != nil {
		return err
	}
	m.checkAgents(ctx)
	m.questions.showNews(ctx)
	m.jobs.Add(1)
	go func() { // joined by Run; ReadLine ends with ctx
		defer m.jobs.Done()
		m.readLines(ctx)
	}()
	poll := time.NewTicker(m.o.Poll)
	defer poll.Stop()
	health := time.NewTicker(m.o.Health)
	defer health.Stop()
	var timeout <-chan time.Time // nil: never
	if m.o.Timeout > 0 && !m.o.Screen.Interactive() {
		t := time.NewTimer(m.o.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	for !m.isOver() {
		m.releaseReader()
		select {
		case <-timeout:
			return m.giveUp()
		case f := <-m.mail:
			f()
		case <-m.o.Ended:
			m.readOutcomes(ctx)
		case text := <-m.o.News:
			m.out.printNote(text)
			if len(m.pending.requests) > 0 {
				m.reviveHub(ctx, true)
			}
		case <-poll.C:
			m.readOutcomes(ctx)
			m.questions.showNews(ctx)
			m.out.showWaiting(m.pending.requests, m.o.Now())
		case <-health.C:
			m.checkAgents(ctx)
		case <-ctx.Done():
			m.sayFarewell()
			return fika.Wrap(fika.Interrupted, "", ctx.Err())
		}
	}
	m.sayFarewell()
	if m.failed > 0 && !m.o.Screen.Interactive() {
		return ErrFailed
	}
	return nil
}

// isOver reports whether there is no reason to stay.
func (m *Master) isOver() bool {
	if m.quit || (m.ended && m.o.Screen.Interactive()) {
		return true
	}
	return m.ended && len(m.pending.requests) == 0 && m.busy == 0
}

// releaseReader lets the next line in when nothing is waited for.
func (m *Master) releaseReader() {
	if m.idle != nil && len(m.pending.requests) == 0 && m.busy == 0 {
		close(m.idle)
		m.idle = nil
	}
}

// postTask hands f to the owner goroutine; after Run has ended it does nothing.
func (m *Master) postTask(f func()) {
	select {
	case m.mail <- f:
	case <-m.done:
	}
}

// Interrupt is ctrl-c: it cancels the newest request that is waited for.
func (m *Master) Interrupt() {
	m.postTask(func() {
		if newest := m.pending.newest(); newest != nil {
			m.cancelRequest(context.Background(), newest)
			return
		}
		m.out.printNote("nothing is waiting; /quit or ctrl-d leaves")
	})
}

// readLines passes lines on, in order.
func (m *Master) readLines(ctx context.Context) {
	for {
		line, err := m.o.Screen.ReadLine(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			bad := !errors.Is(err, io.EOF)
			m.postTask(func() {
				if bad {
					m.showTrouble(err)
				}
				m.ended = true
			})
			return
		}
		m.postTask(func() { m.takeLine(ctx, line) })
		if m.o.Wait && !m.o.Screen.Interactive() && !m.awaitIdle(ctx) {
			return
		}
	}
}

// awaitIdle waits until all that was sent has its answer. It returns false when
// ctx ends first.
func (m *Master) awaitIdle(ctx context.Context) bool {
	idle := make(chan struct{})
	m.postTask(func() { m.idle = idle })
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}

// takeLine does what one line asks for.
func (m *Master) takeLine(ctx context.Context, text string) {
	if m.answerProposal(ctx, text) {
		return
	}
	l, err := ParseLine(text)
	if err != nil {
		m.showTrouble(err)
		return
	}
	switch l.Verb {
	case Nothing:
	case Command:
		m.showError(m.carryOut(ctx, l.Words))
	case Reset:
		m.resetAgent(ctx, l.Agent)
	case Team:
		m.sendTeam(ctx, l.Team)
	case Plain:
		m.sendPlain(ctx, l.Text)
	case Task:
		m.sendRequest(ctx, l.Agent, fika.TaskRequest, l.Text)
	default:
		m.sendRequest(ctx, l.Agent, fika.AskRequest, l.Text)
	}
}

// reviveHub starts a hub if there is none, without keeping the console waiting.
func (m *Master) reviveHub(ctx context.Context, killed bool) {
	if m.o.Revive == nil || m.revive {
		return
	}
	m.revive = true
	m.runBeside(func() func() {
		text, err := m.o.Revive(ctx, killed)
		return func() {
			m.revive = false
			switch {
			case err != nil && ctx.Err() == nil:
				m.showTrouble(err)
			case text != "":
				m.out.printNote(text)
			}
		}
	})
}

// runBeside runs f beside the owner; what it returns is run by the owner.
func (m *Master) runBeside(f func() func()) {
	m.busy++
	m.jobs.Add(1)
	go func() { // joined by Run
		defer m.jobs.Done()
		after := f()
		m.postTask(func() {
			m.busy--
			after()
		})
	}()
}

// showTrouble shows an error and counts it.
func (m *Master) showTrouble(err error) {
	m.failed++
	m.out.printFailure("%s", term.Clean(err.Error()))
}

// showError is showTrouble of an error that may be nil.
func (m *Master) showError(err error) {
	if err != nil {
		m.showTrouble(err)
	}
}

// checkAgents tells what has changed about agents since the last look: who crashed,
// who is back, who needs a person.
func (m *Master) checkAgents(ctx context.Context) {
	for _, change := range m.roster.changes(ctx) {
		if !m.o.Quiet {
			m.out.showChange(change)
		}
	}
}
