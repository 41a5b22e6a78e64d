package screen

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/client"
	"fika/internal/console"
	"fika/internal/message"
	"fika/internal/term"
	"fika/internal/view"
)

// Options say what a screen is made of. Env, Console and Page are needed.
type Options struct {
	Env     *command.Env
	Console *console.Console // closed by [Screen.Close]
	Page    page.Page        // how entries of the chat are shown
	Script  *page.Script     // how a session shows them; nil: it is no session
	// Standing gives the status line for who is at work; nil: they alone are in it.
	Standing func([]view.Worker) view.Standing
	// Title is what the terminal's window is called; "": the terminal is told nothing.
	Title string
}

// Screen is what a person sees above the line they type: what is said, who is at
// work, and notes about both. Where nobody types, it prints entries a line each
// to stdout, and notes to stderr. Several goroutines may use it at once, but only
// one shows entries.
type Screen struct {
	env    *command.Env
	con    *console.Console
	page   page.Page
	script *page.Script
	feed   *view.Feed
	turns  *view.Statuses
	notify *notifier // nil: the terminal is told nothing

	mu   sync.Mutex
	said map[string]bool // notes about troubles, each of which is said once
}

// New makes what is shown above a line.
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

// Width is how many columns the terminal has.
func (s *Screen) Width() int { return s.con.Width() }

// Refresh draws the status line anew.
func (s *Screen) Refresh() { s.feed.Refresh() }

// Close draws what is left, and gives the terminal back.
func (s *Screen) Close() error {
	s.feed.Close()
	return s.con.Close() // its last words come below the line
}

// Print shows lines as they are.
func (s *Screen) Print(text string) { s.feed.Print(text) }

// Note shows what fika has to say, apart from what is said in the chat.
func (s *Screen) Note(text string) {
	if !s.con.Interactive() {
		s.env.Say("%s", text) // what is said in the chat alone goes to stdout
		return
	}
	s.feed.Print(s.env.OutStyle().Dim(term.Wrap(term.CleanLine(text), s.con.Width()-1)))
}

// NoteOnce is Note about a trouble that may last: the same text is shown once.
func (s *Screen) NoteOnce(text string) {
	s.mu.Lock()
	known := s.said[text]
	s.said[text] = true
	s.mu.Unlock()
	if !known {
		s.Note("— " + text)
	}
}

// NoteNotSent says why a line was not sent.
func (s *Screen) NoteNotSent(err error) {
	s.Note("— not sent: " + strings.TrimPrefix(err.Error(), "send: ") + " (arrow up brings the line back)")
}

// PrintQuestions shows what is said about tool calls: sentences wrapped between
// words, calls as they are.
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

// PrintCalls shows tool calls of one turn with their results, in full.
func (s *Screen) PrintCalls(entries []fika.Entry) { s.Print(s.page.Calls(entries)) }

// TellTerminal tells the terminal who is at work and how many questions wait, for a person who
// looks elsewhere. Only one goroutine may.
func (s *Screen) TellTerminal(busy []string, asked int) {
	if s.notify != nil {
		s.con.Tell(s.notify.noticeAt(busy, asked, s.env.Now()))
	}
}

// MissedStatuses says that nothing is known of what was told of turns until now.
func (s *Screen) MissedStatuses() { s.turns.Missed() }

// ShowRunning takes who is at work now, by request.
func (s *Screen) ShowRunning(running map[string]string) { s.turns.Running(running) }

// An answer waits statusLag for what the bus tells of its turn: the calls before it
// should be seen before it. Where there is no bus it waits statusLagAway.
const (
	statusLag     = 3 * time.Second
	statusLagAway = 300 * time.Millisecond
)

// ShowStatus shows what an agent tells of its turn; what it says only where it is
// rendered.
func (s *Screen) ShowStatus(st message.Status) {
	if !s.con.Interactive() {
		return // a program reads what is said
	}
	if st.Status == "streaming" && !s.page.Renders() {
		s.feed.Busy(st.RequestID, st.AgentName, "writing")
		return
	}
	s.turns.Show(st)
}

// ShowNew shows an entry that was committed while the person was here: what an
// agent said may be on the screen already, as it was streamed. told says that the bus
// tells of turns; callsOf gives the calls of one of which it did not tell all.
func (s *Screen) ShowNew(x fika.Entry, told bool, callsOf func(fika.RequestID) []view.Call) error {
	streamed := x.Type == fika.Message && x.Meta.Writer == fika.ByAgent && x.Request != ""
	if !s.con.Interactive() || !s.page.Renders() || !streamed {
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
	if !s.con.Interactive() {
		return s.env.Println(page.Line(x, false))
	}
	if s.script != nil {
		s.script.SetWidth(s.con.Width())
		s.feed.Print(s.script.Entry(x))
		return nil
	}
	if text := strings.TrimRight(s.page.Entry(client.Node{Entry: x}, nil), "\n"); text != "" {
		s.feed.Print("\n" + text)
	}
	return nil
}
