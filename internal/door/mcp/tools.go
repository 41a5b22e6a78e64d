package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika/internal/api"
)

// The arguments of the tools.
type (
	askArgs struct {
		Agent        string `json:"agent" jsonschema:"name of the agent, without @"`
		Prompt       string `json:"prompt" jsonschema:"what it has to do; it knows nothing of your conversation"`
		Conversation string `json:"conversation,omitempty" jsonschema:"name of a conversation with this agent to go on with, or to begin; without one, your own with this agent goes on"`
		Wait         *int   `json:"wait_s,omitempty" jsonschema:"how many seconds to wait for the answer, up to 45; 45 if not given"`
		Key          string `json:"key,omitempty" jsonschema:"names this work: asked again with the same key, it is the same work even if it has ended"`
	}
	startArgs struct {
		Agent  string `json:"agent" jsonschema:"name of the agent, without @"`
		Prompt string `json:"prompt" jsonschema:"what it has to do; it knows nothing of your conversation"`
		Key    string `json:"key,omitempty" jsonschema:"names this work: started again with the same key, it is the same work even if it has ended"`
	}
	statusArgs struct {
		Request string `json:"request" jsonschema:"id that ask or start gave"`
		Wait    int    `json:"wait_s,omitempty" jsonschema:"how many seconds to wait for its end, up to 45; 0 if not given"`
	}
	cancelArgs struct {
		Request string `json:"request" jsonschema:"id that ask or start gave"`
		Reason  string `json:"reason,omitempty" jsonschema:"for whoever looks at it later"`
	}
	sendArgs struct {
		Chat string `json:"chat" jsonschema:"name of the chat"`
		Text string `json:"text" jsonschema:"the message; @NAME asks an agent to answer"`
		Key  string `json:"key,omitempty" jsonschema:"names this message: sent again with the same key, it is the same message"`
	}
	agentsArgs struct {
		After string `json:"after,omitempty" jsonschema:"next of the page before"`
	}
	readArgs struct {
		Conversation string `json:"conversation" jsonschema:"name of a chat or of another conversation"`
		Since        int64  `json:"since,omitempty" jsonschema:"only what was said after this number: next of the page before"`
		Limit        int    `json:"limit,omitempty" jsonschema:"at most so many entries; 50 if not given"`
		Wait         int    `json:"wait_s,omitempty" jsonschema:"if nothing was said yet, wait up to so many seconds, at most 45"`
	}
)

// The results that are not [Work].
type (
	// Agents is a page of agents.
	Agents struct {
		Agents []Agent `json:"agents"`
		Next   string  `json:"next,omitempty" jsonschema:"after of the next page; none: this was the last"`
	}
	// Agent is an agent as another program knows it.
	Agent struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		State       string `json:"state" jsonschema:"idle, busy, stopped, failed …; one that is not running is started when it is asked"`
		Model       string `json:"model,omitempty"`
		Trouble     string `json:"trouble,omitempty"`
	}
	// Sent says what a message has set off.
	Sent struct {
		Chat   string   `json:"chat"`
		Seq    int64    `json:"seq" jsonschema:"number of the message: read what follows it with since"`
		Notify []string `json:"notify" jsonschema:"agents that are asked to answer"`
		Repeat bool     `json:"repeat,omitempty"`
	}
	// Said is a page of a conversation.
	Said struct {
		Conversation string `json:"conversation"`
		Entries      []Line `json:"entries"`
		Next         int64  `json:"next" jsonschema:"since of the next page"`
		More         bool   `json:"more" jsonschema:"there is more already"`
	}
	// Line is an entry of a conversation.
	Line struct {
		Seq  int64  `json:"seq"`
		From string `json:"from"`
		Type string `json:"type" jsonschema:"message, tool_call, tool_result, compaction or notice"`
		Text string `json:"text"`
		Cut  int    `json:"cut,omitempty" jsonschema:"bytes left out"`
	}
)

