package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika/internal/api"
	"fika/internal/extension/acp"
	"fika/internal/extension/jsonrpc"
	"fika/internal/system/term"
)

// begin shows what happens in the chat from a cursor on, in goroutines that the agent
// joins.
func (s *session) begin(at api.Cursor) {
	s.update(acp.Update{Kind: "available_commands_update", Commands: commandList()})
	s.agent.watchers.Go(func() { s.follow(at) })
	s.agent.watchers.Go(s.followApprovals)
}

// retryAfter is the wait after a stream that has failed.
const retryAfter = time.Second

// follow shows entries and live text until the session ends. After a failure it goes on
// with the entry behind the last one that was shown.
func (s *session) follow(at api.Cursor) {
	scope := api.Scope{Conversations: []string{s.id}, Content: true, Deltas: true}
	for s.open.Err() == nil {
		failed := false
		for e, err := range s.home.Service.Watch(s.open, scope, at) {
			if err != nil || e.Kind == api.ResetEvent {
				failed = true
				break
			}
			if e.Cursor != "" {
				at = e.Cursor
			}
			s.show(e)
		}
		if !failed || s.open.Err() != nil {
			continue
		}
		select {
		case <-s.open.Done():
			return
		case <-time.After(retryAfter):
		}
		if _, next, err := s.home.Service.Look(s.open, api.Scope{Conversations: []string{s.id}}); err == nil {
			at = next
			s.catchUp()
		}
	}
}

// catchUp shows the entries behind the last one that was shown.
func (s *session) catchUp() {
	for {
		s.mu.Lock()
		after := s.shown
		s.mu.Unlock()
		page, err := s.home.Service.Entries(s.open, s.id, api.Page{After: strconv.FormatInt(after, 10)})
		if err != nil || len(page.Items) == 0 {
			return
		}
		for _, e := range page.Items {
			s.entry(e.Seq, e.Request, e.Entry, false)
		}
	}
}

// replay shows the whole chat up to the entry that counts as shown.
func (s *session) replay(ctx context.Context) error {
	upto := s.shown
	s.shown = 0
	for s.shown < upto {
		page, err := s.home.Service.Entries(ctx, s.id, api.Page{After: strconv.FormatInt(s.shown, 10), Limit: api.MaxPage})
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			if e.Seq <= upto {
				s.entry(e.Seq, e.Request, e.Entry, true)
			}
		}
		if page.Next == "" || len(page.Items) == 0 {
			break
		}
	}
	s.shown = upto
	return nil
}

// show shows one event.
func (s *session) show(e api.Event) {
	switch {
	case e.Kind == api.DeltaEvent:
		s.delta(e)
	case e.Kind == api.EntryEvent:
		if e.Entry != nil {
			x := *e.Entry
			if x.Cut > 0 { // all of it is in the chat
				if page, err := s.home.Service.Entries(s.open, s.id, api.Page{After: strconv.FormatInt(e.Seq-1, 10), Limit: 1}); err == nil && len(page.Items) > 0 && page.Items[0].Seq == e.Seq {
					x.Content = page.Items[0].Content
				}
			}
			s.entry(e.Seq, e.Request, x, false)
		} else {
			s.seen(e.Seq)
		}
		s.ring()
	case e.Kind != api.MarkEvent:
		s.ring()
	}
}

// isShown reports whether an entry was shown. seen notes that it was: only then the turn
// may end.
func (s *session) isShown(seq int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return seq <= s.shown
}

func (s *session) seen(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = max(s.shown, seq)
}

// delta shows text that is being written. Text that does not join on is left to the
// entry.
func (s *session) delta(e api.Event) {
	d := e.Delta
	if d == nil || d.Kind != api.TextDelta && d.Kind != api.ReasoningDelta || e.Conversation != s.id {
		return
	}
	if d.Kind == api.ReasoningDelta {
		if d.Text != "" {
			s.update(acp.Update{Kind: "agent_thought_chunk", Content: acp.Text(d.Text)})
		}
		return
	}
	s.mu.Lock()
	l := s.streamOf(e.Request)
	if l.open > 0 && len(l.held) < maxHeld { // text comes quicker than the result that it is about
		l.held = append(l.held, e)
		s.mu.Unlock()
		return
	}
	switch {
	case d.Attempt < l.attempt || d.Attempt == l.attempt && d.Round < l.round:
		s.mu.Unlock()
		return
	case d.Attempt != l.attempt || d.Round != l.round || d.Restart:
		if l.sent != "" {
			l.again++
		}
		l.attempt, l.round, l.sent = d.Attempt, d.Round, ""
	}
	if d.Offset != len(l.sent) || d.Text == "" {
		s.mu.Unlock()
		return
	}
	prefix := ""
	if l.sent == "" {
		prefix = s.speaker(e.Agent)
	}
	l.sent += d.Text
	id := l.id(e.Request)
	s.mu.Unlock()
	s.update(acp.Update{Kind: "agent_message_chunk", MessageID: id, Content: acp.Text(prefix + d.Text)})
}

