package acp

import (
	"context"
	"encoding/json"
	"io"
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

// Home is where the chats of a folder are.
type Home struct {
	Service api.Service
	// Ready sees to it that somebody works on what is said; asked: just now.
	Ready func(ctx context.Context, asked bool)
	// Address puts the name of an agent before a text that names nobody.
	Address func(agent, text string) string
	// Agent is whom such a text is for at first; "": there are no agents.
	Agent string
	// Dir is the folder of the project; "" if the home is not a project's.
	Dir string
	// Lend lends MCP servers to the agents that work in a session, until what it returns is
	// closed; tell is told what a person should know of them. nil: whoever runs this is no
	// person.
	Lend func(session string, servers []editor.Server, tell func(string)) (io.Closer, error)
	// Confined says how programs are confined that run for an agent.
	Confined func(agent string) string
}

// Options are what the agent is given.
type Options struct {
	// Open returns the home of a folder. It is called for each session.
	Open  func(ctx context.Context, dir string) (*Home, error)
	Dir   string // where the program was started
	Words door.Words
	Warn  func(string) // for the log of the editor
	// Find returns the path of a program that is named without one.
	Find    func(program string) (string, error)
	Version string
}

// Serve answers an editor on in and out until in ends. Nothing but messages of the
// protocol is written to out. What runs goes on.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	a := &agent{Options: o, conn: jsonrpc.New(out), sessions: map[string]*session{}, open: ctx}
	err := a.conn.Serve(ctx, in, a.do, isQuick)
	cancel()
	a.watchers.Wait()
	return err
}

// agent is the connection with its sessions.
type agent struct {
	Options
	conn     *jsonrpc.Conn
	open     context.Context // ends with the connection
	watchers sync.WaitGroup

	mu       sync.Mutex
	begun    bool // initialize was called
	sessions map[string]*session
}

// isQuick names the methods whose order counts and that take no time.
func isQuick(method string) bool {
	switch method {
	case "session/prompt", "session/load", "session/new", "session/resume", "session/list":
		return false
	}
	return true
}

// do answers one request or takes one notification.
func (a *agent) do(ctx context.Context, method string, raw json.RawMessage) (any, error) {
	if method == "initialize" {
		return a.initialize(raw)
	}
	a.mu.Lock()
	begun := a.begun
	a.mu.Unlock()
	if !begun {
		return nil, &jsonrpc.Problem{Code: jsonrpc.CodeInvalidRequest, Message: "initialize comes first"}
	}
	var p acp.SessionParams
	if strings.HasPrefix(method, "session/") {
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, jsonrpc.Invalid("the parameters cannot be read: " + err.Error())
		}
	}
	switch method {
	case "session/new":
		return a.newSession(ctx, p)
	case "session/load":
		return a.load(ctx, p, true)
	case "session/resume":
		return a.load(ctx, p, false)
	case "session/list":
		return a.list(ctx, p)
	case "session/prompt", "session/cancel", "session/set_config_option", "session/close":
		s, err := a.session(p.SessionID)
		if err != nil {
			return nil, err
		}
		switch method {
		case "session/prompt":
			return s.prompt(ctx, p.Prompt)
		case "session/cancel":
			s.cancel()
			return nil, nil
		case "session/close":
			a.drop(s)
			return nil, nil
		}
		return s.setOption(ctx, p)
	}
	return nil, &jsonrpc.Problem{Code: jsonrpc.CodeNoMethod, Message: "method not found: " + method}
}

func (a *agent) initialize(raw json.RawMessage) (any, error) {
	var p struct {
		Version *int `json:"protocolVersion"`
	}
	if err := json.Unmarshal(raw, &p); err != nil || p.Version == nil {
		return nil, jsonrpc.Invalid("protocolVersion is missing")
	}
	a.mu.Lock()
	a.begun = true
	a.mu.Unlock()
	out := acp.Initialized{ProtocolVersion: acp.ProtocolVersion, Info: acp.Implementation{Name: "fika", Title: "fika", Version: a.Version}, AuthMethods: []acp.AuthMethod{}}
	can := &out.Capabilities
	can.LoadSession, can.Prompt.EmbeddedContext = true, true
	can.Session.List, can.Session.Resume, can.Session.Close = &struct{}{}, &struct{}{}, &struct{}{}
	return out, nil
}

// session returns a session of this connection.
func (a *agent) session(id string) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, &jsonrpc.Problem{Code: jsonrpc.CodeNoResource, Message: "no session " + id + " is open here: session/load opens it"}
}

// keep puts a session in place of another one of that name, which ends.
func (a *agent) keep(s *session) {
	a.mu.Lock()
	old := a.sessions[s.id]
	a.sessions[s.id] = s
	a.mu.Unlock()
	if old != nil {
		old.stop()
	}
}

func (a *agent) drop(s *session) {
	a.mu.Lock()
	if a.sessions[s.id] == s {
		delete(a.sessions, s.id)
	}
	a.mu.Unlock()
	s.stop()
}

