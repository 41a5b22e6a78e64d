package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/extension/acp"
	"fika/internal/extension/jsonrpc"
	"fika/internal/text/safetext"
	"fika/internal/tool"
	"fika/internal/tool/proc"
	"fika/internal/turn"
)

const (
	// startTime is how long a program may take to open a session.
	startTime = 60 * time.Second
	// cancelTime is how long it has to end a turn that is cancelled.
	cancelTime = 2 * time.Second
	// maxSaid is how much of what a program last wrote to stderr an error quotes, in bytes.
	maxSaid = 300
)

// Program says which program is started, and how.
type Program struct {
	Cmd     proc.PeerCmd // without Stderr
	Log     io.WriteCloser
	Dir     string // the folder that a session works in
	Version string // of fika
	// Table is where the program finds Tools, fika's own; nil: it has none of them. Self is
	// the program of fika that it starts for them, and that its sandbox shows it. The session
	// closes the table, also where Open fails.
	Table *Table
	Tools []tool.Spec
	Self  string
}

// Session is a program with one open session.
type Session struct {
	table *Table // nil: there is none
	peer  *proc.Peer
	conn  *jsonrpc.Conn
	said  *lastLine
	calls *calls
	can   acp.Capabilities
	is    acp.Implementation
	id    string
	known bool

	last     strings.Builder // the user's message that was replayed last, or the last prompt
	answered bool            // and something came after it

	reading sync.WaitGroup
	once    sync.Once

	mu       sync.Mutex
	prompted bool           // nothing is replayed any more
	spoilt   bool           // a turn has not come to an end that the program agrees about
	host     turn.GuestHost // of the prompt under way; nil: there is none
	cost     *acp.Cost      // as told last in the turn
	err      error          // of the host: the turn is to end
}

// Open starts a program and opens a session: the one with the id kept, if the program can,
// else a new one. With replay the program is asked to tell what was said in it, if it can.
// The caller must close the session.
func Open(ctx context.Context, p Program, kept string, replay bool) (*Session, error) {
	s := &Session{said: &lastLine{to: p.Log}, calls: newCalls(p.Tools), table: p.Table}
	p.Cmd.Stderr = s.said
	if s.table != nil {
		s.table.serve(p.Tools, s.call)
	}
	var err error
	if s.peer, err = proc.StartPeer(p.Cmd); err != nil {
		if s.table != nil {
			s.table.Close()
		}
		return nil, err
	}
	s.conn = jsonrpc.New(s.peer.Stdin)
	s.conn.Noise = func(line []byte) { fmt.Fprintf(s.said, "[on stdout, where only messages belong] %.2000s\n", line) }
	s.reading.Go(func() { _ = s.conn.Serve(context.WithoutCancel(ctx), s.peer.Stdout, s.do, isQuick) })
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := s.open(starting, p, kept, replay); err != nil {
		s.Close()
		return nil, s.explain(ctx, err)
	}
	return s, nil
}

func (s *Session) open(ctx context.Context, p Program, kept string, replay bool) error {
	hello := acp.Initialize{ProtocolVersion: acp.ProtocolVersion, Info: acp.Implementation{Name: "fika", Title: "fika", Version: p.Version}}
	var is acp.Initialized
	if err := s.conn.Ask(ctx, "initialize", hello, &is); err != nil {
		return err
	}
	if is.ProtocolVersion != acp.ProtocolVersion {
		return fika.Errorf(fika.Invalid, "", "it speaks version %d of the protocol, not %d, as fika does", is.ProtocolVersion, acp.ProtocolVersion)
	}
	s.can, s.is = is.Capabilities, is.Info
	open := acp.SessionParams{SessionID: kept, Cwd: p.Dir, Servers: []json.RawMessage{}}
	if s.table != nil {
		open.Servers = append(open.Servers, s.table.server(p.Self))
	}
	var got acp.SessionResult
	method := s.reopening(kept, replay)
	if method != "" {
		s.id = kept
		err := s.conn.Ask(ctx, method, open, &got)
		var refused *jsonrpc.Problem
		if s.known = err == nil; err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	if !s.known {
		open.SessionID = ""
		if err := s.conn.Ask(ctx, "session/new", open, &got); err != nil {
			return err
		}
		if s.id = got.SessionID; s.id == "" {
			return errors.New("it opened a session without an id")
		}
	}
	return s.setMode(ctx, got.Modes)
}

// reopening returns the method that opens a session again; "": there is none.
func (s *Session) reopening(kept string, replay bool) string {
	resume := s.can.Session.Resume != nil
	switch {
	case kept == "":
		return ""
	case s.can.LoadSession && (replay || !resume):
		return "session/load"
	case resume:
		return "session/resume"
	}
	return ""
}

// fullAccess is the mode of Codex in which it uses no sandbox of its own, which does not work
// inside fika's, and no model that judges its calls.
const fullAccess = "agent-full-access"

// setMode makes a program leave confinement to fika, if it is one that confines itself.
func (s *Session) setMode(ctx context.Context, modes *acp.Modes) error {
	if modes == nil || modes.Current == fullAccess || !slices.ContainsFunc(modes.Available, func(m acp.Mode) bool { return m.ID == fullAccess }) {
		return nil
	}
	return s.conn.Ask(ctx, "session/set_mode", acp.SessionParams{SessionID: s.id, ModeID: fullAccess}, &struct{}{})
}

// explain adds to an error what the program said last, and how it ended.
func (s *Session) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var own *fika.Error
	if errors.As(err, &own) {
		return err
	}
	text := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		text = fmt.Sprintf("it did not open a session within %s", startTime)
	case errors.Is(err, jsonrpc.ErrGone):
		why, _ := s.peer.HowEnded()
		text = "it " + why
	}
	if last := s.said.last(); !strings.Contains(strings.ToLower(text), strings.ToLower(last)) { // it often says both
		text += ": " + last
	}
	return fika.Errorf(fika.Failed, "", "%s", safetext.Line(text))
}