// maxHeld is how many pieces of text wait for the result of a tool call.
const maxHeld = 4096

// streamOf returns the text of a request. The caller holds mu.
func (s *session) streamOf(request string) *stream {
	l := s.live[request]
	if l == nil {
		l = &stream{}
		s.live[request] = l
	}
	return l
}

// id names the message that is written now. It is the same when the chat is shown again,
// if it was not begun anew.
func (l *stream) id(request string) string {
	id := request + "-" + strconv.Itoa(l.n)
	if l.again > 0 {
		id += "-" + strconv.Itoa(l.again)
	}
	return id
}

// speaker is what stands before the words of an agent that is not the one talked to. The
// caller holds mu.
func (s *session) speaker(name string) string {
	if name == s.to {
		return ""
	}
	return "**@" + name + ":** "
}

// meta is what counts of an entry's metadata.
type meta struct {
	Writer    string `json:"writer"`
	Kind      string `json:"kind"`
	IsError   bool   `json:"is_error"`
	Reasoning string `json:"reasoning"`
}

// entry shows one entry: from the beginning, or the rest of what was shown live.
func (s *session) entry(seq int64, request string, e api.Entry, replay bool) {
	if s.isShown(seq) {
		return
	}
	defer s.seen(seq)
	var m meta
	_ = json.Unmarshal(e.Meta, &m) // what is missing is empty
	switch {
	case e.Type == "tool_call":
		s.toolCall(request, e)
	case e.Type == "tool_result":
		s.toolResult(e, m)
	case e.Type == "notice":
		s.notice(e, m)
	case e.Type != "message":
	case m.Writer == "human":
		s.posting.Lock()   // until it is known whose it is
		s.posting.Unlock() //nolint:staticcheck // nothing is to be done meanwhile
		s.mu.Lock()
		own := s.own[seq]
		delete(s.own, seq)
		s.titled = true
		s.mu.Unlock()
		if !own || replay {
			s.update(acp.Update{Kind: "user_message_chunk", MessageID: e.ID, Content: acp.Text(e.Content)})
		}
	default:
		s.message(request, e, m, replay)
	}
}

// message shows what an agent has said.
func (s *session) message(request string, e api.Entry, m meta, replay bool) {
	if replay && m.Reasoning != "" {
		s.update(acp.Update{Kind: "agent_thought_chunk", Content: acp.Text(m.Reasoning)})
	}
	s.mu.Lock()
	l := s.streamOf(request)
	rest, joins := strings.CutPrefix(e.Content, l.sent)
	if !joins {
		l.again++
		rest, l.sent = e.Content, ""
	}
	if l.sent == "" {
		rest = s.speaker(e.From) + rest
	}
	id := l.id(request)
	l.n, l.sent, l.again, l.round = l.n+1, "", 0, l.round+1
	s.mu.Unlock()
	if rest != "" {
		s.update(acp.Update{Kind: "agent_message_chunk", MessageID: id, Content: acp.Text(rest)})
	}
}

// notice shows what fika says about the chat.
func (s *session) notice(e api.Entry, m meta) {
	if m.Kind == "limit" {
		s.mu.Lock()
		if s.turn != nil && s.turn.stop == acp.EndTurn {
			s.turn.stop = acp.MaxRequests
		}
		s.mu.Unlock()
	}
	s.update(acp.Update{Kind: "agent_message_chunk", MessageID: e.ID, Content: acp.Text("— " + e.Content)})
}

// followApprovals asks the client for the approvals that the chat's work waits for, also
// those of agents that were asked from there.
func (s *session) followApprovals() {
	for s.open.Err() == nil {
		st, at, err := s.home.Service.Look(s.open, api.Scope{})
		if err == nil {
			for _, x := range st.Approvals {
				s.approval(x)
			}
			for e, err := range s.home.Service.Watch(s.open, api.Scope{Kinds: []api.EventKind{api.ApprovalEvent}}, at) {
				if err != nil || e.Kind == api.ResetEvent {
					break
				}
				if e.Kind == api.ApprovalEvent {
					s.approvalChanged(e)
				}
			}
		}
		select {
		case <-s.open.Done():
		case <-time.After(retryAfter):
		}
	}
}

// approvalChanged takes up an approval that is asked for, and withdraws one that was
// answered elsewhere.
func (s *session) approvalChanged(e api.Event) {
	if e.State != "open" {
		s.withdraw(e.Seq)
		return
	}
	st, _, err := s.home.Service.Look(s.open, api.Scope{Requests: []string{e.Request}})
	if err != nil {
		return // its request has ended
	}
	for _, x := range st.Approvals {
		if x.Number == e.Seq {
			s.approval(x)
		}
	}
}