func (s *server) addTools(to *sdk.Server) {
	yes, no := true, false
	looks := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
	works := &sdk.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &yes}
	sdk.AddTool(to, &sdk.Tool{Name: "ask", Title: "Ask an agent", Annotations: works,
		Description: "Give an agent of fika work and wait for its answer, up to 45 seconds. A longer one: the result has a request id, call status with it."}, tool(s, s.ask))
	sdk.AddTool(to, &sdk.Tool{Name: "start", Title: "Start a task", Annotations: works,
		Description: "Give an agent of fika a task in a conversation of its own, and do not wait. status tells when it has ended, and the answer."}, tool(s, s.start))
	sdk.AddTool(to, &sdk.Tool{Name: "status", Title: "How work stands", Annotations: looks,
		Description: "Show how work stands that ask or start began: its answer if it has ended, else what it waits for. wait_s waits for its end."}, tool(s, s.status))
	sdk.AddTool(to, &sdk.Tool{Name: "send", Title: "Write in a chat", Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		Description: "Write a message in a chat of fika. Agents that it mentions with @NAME answer there: read shows it."}, tool(s, s.send))
	sdk.AddTool(to, &sdk.Tool{Name: "cancel", Title: "Cancel work", Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
		Description: "Ask work that ask or start began to end, with everything that it has caused."}, tool(s, s.cancel))
	sdk.AddTool(to, &sdk.Tool{Name: "agents", Title: "List agents", Annotations: looks,
		Description: "List the agents of fika with what they are for."}, tool(s, s.agents))
	sdk.AddTool(to, &sdk.Tool{Name: "read", Title: "Read a conversation", Annotations: looks,
		Description: "Show what was said in a chat or another conversation of fika, in order, page by page."}, tool(s, s.read))
}

// result is what a tool returns: text for a model, besides the fields.
type result interface {
	text() string
	ok() bool
}

// tool makes the handler of a tool from a function. An error is a result that says so:
// the model can do something about it, the client cannot.
func tool[In any, Out result](s *server, do func(context.Context, api.Service, In, func(string)) (Out, error)) sdk.ToolHandlerFor[In, Out] {
	return func(ctx context.Context, r *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		n := 0.0
		tell := func(text string) {
			if token := r.Params.GetProgressToken(); token != nil {
				n++
				_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: text}) // a client that has left misses it
			}
		}
		if r.Extra != nil {
			ctx = api.WithTrace(ctx, r.Extra.Header.Get("Traceparent"))
		}
		out, err := do(ctx, s.caller(r.ClientInfo()), in, tell)
		if err != nil {
			var none Out
			return nil, none, errors.New(s.Words.Error(err))
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out.text()}}, IsError: !out.ok()}, out, nil
	}
}

// seconds returns a time to wait that a client named.
func seconds(n int) time.Duration { return time.Duration(min(max(n, 0), 3600)) * time.Second }

func (s *server) ask(ctx context.Context, to api.Service, in askArgs, tell func(string)) (Work, error) {
	asked, err := s.begin(ctx, to, api.Ask{Agent: name(in.Agent), Prompt: in.Prompt, Conversation: in.Conversation}, in.Key)
	if err != nil {
		return Work{}, err
	}
	s.ready(ctx, true)
	wait := s.Wait
	if in.Wait != nil {
		wait = seconds(*in.Wait)
	}
	w, err := s.await(ctx, to, asked.Request, wait, tell)
	w.Repeat = asked.Repeat
	return w, err
}

func (s *server) start(ctx context.Context, to api.Service, in startArgs, _ func(string)) (Work, error) {
	asked, err := s.begin(ctx, to, api.Ask{Agent: name(in.Agent), Prompt: in.Prompt, Task: true, Detached: true}, in.Key)
	if err != nil {
		return Work{}, err
	}
	s.ready(ctx, true)
	w, err := s.work(ctx, to, asked.Request)
	w.Repeat = asked.Repeat
	return w, err
}

