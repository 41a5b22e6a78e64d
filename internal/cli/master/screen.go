package master

import (
	"sync"

	"fika"
	"fika/internal/bus/message"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/terminal/console"
	"fika/internal/terminal/view"
)

// masterScreen is a console that shows, above the line being typed, what agents do for
// the requests of the master, as all views of agents at work do. Their answers are not
// shown here: they come with the outcome.
type masterScreen struct {
	*console.Console
	feed  *view.Feed
	turns *view.Statuses

	mu     sync.Mutex
	mine   map[string]bool // requests that were sent from here
	status string
}

func newMasterScreen(e *command.Env, c *console.Console) *masterScreen {
	s := &masterScreen{Console: c, mine: map[string]bool{}}
	shown := page.New(e, false)
	s.feed = view.NewFeed(c, view.Options{
		Style: e.OutStyle(), Links: e.OutTTY && e.Color, Width: c.Width, Person: shown.Person, Names: true, Standing: s.standing,
	})
	s.turns = view.NewStatuses(s.feed)
	return s
}

// Print shows text above the lines that change.
func (s *masterScreen) Print(text string) {
	if !s.Interactive() {
		s.Console.Print(text)
		return
	}
	s.feed.Print(text)
}

// Status sets the line that says what the console waits for. While agents are known to
// be at work, their work is shown in its place.
func (s *masterScreen) Status(text string) {
	s.mu.Lock()
	s.status = text
	s.mu.Unlock()
	if s.Interactive() {
		s.feed.Refresh()
	}
}

func (s *masterScreen) standing(busy []view.Worker) view.Standing {
	if len(busy) > 0 {
		return view.Standing{Workers: busy}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return view.Standing{Note: s.status}
}

// sent remembers a request that is sent from here, and returns id.
func (s *masterScreen) sent(id fika.RequestID) fika.RequestID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mine[string(id)] = true
	return id
}

// show shows a status that an agent published, if it is about a request that was sent
// from here.
func (s *masterScreen) show(st message.Status) {
	s.mu.Lock()
	mine := s.mine[st.RequestID]
	s.mu.Unlock()
	switch {
	case !mine || !s.Interactive():
	case st.Status == "streaming":
		s.feed.Busy(st.RequestID, st.AgentName, "writing")
	case st.Status == "completed", st.Status == "error":
		s.turns.Show(st)
		s.turns.End(st.RequestID, st.AgentName, "")
	default:
		s.turns.Show(st)
	}
}

// Close shows what is left to show, and restores the terminal.
func (s *masterScreen) Close() error {
	if s.Interactive() {
		s.feed.Close()
	}
	return s.Console.Close()
}
