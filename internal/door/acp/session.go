package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"fika/internal/api"
	"fika/internal/door"
	"fika/internal/extension/acp"
	"fika/internal/extension/editor"
	"fika/internal/extension/jsonrpc"
)

// session is one chat, as far as it has been shown to the client.
type session struct {
	agent *agent
	home  *Home
	id    string // name of the chat
	dir   string // where the editor works

	open context.Context
	stop context.CancelFunc
	bell chan struct{} // capacity 1: something has happened

	posting sync.Mutex // held while a message is sent, until it is known which entry it is

	mu      sync.Mutex
	to      string         // the agent that text is for which names nobody
	turn    *turn          // the prompt that runs; nil: none
	own     map[int64]bool // entries that the client has written itself and not seen yet
	shown   int64          // seq of the newest entry that was shown
	titled  bool
	servers []editor.Server     // of the client, which its person was not asked about yet
	refused string              // what the client is to be told of its MCP servers, once it is listened to; empty: nothing
	live    map[string]*stream  // by request
	calls   map[string]call     // tool calls without a result, by id of their entry
	steps   map[string]string   // ids of such entries, by call id
	asked   map[int64]*question // approvals that the client is asked for
}

// question is an approval that the client is asked for.
type question struct {
	request  string
	withdraw context.CancelFunc
	over     chan struct{} // closed when nothing more is said of it
}

// turn is a prompt that runs.
type turn struct {
	cancelled chan struct{} // closed when the client wants it to end
	once      sync.Once
	stop      string // the reason to give; guarded by session.mu
}

// stream is the text of a request that is being written.
type stream struct {
	attempt int64
	round   int
	sent    string      // of the message that is written now
	n       int         // messages before it
	again   int         // how often it was begun anew
	open    int         // tool calls without a result
	held    []api.Event // text that came before such a result
}

// call is a tool call that has no result yet.
type call struct{ request, tool, args string }

func (a *agent) newSessionOf(h *Home, dir string) *session {
	s := &session{
		agent: a, home: h, dir: dir, to: h.Agent, bell: make(chan struct{}, 1), own: map[int64]bool{}, live: map[string]*stream{},
		calls: map[string]call{}, steps: map[string]string{}, asked: map[int64]*question{},
	}
	s.open, s.stop = context.WithCancel(a.open)
	return s
}

// checkFolder refuses an agent that works in another folder than the editor.
func (s *session) checkFolder(ctx context.Context, name string) error {
	a, err := s.agentNamed(ctx, name)
	if err != nil || a.Workspace == "" || within(a.Workspace, s.dir) {
		return err
	}
	return &jsonrpc.Problem{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(
		"@%s works in %s, not in %s. In a terminal, in %s: fika init makes it a project with agents of its own; or set workspace in the [[agents]] entry of %s", name, a.Workspace, s.dir, s.dir, name)}
}

// within reports whether a folder is another one or below it.
func within(root, dir string) bool {
	real := func(p string) string {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return r
		}
		return filepath.Clean(p)
	}
	rel, err := filepath.Rel(real(root), real(dir))
	return err == nil && filepath.IsLocal(rel)
}

func (s *session) agentNamed(ctx context.Context, name string) (api.AgentInfo, error) {
	for at := ""; ; {
		page, err := s.home.Service.Agents(ctx, api.Page{After: at})
		if err != nil {
			return api.AgentInfo{}, s.agent.said(err)
		}
		for _, a := range page.Items {
			if a.Name == name {
				return a, nil
			}
		}
		if at = page.Next; at == "" {
			return api.AgentInfo{}, nil // a pool
		}
	}
}

// options are what a person may choose in a session: whom they talk to.
func (s *session) options(ctx context.Context) ([]acp.ConfigOption, error) {
	page, err := s.home.Service.Agents(ctx, api.Page{})
	if err != nil {
		return nil, s.agent.said(err)
	}
	o := acp.ConfigOption{ID: "agent", Name: "Agent", About: "Who answers what names nobody; @NAME asks another one", Type: "select", Possible: []acp.ConfigValue{}}
	s.mu.Lock()
	o.Current = s.to
	s.mu.Unlock()
	known := false
	for _, a := range page.Items {
		known = known || a.Name == o.Current
		o.Possible = append(o.Possible, acp.ConfigValue{Value: a.Name, Name: a.Name, About: a.Description})
	}
	if !known {
		o.Possible = append(o.Possible, acp.ConfigValue{Value: o.Current, Name: o.Current})
	}
	return []acp.ConfigOption{o}, nil
}