// withdraw takes a question back that the client has not answered, and returns when nothing
// more is said of it.
func (s *session) withdraw(number int64) {
	s.mu.Lock()
	q := s.asked[number]
	delete(s.asked, number)
	s.mu.Unlock()
	if q != nil {
		q.withdraw()
		<-q.over
	}
}

// settleApprovals withdraws what nobody needs to answer any longer, before the end of a turn
// is told.
func (s *session) settleApprovals(ctx context.Context) {
	s.mu.Lock()
	asked := maps.Clone(s.asked)
	s.mu.Unlock()
	for number, q := range asked {
		st, _, err := s.home.Service.Look(ctx, api.Scope{Requests: []string{q.request}})
		open := func(x api.ApprovalInfo) bool { return x.Number == number && x.State == "open" }
		if err != nil || !slices.ContainsFunc(st.Approvals, open) {
			s.withdraw(number)
		}
	}
}

// approval asks the client for an approval of this chat, in a goroutine that the agent
// joins. Whoever answers first counts.
func (s *session) approval(x api.ApprovalInfo) {
	if x.State != "open" || !s.isOurs(x) {
		return
	}
	s.mu.Lock()
	_, asked := s.asked[x.Number]
	ctx, cancel := context.WithCancel(s.open)
	q := &question{request: x.Request, withdraw: cancel, over: make(chan struct{})}
	if !asked {
		s.asked[x.Number] = q
	}
	s.mu.Unlock()
	if asked {
		cancel()
		return
	}
	s.agent.watchers.Go(func() {
		defer close(q.over)
		defer cancel()
		ask, rule := s.permission(x)
		var got acp.PermissionAnswer
		if err := s.agent.conn.Ask(ctx, "session/request_permission", ask, &got); err != nil {
			if ctx.Err() == nil && !errors.Is(err, jsonrpc.ErrGone) {
				s.agent.Warn(fmt.Sprintf("approval %d was not answered by the editor: %v", x.Number, err))
			}
			return
		}
		if got.Outcome.Outcome != "selected" {
			return // it stays open: fika approve answers it
		}
		answer := api.Answer{Allow: got.Outcome.Option == allowOnce}
		if got.Outcome.Option == allowAlways && rule != "" {
			answer = api.Answer{Allow: true, Rule: rule}
		}
		err := s.home.Service.Answer(s.open, x.Number, answer, api.Write{})
		if err != nil && answer.Rule != "" && s.open.Err() == nil { // the person believes that the rule is there
			s.update(acp.Update{Kind: "agent_message_chunk", Content: acp.Text(fmt.Sprintf("— approval %d: %s\n\n", x.Number, s.agent.Words.Error(err)))})
			return
		}
		if err != nil && api.CodeOf(err) != api.Conflict && s.open.Err() == nil {
			s.agent.Warn(fmt.Sprintf("approval %d: %s", x.Number, s.agent.Words.Error(err)))
		}
	})
}

// isOurs reports whether an approval belongs to work that was begun in this chat.
func (s *session) isOurs(x api.ApprovalInfo) bool {
	if x.Conversation == s.id {
		return true
	}
	of, err := s.home.Service.Requests(s.open, api.Scope{Requests: []string{x.Request}}, api.Page{Limit: 1})
	if err != nil || len(of.Items) == 0 || of.Items[0].Chain == "" {
		return false
	}
	ours, err := s.home.Service.Requests(s.open, api.Scope{Conversations: []string{s.id}}, api.Page{})
	return err == nil && slices.ContainsFunc(ours.Items, func(r api.RequestInfo) bool { return r.Chain == of.Items[0].Chain })
}

// The ids of the answers that a client chooses from.
const allowOnce, allowAlways, reject = "allow", "always", "reject"

// permission is the question to the client, and the rule that it may choose to have written;
// empty: no one rule can allow such calls.
func (s *session) permission(x api.ApprovalInfo) (acp.PermissionAsk, string) {
	s.mu.Lock()
	id := s.steps[x.CallID]
	s.mu.Unlock()
	ask := describe(x.Tool, string(x.Args), s.dir)
	if ask.ToolCallID = id; id == "" {
		ask.ToolCallID = "approval-" + strconv.FormatInt(x.Number, 10)
	}
	ask.Status = "pending"
	if x.Agent != s.home.Agent {
		ask.Title = "@" + x.Agent + ": " + ask.Title
	}
	options := []acp.Option{{ID: allowOnce, Name: "Allow", Kind: "allow_once"}}
	rule, err := s.home.Service.Rule(s.open, x.Number)
	if err == nil {
		options = append(options, acp.Option{ID: allowAlways, Name: "Always allow: " + term.Visible(rule.Pattern), Kind: "allow_always"})
	}
	options = append(options, acp.Option{ID: reject, Name: "Deny", Kind: "reject_once"})
	return acp.PermissionAsk{SessionID: s.id, ToolCall: ask, Options: options}, rule.Text
}
