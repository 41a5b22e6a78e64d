package master

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/changes"
	"fika/internal/terminal/question"
	"fika/internal/workflow"
)

// Screen is the source of lines and the destination of output.
type Screen interface {
	ReadLine(context.Context) (string, error)
	Print(text string)
	Status(text string)
	Interactive() bool
}

// Requests gives agents work, and reports its outcome.
type Requests interface {
	// Submit commits a request under the given id and wakes the agent.
	Submit(context.Context, fika.Agent, service.Ask) (service.Accepted, error)
	// Request reads a request. Error kind: NotFound.
	Request(context.Context, fika.RequestID) (service.RequestInfo, error)
	Cancel(ctx context.Context, id fika.RequestID, reason string) (fika.Request, error)
}

// Agents manages agents.
type Agents interface {
	List(ctx context.Context, all bool) ([]service.AgentView, error)
	// Start returns at the first sign of life, Stop when the process is gone.
	Start(context.Context, fika.Agent, time.Duration) (service.AgentView, error)
	Stop(context.Context, fika.Agent, fika.Desired, time.Duration) (service.AgentView, error)
	// Reset and Switch change the conversation that an agent continues.
	Reset(context.Context, fika.Agent) (fika.Conversation, error)
	Switch(ctx context.Context, agent fika.Agent, conversation string) (fika.Conversation, error)
}

// Directory finds agents.
type Directory interface {
	// Find finds an agent by what was typed; NotFound suggests the nearest name.
	Find(ctx context.Context, name string) (fika.Agent, error)
	// View also returns the agent's state.
	View(ctx context.Context, name string) (service.AgentView, error)
}

// Availability says why an agent will not get to its work by itself; clear if it will.
type Availability interface {
	NeverAnswers(context.Context, fika.Agent) api.Status
}

// Routing finds the agent that a prompt is for.
type Routing interface {
	// Choose returns the agent that a prompt is for. Error kinds: NotFound or Invalid
	// when there is no such agent that can be chosen, or the choice is not sure.
	Choose(ctx context.Context, prompt string) (fika.Agent, service.Match, error)
	// ChooseJudged is Choose, but may ask a model if the choice is not sure; warn is told
	// why the model has not chosen.
	ChooseJudged(ctx context.Context, prompt string, warn func(string)) (fika.Agent, service.Match, error)
}

// Teams lets several agents work on one line.
type Teams interface {
	// StartTeam begins a run of a team. Error kind: NotFound for an agent that does not
	// exist.
	StartTeam(context.Context, workflow.Line) (service.Run, *workflow.Definition, error)
	Cancel(ctx context.Context, id fika.RequestID, reason string) (service.Run, error)
}

// Archive reads what happened.
type Archive interface {
	List(context.Context, service.ConversationFilter) ([]service.ConversationInfo, error)
	// Active returns the ask conversations that their agents will continue.
	Active(context.Context) (map[fika.ConversationID]bool, error)
}

// Agent is a row of the tables about agents.
type Agent struct {
	Name     fika.AgentName
	Status   fika.AgentState
	Model    string
	PID      int
	Uptime   time.Duration // negative: it is not running
	Requests int64
	Waiting  int
	Seen     time.Time
	Trouble  string // empty: healthy
	Why      string // what a busy agent is doing
}

// Memory keeps the ids of a console's pending requests beyond its end.
type Memory interface {
	Load() ([]fika.RequestID, error)
	Save([]fika.RequestID) error
}