// home returns the home of a folder, which has to be an absolute path.
func (a *agent) home(ctx context.Context, dir string) (*Home, error) {
	if !filepath.IsAbs(dir) {
		return nil, jsonrpc.Invalid("cwd has to be an absolute path")
	}
	return a.Open(ctx, dir)
}

func (a *agent) newSession(ctx context.Context, p acp.SessionParams) (any, error) {
	h, err := a.home(ctx, p.Cwd)
	if err != nil {
		return nil, err
	}
	if h.Agent == "" {
		return nil, &jsonrpc.Problem{Code: jsonrpc.CodeInvalidRequest, Message: "no agents to talk to; in a terminal, in " + p.Cwd + ": fika init"}
	}
	s := a.newSessionOf(h, p.Cwd)
	if err := s.checkFolder(ctx, h.Agent); err != nil {
		return nil, err
	}
	if s.id, err = h.Service.Session(ctx, api.Write{}); err != nil {
		return nil, a.said(err)
	}
	s.takeServers(p.Servers)
	options, err := s.options(ctx)
	if err != nil {
		return nil, err
	}
	_, at, err := h.Service.Look(ctx, api.Scope{Conversations: []string{s.id}})
	if err != nil {
		return nil, a.said(err)
	}
	a.keep(s)
	s.begin(at)
	return acp.SessionResult{SessionID: s.id, Options: options}, nil
}

// load opens a session that there is. With replay the client gets what was said before.
func (a *agent) load(ctx context.Context, p acp.SessionParams, replay bool) (any, error) {
	h, err := a.home(ctx, p.Cwd)
	if err != nil {
		return nil, err
	}
	st, at, err := h.Service.Look(ctx, api.Scope{Conversations: []string{p.SessionID}})
	if err != nil {
		if api.CodeOf(err) == api.NotFound || api.CodeOf(err) == api.Invalid {
			return nil, &jsonrpc.Problem{Code: jsonrpc.CodeNoResource, Message: "no session " + p.SessionID}
		}
		return nil, a.said(err)
	}
	if len(st.Conversations) == 0 || !st.Conversations[0].Session {
		return nil, &jsonrpc.Problem{Code: jsonrpc.CodeNoResource, Message: "no session " + p.SessionID}
	}
	s := a.newSessionOf(h, p.Cwd)
	s.id, s.shown = st.Conversations[0].Name, st.Conversations[0].Seq
	s.takeServers(p.Servers)
	if replay {
		if err := s.replay(ctx); err != nil {
			return nil, a.said(err)
		}
	}
	options, err := s.options(ctx)
	if err != nil {
		return nil, err
	}
	a.keep(s)
	s.begin(at)
	return acp.SessionResult{Options: options}, nil
}

// listPage is how many sessions a list shows at once.
const listPage = 50

func (a *agent) list(ctx context.Context, p acp.SessionParams) (any, error) {
	dir := p.Cwd
	if dir == "" {
		dir = a.Dir
	}
	h, err := a.home(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := acp.SessionList{Sessions: []acp.SessionInfo{}}
	for at := p.Cursor; ; {
		page, err := h.Service.Conversations(ctx, api.Page{After: at, Limit: listPage})
		if err != nil {
			return nil, a.said(err)
		}
		for _, c := range page.Items {
			if c.Session && c.Seq > 0 {
				out.Sessions = append(out.Sessions, acp.SessionInfo{
					ID: c.Name, Cwd: dir, Title: a.title(ctx, h, c.Name), Updated: c.Updated.UTC().Format(time.RFC3339),
				})
			}
		}
		if at = page.Next; at == "" || len(out.Sessions) >= listPage {
			out.Next = at
			return out, nil
		}
	}
}

// title is the beginning of what was said first in a session.
func (a *agent) title(ctx context.Context, h *Home, name string) string {
	page, err := h.Service.Entries(ctx, name, api.Page{Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return ""
	}
	return titleOf(page.Items[0].Content)
}

// titleOf returns the first line of a text, without whom it is for.
func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(line, "@") {
		if _, rest, ok := strings.Cut(line, " "); ok {
			line = rest
		}
	}
	const most = 80
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "…"
	}
	return strings.TrimSpace(line)
}

// said returns an error of the service as the client gets it.
func (a *agent) said(err error) error {
	p := &jsonrpc.Problem{Code: jsonrpc.CodeInternal, Message: a.Words.Error(err)}
	switch api.CodeOf(err) {
	case api.Interrupted:
		return err
	case api.Invalid, api.TooLarge:
		p.Code = jsonrpc.CodeInvalidParams
	case api.NotFound:
		p.Code = jsonrpc.CodeNoResource
	case api.Denied, api.Conflict, api.Limit:
		p.Code = jsonrpc.CodeInvalidRequest
	}
	return p
}