func (s *session) setOption(ctx context.Context, p acp.SessionParams) (any, error) {
	var name string
	if p.ConfigID != "agent" || json.Unmarshal(p.Value, &name) != nil {
		return nil, jsonrpc.Invalid("unknown option: want agent, with the name of one")
	}
	options, err := s.options(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range options[0].Possible {
		if v.Value != name {
			continue
		}
		if err := s.checkFolder(ctx, name); err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.to = name
		s.mu.Unlock()
		options[0].Current = name
		return acp.SessionResult{Options: options}, nil
	}
	return nil, jsonrpc.Invalid("agent not found: " + name)
}

// cancel ends the turn of the client's prompt; without one it does nothing.
func (s *session) cancel() {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		t.once.Do(func() { close(t.cancelled) })
	}
}

// lookEvery is how often a turn looks at the chat when nothing happens in it, and
// lastWait how long one that was cancelled waits for what runs to end.
const (
	lookEvery = 2 * time.Second
	lastWait  = 10 * time.Second
)

// prompt says something in the chat and waits until nothing runs or waits there.
func (s *session) prompt(ctx context.Context, blocks []acp.Block) (any, error) {
	said, err := promptText(blocks)
	if err != nil {
		return nil, err
	}
	t := &turn{cancelled: make(chan struct{}), stop: acp.EndTurn}
	s.mu.Lock()
	busy := s.turn != nil
	if !busy {
		s.turn = t
	}
	to, refused := s.to, s.refused
	if !busy {
		s.refused = ""
	}
	s.mu.Unlock()
	if busy {
		return nil, &jsonrpc.Problem{Code: jsonrpc.CodeInvalidRequest, Message: "a prompt is under way in this session: wait for it, or cancel it"}
	}
	defer func() {
		s.mu.Lock()
		s.turn = nil
		s.mu.Unlock()
	}()
	if refused != "" {
		s.update(acp.Update{Kind: "agent_message_chunk", Content: acp.Text(refused)})
	}
	if strings.HasPrefix(said, "/") {
		if answer, known := s.command(ctx, said); known {
			s.update(acp.Update{Kind: "agent_message_chunk", Content: acp.Text(answer)})
			return acp.Prompted{Stop: acp.EndTurn}, nil
		}
	}
	if s.lend(ctx, t) {
		return acp.Prompted{Stop: acp.Cancelled}, nil
	}
	if err := s.post(ctx, s.home.Address(to, said)); err != nil {
		return nil, err
	}
	return s.finish(ctx, t)
}

// post sends a message. If it asks nobody to answer, the client is told.
func (s *session) post(ctx context.Context, said string) error {
	s.posting.Lock()
	defer s.posting.Unlock()
	sent, err := s.home.Service.Send(ctx, api.Message{Conversation: s.id, Text: said}, api.Write{})
	if err != nil {
		return s.agent.said(err)
	}
	s.mu.Lock()
	s.own[sent.Seq] = true
	first := !s.titled
	s.titled = true
	s.mu.Unlock()
	if first {
		s.update(acp.Update{Kind: "session_info_update", Title: titleOf(said)})
	}
	if len(sent.Notify) == 0 {
		s.update(acp.Update{Kind: "agent_message_chunk", Content: acp.Text("This asks nobody to answer: @NAME asks an agent.")})
	}
	s.home.Ready(ctx, true)
	return nil
}

// finish waits for the end of a turn: nothing runs or waits in the chat, and all that was
// said has been shown.
func (s *session) finish(ctx context.Context, t *turn) (any, error) {
	cancelled, last := t.cancelled, (<-chan time.Time)(nil)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		over, err := s.over(ctx)
		if err != nil && ctx.Err() == nil {
			return nil, s.agent.said(err)
		}
		if over {
			s.settleApprovals(ctx)
			s.mu.Lock()
			defer s.mu.Unlock()
			return acp.Prompted{Stop: t.stop}, nil
		}
		select {
		case <-s.bell:
		case <-look.C:
			s.home.Ready(ctx, false)
		case <-last:
			s.settleApprovals(ctx)
			return acp.Prompted{Stop: acp.Cancelled}, nil
		case <-cancelled:
			cancelled, last = nil, time.After(lastWait)
			s.mu.Lock()
			t.stop = acp.Cancelled
			s.mu.Unlock()
			if err := s.home.Service.Stop(ctx, s.id, api.Write{}); err != nil && api.CodeOf(err) != api.Conflict {
				return nil, s.agent.said(err)
			}
		case <-ctx.Done(): // the client withdraws the request, or has left
			if s.open.Err() != nil {
				return nil, ctx.Err()
			}
			ctx = s.open
			t.once.Do(func() { close(t.cancelled) })
		case <-s.open.Done():
			return nil, context.Canceled
		}
	}
}