// Options holds everything that a master depends on.
type Options struct {
	Screen       Screen
	Requests     Requests
	Teams        Teams
	Agents       Agents
	Directory    Directory
	Availability Availability
	Routing      Routing
	Archive      Archive
	Approvals    question.Approvals // calls that wait for a person's approval
	Changes      changes.Source     // what agents changed in files; nil: it cannot be undone here
	Person       string             // who answers questions
	// Usage returns what was used since a time.
	Usage func(ctx context.Context, since time.Time) ([]service.UsageRow, error)
	// CostKnown reports whether the price of a model's usage is known; nil: it always is.
	CostKnown func(model string, u fika.Usage) bool
	// Compact replaces an agent's conversation by a summary, after its turns, and says what
	// it did. The summary holds in particular what the instructions say.
	Compact func(ctx context.Context, agent fika.AgentName, instructions string) (string, error)
	// Summarise summarises what is in an agent's conversation now.
	Summarise func(ctx context.Context, agent fika.AgentName) (string, error)
	// Here works a prompt in this process, in the current context.
	Here   func(ctx context.Context, prompt string) (service.RequestInfo, error)
	Memory Memory
	// Ended receives a value when some request may have its outcome, and News receives
	// lines about the bus to show; both may be nil.
	Ended      <-chan struct{}
	News       <-chan string
	NewID      func() fika.RequestID
	Style      term.Style
	Width      int                        // of tables; 0: as wide as their content
	Render     func(answer string) string // renders an answer; nil: as cleaned text
	Configured bool                       // the config names agents; otherwise plain text is worked here
	Default    fika.AgentName             // agent for plain text; empty: none
	Quiet      bool                       // completion lines without answers
	// Wait makes each line of piped input wait for the answers to those before it.
	// Timeout bounds the wait for answers to piped input; 0: no bound.
	Wait    bool
	Timeout time.Duration
	// Revive starts a hub if none is running, and returns a line that says so. It is
	// called after a request was sent and, with killed, when the bus goes away while an
	// answer is pending: then only a hub that was killed is started again, not one that
	// was stopped. It may be nil.
	Revive func(ctx context.Context, killed bool) (string, error)
	// Revives reports whether Revive would start a hub now, so that nobody need be told
	// that none is running. It may be nil.
	Revives func() bool
	Poll    time.Duration // interval for reading the store; 0: 500 ms
	Health  time.Duration // interval for checking agents; 0: 30 s
	Now     func() time.Time
}

// Master is a console. Create it with [New], and run it once.
type Master struct {
	o         Options
	out       *display
	roster    *roster
	pending   *pendingList
	questions *questions

	mail chan func() // capacity 64; senders block while it is full, until Run ends
	done chan struct{}
	jobs sync.WaitGroup
	here chan struct{} // capacity 1: held by the prompt that is being worked here
	busy int           // running jobs
	// managed holds, of each agent that is being started or stopped, when the last of
	// that has been done.
	managed map[string]chan struct{}
	revive  bool // Revive is running

	failed  int           // requests and lines that did not end well
	said    string        // the last error of the store that was shown
	offered *proposal     // what the next line may say yes to; nil: nothing
	idle    chan struct{} // closed when nothing is pending; nil: nobody asks
	ended   bool          // no more lines will come
	quit    bool
}

// New returns a master.
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
		managed:   map[string]chan struct{}{},
		roster:    &roster{agents: o.Agents, directory: o.Directory, now: o.Now, known: map[fika.AgentName]Agent{}},
		pending:   &pendingList{memory: o.Memory},
		questions: &questions{approvals: o.Approvals, desk: question.Desk{Person: o.Person}, screen: o.Screen, out: out},
		mail:      make(chan func(), 64), done: make(chan struct{}), here: make(chan struct{}, 1),
	}
}

// Hello prints the opening lines of a console. started are the agents that were started
// for it.
func (m *Master) Hello(started []Agent, bus string) { m.out.showHello(started, bus) }

// ErrFailed says that some request of the session did not end well, which has already
// been reported.
var ErrFailed = errors.New("a request failed")

// Run reads lines until the input ends or /quit. On a terminal it then returns, while
// work goes on; otherwise it first waits for all answers, and returns [ErrFailed] if one
// of them was bad. Other error kinds: Detached when Timeout has passed, Interrupted when
// ctx ends, and those of reading the pending requests of an earlier console.
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

// isOver reports whether Run can return.
func (m *Master) isOver() bool {
	if m.quit || (m.ended && m.o.Screen.Interactive()) {
		return true
	}
	return m.ended && len(m.pending.requests) == 0 && m.busy == 0
}

// releaseReader lets the next line in when nothing is pending.
func (m *Master) releaseReader() {
	if m.idle != nil && len(m.pending.requests) == 0 && m.busy == 0 {
		close(m.idle)
		m.idle = nil
	}
}

// postTask passes f to the owner goroutine; after Run has ended it does nothing.
func (m *Master) postTask(f func()) {
	select {
	case m.mail <- f:
	case <-m.done:
	}
}

// Interrupt handles ctrl-c: it cancels the newest pending request.
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

// awaitIdle blocks until everything that was sent has its answer. It returns false if ctx
// ends first.
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

// runBeside runs f in a goroutine beside the owner; the function that f returns is run by
// the owner.
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

// showError calls showTrouble unless err is nil.
func (m *Master) showError(err error) {
	if err != nil {
		m.showTrouble(err)
	}
}

// checkAgents reports what has changed about agents since the last check: which crashed,
// which are back, which need a person.
func (m *Master) checkAgents(ctx context.Context) {
	for _, change := range m.roster.changes(ctx) {
		if !m.o.Quiet {
			m.out.showChange(change)
		}
	}
}
