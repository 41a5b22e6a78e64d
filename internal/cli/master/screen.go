package master

import (
	"sync"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/page"
	"fika/internal/console"
	"fika/internal/message"
	"fika/internal/view"
)

// masterScreen is a console that shows what agents do for the requests of a
// master, above the line being typed, as all views of agents at work do. What
// they say comes with the outcome.
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

// Print shows text above what changes.
func (s *masterScreen) Print(text string) {
	if !s.Interactive() {
		s.Console.Print(text)
		return
	}
	s.feed.Print(text)
}

// Status says what the console waits for; what agents do is said in its place
// while something is known of that.
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

// sent remembers a request that is sent from here.
func (s *masterScreen) sent(id fika.RequestID) fika.RequestID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mine[string(id)] = true
	return id
}

// show takes what some agent tells of a turn.
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

// Close shows what is left, and gives the terminal back.
func (s *masterScreen) Close() error {
	if s.Interactive() {
		s.feed.Close()
	}
	return s.Console.Close()
}