// About returns name and version of the program, and in words what becomes of its sessions.
func (s *Session) About() (program, sessions string) {
	program = safetext.Line(strings.TrimSpace(s.is.Name + " " + s.is.Version))
	if program == "" {
		program = "the program"
	}
	switch {
	case s.can.LoadSession:
		return program, "its sessions are continued from turn to turn, and after a crash"
	case s.can.Session.Resume != nil:
		return program, "its sessions are continued from turn to turn"
	}
	return program, "it keeps no sessions: each turn gets the whole conversation"
}

// ID implements [turn.GuestSession].
func (s *Session) ID() string { return s.id }

// Known implements [turn.GuestSession].
func (s *Session) Known() bool { return s.known }

// LastPrompt implements [turn.GuestSession].
func (s *Session) LastPrompt() string { return s.last.String() }

// Prompt implements [turn.GuestSession]. When ctx ends, the program is asked to cancel the
// turn, and ended if it does not within cancelTime.
func (s *Session) Prompt(ctx context.Context, text string, host turn.GuestHost) (turn.GuestEnd, error) {
	s.begin(text, host)
	defer func() {
		s.mu.Lock()
		s.host = nil
		s.mu.Unlock()
	}()
	asking, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(cancelTime, func() {
			s.peer.Kill() // also ends a write that it does not read
			giveUp()
		})
		defer late.Stop()
		s.conn.Notify("session/cancel", acp.SessionParams{SessionID: s.id})
		<-asking.Done()
	})
	defer stop()
	var got acp.Prompted
	err := s.conn.Ask(asking, "session/prompt", acp.SessionParams{SessionID: s.id, Prompt: []acp.Block{{Type: "text", Text: text}}}, &got)
	s.mu.Lock()
	failed, cost := s.err, s.cost
	s.spoilt = s.spoilt || failed != nil || err != nil || ctx.Err() != nil && got.Stop != acp.Cancelled
	s.mu.Unlock()
	end := turn.GuestEnd{Stop: got.Stop, Usage: usageOf(got)}
	end.Cost, end.Priced = microDollars(cost)
	switch {
	case failed != nil:
		return end, failed
	case err != nil && ctx.Err() != nil:
		return end, context.Cause(ctx)
	case errors.Is(err, jsonrpc.ErrGone):
		if s.peer.AwaitEnd() {
			why, _ := s.peer.HowEnded()
			return end, &turn.GuestGone{Why: why}
		}
		return end, &turn.GuestGone{Why: "closed its stdout"}
	case err != nil:
		return end, s.explain(ctx, err)
	}
	return end, nil
}

// begin makes what the program tells from now on that of a new turn.
func (s *Session) begin(text string, host turn.GuestHost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompted, s.host, s.cost = true, host, nil
	s.last.Reset()
	s.last.WriteString(text)
	s.calls.turn()
}

