package screen

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/console"
	"fika/internal/terminal/question"
	"fika/internal/terminal/view"
	"fika/internal/text/words"
)

// Options configure a screen. Env, Console and Page are required.
type Options struct {
	Env     *command.Env
	Console *console.Console // closed by [Screen.Close]
	Page    page.Page        // how entries of the chat are shown
	Script  *page.Script     // how a session shows them; nil: the chat is not a session
	// Standing returns the status line for those at work; nil: it shows only them.
	Standing func([]view.Worker) view.Standing
	// Title is the title of the terminal's window; "": the terminal is told nothing.
	Title string
}

// Screen is what a person sees above the line they type: what is said, who is at work,
// and notes about both. If nobody types, it prints one line per entry to stdout, and
// notes to stderr. It is safe for concurrent use, but only one goroutine may show
// entries.
//
// On a terminal that nothing can be drawn on, and for a person who wants it so, everything
// is printed as plain lines, once it is complete.
type Screen struct {
	env    *command.Env
	con    *console.Console
	page   page.Page
	script *page.Script
	feed   *view.Feed
	turns  *view.Statuses
	notify *notifier // nil: the terminal is told nothing

	mu   sync.Mutex
	said map[string]bool // notes about lasting trouble, each of which is shown once
}

// New makes the screen above a line.
func New(o Options) *Screen {
	feed := view.NewFeed(o.Console, view.Options{
		Style: o.Env.OutStyle(), Links: o.Page.Links(), Person: o.Page.Person, Names: true, Width: o.Console.Width, Standing: o.Standing,
	})
	s := &Screen{env: o.Env, con: o.Console, page: o.Page, script: o.Script, feed: feed, turns: view.NewStatuses(feed), said: map[string]bool{}}
	if o.Title != "" {
		s.notify = &notifier{place: o.Title}
	}
	return s
}

// IsInteractive reports whether a person types at a terminal here.
func (s *Screen) IsInteractive() bool { return s.con.Interactive() }

// shows reports whether a person reads what is shown, rather than a program.
func (s *Screen) shows() bool { return s.con.Interactive() || s.env.OutTTY }

// Width returns the width of the terminal in columns.
func (s *Screen) Width() int { return s.con.Width() }

// ShowThoughts says whether the reasoning of models is shown from now on.
func (s *Screen) ShowThoughts(show bool) { s.feed.ShowThoughts(show) }

// Refresh redraws the status line.
func (s *Screen) Refresh() { s.feed.Refresh() }

// Close draws what is left, and closes the console.
func (s *Screen) Close() error {
	s.feed.Close()
	return s.con.Close() // the console's last words appear below the line
}

// Print shows lines unchanged.
func (s *Screen) Print(text string) { s.feed.Print(text) }

// Note shows a message from fika, apart from what is said in the chat. In a session the
// commands that it names are those of the session. Its lines after the first are indented,
// so that none of them passes for a note of its own.
func (s *Screen) Note(text string) {
	if s.script != nil {
		text = words.InSession(text)
	}
	if !s.con.Interactive() {
		s.env.Say("%s", text) // only what is said in the chat goes to stdout
		return
	}
	lines := strings.Split(term.Clean(text), "\n")
	for i, l := range lines {
		if i > 0 {
			l = "  " + strings.TrimLeft(l, " ")
		}
		lines[i] = term.Wrap(l, s.con.Width()-1)
	}
	s.feed.Print(s.env.OutStyle().Dim(strings.Join(lines, "\n")))
}

// NoteOnce is Note for trouble that may last: the same text is shown only once.
func (s *Screen) NoteOnce(text string) {
	s.mu.Lock()
	known := s.said[text]
	s.said[text] = true
	s.mu.Unlock()
	if !known {
		s.Note("— " + text)
	}
}

// NoteNotSent tells the person why a line was not sent.
func (s *Screen) NoteNotSent(err error) {
	s.Note("— not sent: " + strings.TrimPrefix(command.ErrorText(err), "send: ") + " (arrow up brings the line back)")
}

// PrintQuestions shows texts about tool calls: it wraps sentences between words and
// leaves calls as they are.
func (s *Screen) PrintQuestions(texts []string) {
	for _, text := range texts {
		if !s.con.Interactive() {
			s.env.Say("%s", text)
			continue
		}
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			if !strings.HasPrefix(l, " ") {
				lines[i] = term.Wrap(l, s.con.Width()-1)
			}
		}
		s.feed.Print(s.env.OutStyle().Yellow(strings.Join(lines, "\n")))
	}
}