// over reports whether a turn has come to its end.
func (s *session) over(ctx context.Context) (bool, error) {
	st, _, err := s.home.Service.Look(ctx, api.Scope{Conversations: []string{s.id}})
	if err != nil || len(st.Conversations) == 0 || st.Conversations[0].Busy {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown >= st.Conversations[0].Seq, nil
}

// ring wakes the turn.
func (s *session) ring() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

func (s *session) update(u acp.Update) {
	s.agent.conn.Notify("session/update", acp.Notification{SessionID: s.id, Update: u})
}

// promptText makes one text of a prompt. Links stay links; embedded files stand below,
// fenced.
func promptText(blocks []acp.Block) (string, error) {
	var b strings.Builder
	for _, x := range blocks {
		switch {
		case x.Type == "text":
			b.WriteString(x.Text)
		case x.Type == "resource_link" && x.URI != "":
			b.WriteString(linked(x.URI))
		case x.Type == "resource" && x.Resource != nil && x.Resource.Blob == "":
			fmt.Fprintf(&b, "\n\n%s:\n%s\n", linked(x.Resource.URI), fenced(x.Resource.Text))
		default:
			return "", jsonrpc.Invalid("a prompt has text, links to resources and resources with text: " + x.Type + " is not supported")
		}
	}
	said := strings.TrimSpace(strings.ReplaceAll(b.String(), "\x00", ""))
	if said == "" {
		return "", jsonrpc.Invalid("the prompt is empty")
	}
	return said, nil
}

// linked names a resource as agents know files.
func linked(uri string) string {
	if path, ok := strings.CutPrefix(uri, "file://"); ok {
		return "`" + path + "`"
	}
	return uri
}

// fenced sets a text apart, whatever is in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// command carries out a command of this door, and returns what came of it.
func (s *session) command(ctx context.Context, line string) (answer string, known bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	to := s.home.Service
	var err error
	switch word {
	case "/pause":
		answer, err = "Paused: what is said now waits. /resume continues.", to.Pause(ctx, s.id, api.Write{})
	case "/resume":
		answer, err = "Resumed.", to.Resume(ctx, s.id, api.Write{})
	case "/stop":
		answer, err = "Stopped what ran and waited here.", to.Stop(ctx, s.id, api.Write{})
	case "/continue":
		answer, err = "Continued.", to.Continue(ctx, s.id, api.Write{})
		s.home.Ready(ctx, true)
	case "/why":
		answer, err = s.why(ctx)
	default:
		return "", false
	}
	if err != nil {
		answer = s.agent.Words.Error(err)
	}
	return answer, true
}

// commandList is what the client offers after a slash.
func commandList() []acp.Command {
	return []acp.Command{
		{Name: "why", About: "what runs and waits here, and for what"},
		{Name: "pause", About: "let running steps finish and nothing new begin"},
		{Name: "resume", About: "end a pause"},
		{Name: "stop", About: "stop what runs and waits here"},
		{Name: "continue", About: "go on with what a limit has stopped"},
	}
}

// why says what runs and waits in the chat.
func (s *session) why(ctx context.Context) (string, error) {
	st, _, err := s.home.Service.Look(ctx, api.Scope{Conversations: []string{s.id}})
	if err != nil {
		return "", err
	}
	var lines []string
	for _, c := range st.Conversations {
		if c.Paused || st.Paused {
			lines = append(lines, "The chat is paused: /resume continues.")
		}
	}
	for _, r := range st.Requests {
		if door.Ended(r) {
			continue
		}
		line := "@" + r.Agent + " " + r.State
		switch {
		case r.Tool != "":
			line += ": " + r.Tool
		case r.Wait != "":
			line += " for: " + r.Wait
		}
		lines = append(lines, line)
	}
	for _, a := range st.Agents {
		for _, why := range []api.Status{a.Trouble, a.Why} {
			if !why.IsClear() && why.Code != api.AgentOnDemand && s.agent.Words != nil {
				lines = append(lines, "@"+a.Name+": "+s.agent.Words(why))
			}
		}
	}
	if len(lines) == 0 {
		return "Nothing runs, nothing waits.", nil
	}
	return strings.Join(lines, "\n"), nil
}
