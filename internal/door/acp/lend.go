package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"fika/internal/extension/acp"
	"fika/internal/extension/editor"
	"fika/internal/system/term"
)

// takeServers notes which MCP servers the client brings into a session. Nothing is started
// before its person has allowed it.
func (s *session) takeServers(list []json.RawMessage) {
	servers, refused := editor.Read(list, s.agent.Find)
	if s.home.Lend == nil {
		for _, x := range servers {
			refused = append(refused, x.Name+" (only a person's editor brings any)")
		}
		servers = nil
	}
	s.servers = servers
	if len(refused) > 0 {
		s.refused = "— MCP servers of the editor that are not used: " + strings.Join(refused, ", ") + "\n\n"
	}
}

// lend asks the person about each server that the client brings, once, and lends those that
// they allow to the agents of this session for as long as it is open. It reports whether the
// turn was cancelled meanwhile.
func (s *session) lend(ctx context.Context, t *turn) (cancelled bool) {
	s.mu.Lock()
	list, to := s.servers, s.to
	s.servers = nil
	s.mu.Unlock()
	if len(list) == 0 {
		return false
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.agent.watchers.Go(func() {
		select {
		case <-t.cancelled:
			stop()
		case <-ctx.Done():
		}
	})
	var allowed []editor.Server
	var without []string
	for _, x := range list {
		var got acp.PermissionAnswer
		err := s.agent.conn.Ask(ctx, "session/request_permission", s.consent(x, to), &got)
		switch {
		case ctx.Err() != nil: // asked again with the next prompt
			s.mu.Lock()
			s.servers = list
			s.mu.Unlock()
			return true
		case err == nil && got.Outcome.Outcome == "selected" && got.Outcome.Option == allowOnce:
			allowed = append(allowed, x)
		default:
			without = append(without, x.Name)
		}
	}
	if len(without) > 0 {
		s.tell("without the MCP servers that you have not allowed: " + strings.Join(without, ", "))
	}
	if len(allowed) == 0 {
		return false
	}
	given, err := s.home.Lend(s.id, allowed, s.tell)
	if err != nil {
		s.tell("the MCP servers of the editor are not used: " + s.agent.Words.Error(err))
		return false
	}
	s.agent.watchers.Go(func() {
		<-s.open.Done()
		_ = given.Close() // it ends for everybody in any case
	})
	return false
}

// tell says something about the session that is not in its chat.
func (s *session) tell(text string) {
	s.update(acp.Update{Kind: "agent_message_chunk", Content: acp.Text("— " + text + "\n\n")})
}

// consent is the question whether a server may be started.
func (s *session) consent(x editor.Server, to string) acp.PermissionAsk {
	input, _ := json.Marshal(map[string]any{"command": x.Command, "args": append([]string{}, x.Args...), "env": append([]string{}, x.Variables()...)}) // texts cannot fail
	about := fmt.Sprintf("For this session only. It runs %s.", s.home.Confined(to))
	if names := x.Variables(); len(names) > 0 {
		about += " The editor gives it " + strings.Join(names, ", ") + "."
	}
	about += fmt.Sprintf(" Agents that answer here may call its tools, %s__…; each call asks, unless a rule of yours decides.", x.Called())
	text := acp.Text(term.Visible(about))
	return acp.PermissionAsk{
		SessionID: s.id,
		ToolCall: acp.Update{
			ToolCallID: "mcp-server-" + x.Name, Title: term.Visible("start the MCP server " + x.Name + ": " + x.Line()), ToolKind: "execute", Status: acp.Pending, Input: input,
			Content: []acp.ToolContent{{Type: "content", Content: &text}},
		},
		Options: []acp.Option{{ID: allowOnce, Name: "Allow for this session", Kind: "allow_once"}, {ID: reject, Name: "Continue without it", Kind: "reject_once"}},
	}
}
