package agent

import (
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/bus/message"
	"fika/internal/store"
	"fika/internal/system/term"
	"fika/internal/text/words"
	"fika/internal/turn"
)

// observeTurn returns an observer that turns the events of one turn into status
// messages, chat entries and terminal output.
func (p *Process) observeTurn(c store.Claimed) turn.Observer {
	s := newStatuses(p, c)
	if p.opts.Display == nil {
		return s
	}
	return turn.Observers{s, p.opts.Display.Turn(c)}
}

// statuses publishes the events of one turn, in order. Streamed text is joined into
// pieces (see pacer); everything else is published at once, after the text that came
// before it.
type statuses struct {
	p     *Process
	c     store.Claimed
	mu    sync.Mutex // held while publishing
	begun stopper    // nil, or the timer that publishes the beginning of the turn
	*pacer
}

// beginRest is how long the beginning of a turn is held back: calling the model comes
// first, and the next status is sent together with it.
const beginRest = time.Millisecond

func newStatuses(p *Process, c store.Claimed) *statuses {
	s := &statuses{p: p, c: c}
	s.pacer = &pacer{
		now: time.Now, pending: map[chunkKey][]byte{}, offsets: map[chunkKey]int{},
		send: func(d message.StatusData) { s.publishStatus("streaming", d) },
		after: func(d time.Duration, f func()) stopper {
			return time.AfterFunc(d, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				f()
			})
		},
	}
	return s
}

// Observe publishes one event.
func (s *statuses) Observe(ev turn.Event) {
	if ev.Kind == turn.Committed {
		// First of all, because somebody waits for it. A run does not wait: this
		// process advances it.
		s.p.opts.Wake(slices.DeleteFunc(slices.Clone(ev.Notified), isRun)...)
		runtime.Gosched() // goroutines that write to the bus go first
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev.Kind == turn.Started {
		s.begun = s.after(beginRest, s.sayBegun)
		return
	}
	s.sayBegun()
	if ev.Kind == turn.Text || ev.Kind == turn.Reasoning {
		s.addDelta(chunkKey{ev.Round, ev.Kind == turn.Reasoning}, ev.Text)
		return
	}
	s.flushDeltas()
	s.publishEvent(ev)
}

func isRun(name fika.AgentName) bool { return name == message.TeamAgent }

// sayBegun publishes the beginning of the turn, unless that has been done.
func (s *statuses) sayBegun() {
	if s.begun == nil {
		return
	}
	s.begun.Stop()
	s.begun = nil
	s.publishStatus("processing", message.StatusData{Kind: string(s.c.Request.Kind), Prompt: s.c.Request.Payload.Prompt, Continues: continuationOf(s.c)})
}

// publishEvent publishes any event that is not streamed text.
func (s *statuses) publishEvent(ev turn.Event) {
	switch ev.Kind {
	case turn.ModelChosen:
		if ev.Text != "" {
			s.publishStatus("processing", message.StatusData{Message: "model " + ev.Model + ": " + ev.Text})
		}
	case turn.Restarted:
		s.restartRound(ev.Round)
		s.publishStatus("streaming", message.StatusData{Step: ev.Round, Round: ev.Round, Restart: true, Message: ev.Text})
	case turn.ToolCalled:
		s.publishStatus("tool_call", message.StatusData{CallID: store.CallID(s.c.Request.ID, ev.N), ToolName: ev.Tool, ToolArgs: boundedArgs(ev.Args), Step: ev.Round, Round: ev.Round})
	case turn.ToolDone:
		ok := !ev.Result.IsError
		d := message.StatusData{CallID: store.CallID(s.c.Request.ID, ev.N), ToolName: ev.Tool, Message: clipStatus(ev.Result.Text), Success: &ok, Denied: ev.Result.Denied, Step: ev.Round, Round: ev.Round}
		if d.Denied { // it was not announced
			d.ToolArgs = boundedArgs(ev.Args)
		}
		s.publishStatus("tool_result", d)
	case turn.Retrying:
		s.publishStatus("processing", message.StatusData{Message: ev.Text + "; asking again in " + term.Duration(ev.After)})
	case turn.Warning, turn.StorageBusy:
		s.publishStatus("processing", message.StatusData{Message: ev.Text})
	case turn.Committed:
		s.p.showEntries(s.c.Conversation, ev.Entries...)
	case turn.Ended:
		s.publishEnd(*ev.Outcome)
		s.p.live.end(s.c.Request.ID)
	}
}

func (s *statuses) publishEnd(r turn.Result) {
	switch {
	case r.State == fika.Done:
		if r.Outcome.Stop == fika.Silent {
			s.publishStatus("processing", message.StatusData{Message: "nothing to say"})
		}
		s.publishStatus("completed", message.StatusData{Message: clipStatus(r.Outcome.Answer)})
	case r.State.Terminal():
		s.publishStatus("error", message.StatusData{Message: r.Reason})
	case len(r.Children) > 0:
		s.publishStatus("processing", message.StatusData{Message: r.Reason})
	case r.Reason == string(fika.WaitProvider): // told, with the time of the next try
	case r.Reason == string(fika.WaitBackup), r.Reason == string(fika.WaitApproval):
		why := api.Suspended{Reason: fika.WaitReason(r.Reason), Agent: s.p.opts.Agent.Name}.Status()
		s.publishStatus("processing", message.StatusData{Message: words.Brief(why, time.Time{}), Code: string(why.Code)})
	default:
		s.publishStatus("processing", message.StatusData{Message: "not finished: " + r.Reason})
	}
}

func (s *statuses) publishStatus(status string, d message.StatusData) {
	p := s.p
	d.Epoch = s.c.Request.Epoch
	p.live.note(s.c.Request.ID, d)
	p.publishBody(p.opts.Subjects.Status(p.opts.Agent.Name), message.Status{
		Type: message.TypeStatus, RequestID: string(s.c.Request.ID), AgentName: string(p.opts.Agent.Name), Status: status,
		Data: d, Timestamp: message.TimeText(p.opts.Now()), V: message.Version,
		Conversation: string(s.c.Conversation.Kind), ConversationID: string(s.c.Conversation.Name),
	})
}

const statusLimit = 8 << 10

// clipStatus keeps a status message small: the full text is in the store.
func clipStatus(s string) string {
	if len(s) <= statusLimit {
		return s
	}
	return strings.ToValidUTF8(s[:statusLimit], "") + "…"
}

// boundedArgs keeps the arguments of a call small: of each long text it keeps the
// beginning, and tells under [message.ShortenedKey] how much there is. Other long arguments are left out.
func boundedArgs(args []byte) []byte {
	if len(args) <= statusLimit {
		return args
	}
	const most = 2 << 10 // bytes of one argument
	var all map[string]json.RawMessage
	_ = json.Unmarshal(args, &all) // what is no object has no arguments to name
	kept, cut, size := map[string]any{}, map[string]message.Shortened{}, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var text string
		switch raw := all[name]; {
		case len(name)+len(raw) <= most:
			kept[name] = raw
		case json.Unmarshal(raw, &text) == nil:
			kept[name] = strings.ToValidUTF8(text[:most], "")
			cut[name] = message.Shortened{Bytes: len(text), Lines: strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1}
		default:
			cut[name] = message.Shortened{Bytes: len(raw)}
		}
		if size += min(len(name)+len(all[name]), most); size > statusLimit {
			delete(kept, name)
		}
	}
	kept[message.ShortenedKey] = cut
	out, _ := json.Marshal(kept) // of texts and valid JSON it cannot fail
	return out
}
