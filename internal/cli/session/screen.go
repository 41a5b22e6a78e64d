package session

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

// screen is what a person sees above the line they type: what is said, who is at
// work, and notes about both. Where nobody types, it prints entries a line each
// to stdout, and notes to stderr. Several goroutines may use it at once, but only
// one shows entries.
type screen struct {
	env    *command.Env
	con    *console.Console
	page   page.Page
	script *page.Script // how a session shows entries; nil: it is no session
	feed   *view.Feed
	turns  *view.Statuses

	mu   sync.Mutex
	said map[string]bool // notes about troubles, each of which is said once
}

// newScreen makes what is shown above the line of con; standing gives the status
// line.
func newScreen(e *command.Env, con *console.Console, shown page.Page, standing func([]view.Worker) view.Standing) *screen {
	feed := view.NewFeed(con, view.Options{
		Style: e.OutStyle(), Links: shown.Links(), Person: shown.Person, Names: true, Width: con.Width, Standing: standing,
	})
	return &screen{env: e, con: con, page: shown, feed: feed, turns: view.NewStatuses(feed), said: map[string]bool{}}
}

// Close draws what is left, and gives the terminal back.
func (s *screen) Close() error {
	s.feed.Close()
	return s.con.Close() // its last words come below the line
}

// print shows lines as they are.
func (s *screen) print(text string) { s.feed.Print(text) }

// note shows what fika has to say, apart from what is said in the chat.
func (s *screen) note(text string) {
	if !s.con.Interactive() {
		s.env.Say("%s", text) // what is said in the chat alone goes to stdout
		return
	}
	s.feed.Print(s.env.OutStyle().Dim(term.Wrap(term.CleanLine(text), s.con.Width()-1)))
}

// noteOnce is note about a trouble that may last: the same text is shown once.
func (s *screen) noteOnce(text string) {
	s.mu.Lock()
	known := s.said[text]
	s.said[text] = true
	s.mu.Unlock()
	if !known {
		s.note("— " + text)
	}
}

// noteNotSent says why a line was not sent.
func (s *screen) noteNotSent(err error) {
	s.note("— not sent: " + err.Error() + " (arrow up brings the line back)")
}

// printQuestions shows what is said about tool calls: sentences wrapped between
// words, calls as they are.
func (s *screen) printQuestions(texts []string) {
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

// An answer waits statusLag for what the bus tells of its turn: the calls before it
// should be seen before it. Where there is no bus it waits statusLagAway.
const (
	statusLag     = 3 * time.Second
	statusLagAway = 300 * time.Millisecond
)

// showStatus shows what an agent tells of its turn; what it says only where it is
// rendered.
func (s *screen) showStatus(st message.Status) {
	if !s.con.Interactive() {
		return // a program reads what is said
	}
	if st.Status == "streaming" && !s.page.Renders() {
		s.feed.Busy(st.RequestID, st.AgentName, "writing")
		return
	}
	s.turns.Show(st)
}

// showNew shows an entry that was committed while the person was here: what an
// agent said may be on the screen already, as it was streamed. told says that the bus
// tells of turns; callsOf gives the calls of one of which it did not tell all.
func (s *screen) showNew(x fika.Entry, told bool, callsOf func(fika.RequestID) []view.Call) error {
	streamed := x.Type == fika.Message && x.Meta.Writer == fika.ByAgent && x.Request != ""
	if !s.con.Interactive() || !s.page.Renders() || !streamed {
		return s.showEntry(x)
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

// showEntry shows an entry in full.
func (s *screen) showEntry(x fika.Entry) error {
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