func (s *server) status(ctx context.Context, to api.Service, in statusArgs, tell func(string)) (Work, error) {
	if in.Wait <= 0 {
		return s.work(ctx, to, in.Request)
	}
	return s.await(ctx, to, in.Request, seconds(in.Wait), tell)
}

func (s *server) cancel(ctx context.Context, to api.Service, in cancelArgs, _ func(string)) (Work, error) {
	if err := to.Cancel(ctx, in.Request, in.Reason, api.Write{}); err != nil {
		return Work{}, err
	}
	return s.work(ctx, to, in.Request)
}

func (s *server) send(ctx context.Context, to api.Service, in sendArgs, _ func(string)) (Sent, error) {
	sent, err := to.Send(ctx, api.Message{Conversation: in.Chat, Text: in.Text}, api.Write{Key: in.Key})
	if err != nil {
		return Sent{}, err
	}
	s.ready(ctx, true)
	return Sent{Chat: in.Chat, Seq: sent.Seq, Notify: sent.Notify, Repeat: sent.Repeat}, nil
}

func (s *server) agents(ctx context.Context, to api.Service, in agentsArgs, _ func(string)) (Agents, error) {
	page, err := to.Agents(ctx, api.Page{After: in.After})
	out := Agents{Agents: []Agent{}, Next: page.Next}
	for _, a := range page.Items {
		out.Agents = append(out.Agents, s.agent(a))
	}
	return out, err
}

func (s *server) agent(a api.AgentInfo) Agent {
	out := Agent{Name: a.Name, Description: a.Description, State: a.State, Model: a.Model}
	if !a.Trouble.IsClear() && s.Words != nil {
		out.Trouble = s.Words(a.Trouble)
	}
	return out
}

func (s *server) read(ctx context.Context, to api.Service, in readArgs, _ func(string)) (Said, error) {
	out, err := page(ctx, to, in.Conversation, in.Since, in.Limit)
	if err != nil || len(out.Entries) > 0 || in.Wait <= 0 {
		return out, err
	}
	waiting, cancel := context.WithTimeout(ctx, min(seconds(in.Wait), s.Wait))
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	scope := api.Scope{Conversations: []string{in.Conversation}, Kinds: []api.EventKind{api.EntryEvent}}
	for e, err := range to.Watch(waiting, scope, api.FromNow) {
		if err != nil && waiting.Err() == nil {
			return out, err
		}
		if e.Kind == api.MarkEvent { // what came before it is not in the stream
			if out, err = page(ctx, to, in.Conversation, in.Since, in.Limit); err == nil && len(out.Entries) == 0 {
				continue
			}
			return out, err
		}
		break
	}
	return page(ctx, to, in.Conversation, in.Since, in.Limit)
}

// name returns the name of an agent as it was given, perhaps with @.
func name(agent string) string { return strings.TrimPrefix(strings.TrimSpace(agent), "@") }

func (a Agents) ok() bool { return true }

func (a Agents) text() string {
	if len(a.Agents) == 0 {
		return "No agents. A person creates one with: fika agent create NAME"
	}
	var b strings.Builder
	for _, x := range a.Agents {
		fmt.Fprintf(&b, "@%s (%s)", x.Name, x.State)
		if x.Description != "" {
			b.WriteString(": " + x.Description)
		}
		if x.Trouble != "" {
			b.WriteString(" [" + x.Trouble + "]")
		}
		b.WriteByte('\n')
	}
	if a.Next != "" {
		fmt.Fprintf(&b, "There are more: agents with after = %q.\n", a.Next)
	}
	return b.String()
}

func (s Sent) ok() bool { return true }

func (s Sent) text() string {
	if len(s.Notify) == 0 {
		return fmt.Sprintf("Sent as %d; it asks nobody to answer. @NAME asks an agent.", s.Seq)
	}
	return fmt.Sprintf("Sent as %d. Asked to answer: @%s. Their answers: read %s with since = %d and wait_s.", s.Seq, strings.Join(s.Notify, ", @"), s.Chat, s.Seq)
}