// canStay reports whether the program can work another turn: it runs, and it and its client
// agree about how the turns before have ended.
func (s *Session) canStay() bool {
	select {
	case <-s.peer.Ended():
		return false
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.spoilt
}

// Close ends the program. It may be called twice.
func (s *Session) Close() []string {
	s.once.Do(func() {
		s.peer.End()
		s.peer.Stdout.Close()
		s.reading.Wait()
		if s.table != nil {
			s.table.Close()
		}
	})
	_, undone := s.peer.HowEnded()
	return undone
}

// isQuick names the requests of a program that are handled in order; there are none: those
// that are known wait for a person.
func isQuick(string) bool { return false }

// do takes a notification of the program, or answers a request.
func (s *Session) do(ctx context.Context, method string, raw json.RawMessage) (any, error) {
	switch method {
	case "session/update":
		var n acp.Notification
		if err := json.Unmarshal(raw, &n); err != nil {
			fmt.Fprintf(s.said, "[an update that cannot be read: %v]\n", err)
			return nil, nil
		}
		s.update(n)
		return nil, nil
	case "session/request_permission":
		var ask acp.PermissionAsk
		if err := json.Unmarshal(raw, &ask); err != nil {
			return nil, jsonrpc.Invalid("the parameters cannot be read: " + err.Error())
		}
		return s.permit(ctx, ask), nil
	}
	return nil, &jsonrpc.Problem{Code: jsonrpc.CodeNoMethod, Message: "method not found: " + method}
}

// update passes on what the program does in its turn. What it replays is dropped, but for
// the last message of the user.
func (s *Session) update(n acp.Notification) {
	u := n.Update
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != "" && n.SessionID != s.id || s.err != nil {
		return
	}
	if u.Kind == acp.UsageUpdate && u.Cost != nil {
		s.cost = u.Cost
	}
	if s.host == nil {
		if !s.prompted {
			s.replayed(u)
		}
		return
	}
	if s.isNotice(u) {
		fmt.Fprintln(s.said, u.Said())
		return
	}
	event, ok := s.calls.event(u)
	if !ok {
		return
	}
	if err := s.host.Did(event); err != nil {
		s.err = err
		s.conn.Notify("session/cancel", acp.SessionParams{SessionID: s.id})
	}
}

// isNotice reports whether a message is not of the model: Codex warns so of its settings,
// before each answer, without the id that its messages have.
func (s *Session) isNotice(u acp.Update) bool {
	return u.Kind == acp.MessageChunk && u.MessageID == "" && strings.Contains(s.is.Name, "codex") && strings.HasPrefix(u.Said(), "Warning: ")
}

// call calls one of fika's own tools in the turn under way.
func (s *Session) call(ctx context.Context, name string, args json.RawMessage) (tool.Result, error) {
	s.mu.Lock()
	host, failed := s.host, s.err
	s.mu.Unlock()
	if host == nil || failed != nil {
		return tool.Errorf("not run: no request of this session is at work"), nil
	}
	r, err := host.Call(ctx, name, args)
	if err != nil && ctx.Err() == nil {
		s.fail(err)
	}
	return r, err
}

// fail ends the turn with an error of the host.
func (s *Session) fail(err error) {
	s.mu.Lock()
	first := s.err == nil && s.host != nil
	if first {
		s.err = err
	}
	s.mu.Unlock()
	if first {
		s.conn.Notify("session/cancel", acp.SessionParams{SessionID: s.id})
	}
}

// replayed keeps what the user said last. The caller holds mu.
func (s *Session) replayed(u acp.Update) {
	switch u.Kind {
	case acp.UserChunk:
		if s.answered {
			s.last.Reset()
			s.answered = false
		}
		if s.last.Len() < jsonrpc.MaxLine {
			s.last.WriteString(u.Said())
		}
	case acp.MessageChunk, acp.ThoughtChunk, acp.ToolCall:
		s.answered = true
	}
}

// permit asks the host about a tool call. An option is chosen by its kind, and never one
// that holds for more than this call.
func (s *Session) permit(ctx context.Context, ask acp.PermissionAsk) acp.PermissionAnswer {
	var out acp.PermissionAnswer
	out.Outcome.Outcome = acp.Cancelled
	s.mu.Lock()
	host := s.host
	if ask.SessionID != s.id || s.err != nil {
		host = nil
	}
	var call turn.GuestCall
	ours := false
	if host != nil {
		call = s.calls.merge(ask.ToolCall)
		ours = s.calls.isOurs(ask.ToolCall.ToolCallID)
	}
	s.mu.Unlock()
	if host == nil {
		return out
	}
	allow := ours // it is judged when it arrives
	if !ours {
		var err error
		if allow, err = host.May(ctx, call); err != nil {
			return out
		}
	}
	kind := acp.RejectOnce
	if allow {
		kind = acp.AllowOnce
	}
	for _, o := range ask.Options {
		if o.Kind == kind {
			out.Outcome.Outcome, out.Outcome.Option = acp.Selected, o.ID
			break
		}
	}
	return out
}