// Ask puts a question above the line, which one key answers; nil takes it away. answer is
// called with each key but those that turn the panel's pages, one call at a time.
func (s *Screen) Ask(p *question.Panel, answer func(key rune, words string)) {
	if p == nil {
		s.con.Ask(nil)
		return
	}
	keys, worded, prompt := p.Keys()
	s.con.Ask(&console.Question{
		Rows: p.Rows, Keys: keys, Worded: string(worded), WordsPrompt: prompt,
		Answer: func(key rune, words string) {
			if !p.Turn(key) {
				answer(key, words)
			}
		},
	})
}

// AskPlan asks about a plan, above the line that is typed: enter, A or escape.
func (s *Screen) AskPlan(rows func(width, height int) []string, answer func(key rune)) {
	s.con.Ask(&console.Question{Rows: rows, Keys: "A", Enter: PlanEdit, Escape: PlanKeep, Answer: func(key rune, _ string) { answer(key) }})
}

// The keys that answer about a plan.
const (
	PlanEdit = '\r'
	PlanAuto = 'A'
	PlanKeep = '\x1b'
)

// PrintCalls shows the tool calls of one turn with their results, in full.
func (s *Screen) PrintCalls(entries []fika.Entry) { s.Print(s.page.Calls(entries)) }

// TellTerminal tells the terminal who is at work and how many questions wait, for a
// person who looks elsewhere. Only one goroutine may call it.
func (s *Screen) TellTerminal(busy []string, asked int) {
	if s.notify != nil {
		s.con.Tell(s.notify.noticeAt(busy, asked, s.env.Now()))
	}
}

// MissedStatuses records that the statuses of turns until now may have been missed.
func (s *Screen) MissedStatuses() { s.turns.Missed() }

// ShowRunning takes the names of the agents at work now, by request.
func (s *Screen) ShowRunning(running map[string]string) { s.turns.Running(running) }

// An answer waits statusLag for the statuses of its turn on the bus, because the tool
// calls should appear before it. Without a bus it waits statusLagAway.
const (
	statusLag     = 3 * time.Second
	statusLagAway = 300 * time.Millisecond
)

// ShowStatus shows a status of an agent's turn where a person types, and its text only
// if text is rendered.
func (s *Screen) ShowStatus(st message.Status) {
	if !s.shows() {
		return // a program reads entries
	}
	if st.Data.Code != "" {
		return // what is waited for stands above the line, or in the status
	}
	if st.Status == "streaming" && !s.page.Renders() {
		s.feed.Busy(st.RequestID, st.AgentName, "writing")
		return
	}
	s.turns.Show(st)
}

// ShowNew shows an entry that was committed while the person was here. An agent's text
// may be on the screen already, because it was streamed. told says that there is a bus
// for statuses; callsOf returns the tool calls of a turn whose statuses were missed.
func (s *Screen) ShowNew(x fika.Entry, told bool, callsOf func(fika.RequestID) []view.Call) error {
	streamed := x.Type == fika.Message && x.Meta.Writer == fika.ByAgent && x.Request != ""
	if !s.shows() || !s.page.Renders() || !streamed {
		return s.ShowEntry(x)
	}
	number := ""
	if x.Meta.Final {
		if s.script == nil {
			number = fmt.Sprintf("#%d", x.Seq)
		}
		lag := statusLagAway
		if told {
			lag = statusLag
		}
		ctx, stop := context.WithTimeout(context.Background(), lag)
		s.turns.AwaitEnd(ctx, string(x.Request))
		stop()
		if !s.turns.Heard(string(x.Request)) {
			s.turns.Fill(string(x.Request), x.From, callsOf(x.Request))
		}
	}
	s.turns.Kept(string(x.Request), x.From, x.Content, number, x.Meta.Final)
	return nil
}

// ShowEntry shows an entry in full.
func (s *Screen) ShowEntry(x fika.Entry) error {
	if !s.shows() {
		return s.env.Println(page.Line(x, false))
	}
	if s.script != nil {
		s.script.SetWidth(s.con.Width())
		s.feed.Print(s.script.Entry(x))
		return nil
	}
	if text := strings.TrimRight(s.page.Entry(service.Node{Entry: x}, nil), "\n"); text != "" {
		s.feed.Print("\n" + text)
	}
	return nil
}
