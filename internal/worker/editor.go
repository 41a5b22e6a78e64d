package worker

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fika"
	"fika/internal/chat/attachment"
	"fika/internal/extension/editor"
	"fika/internal/extension/mcp"
	"fika/internal/rights/caller"
	"fika/internal/rights/guard"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/turn"
)

// editors are the MCP servers that editors have brought into sessions, as this process runs
// them. The zero value has none. It is safe for concurrent use.
type editors struct {
	mu       sync.Mutex
	sessions map[fika.ConversationName]*editorSession
	warned   map[fika.ConversationName]string
	all      sync.WaitGroup
	closed   bool
}

// editorSession are the servers of one session.
type editorSession struct {
	*editor.Borrowed
	pool *mcp.Pool

	told   sync.Map // what the person at the editor was told, by its text
	asking sync.Mutex
	found  []served // what each server has listed; nil: they were not asked yet
}

// served is a server with its tools, as it listed them first.
type served struct {
	server mcp.Server
	pin    mcp.Pin
}

// lent are the tools of an editor's servers, for one turn. nil has none.
type lent struct {
	tools []tool.Tool
	set   *tool.Set // with the tools of the agent
}

func (l *lent) has(name string) bool {
	return l != nil && slices.ContainsFunc(l.tools, func(t tool.Tool) bool { return t.Spec().Name == name })
}

// names returns what the turn may call besides the agent's own tools: also the search, where
// there are so many that they are searched.
func (l *lent) names() []string {
	if l == nil {
		return nil
	}
	names := toolNames(l.tools)
	if l.set.Check(tool.SearchName) == nil {
		names = append(names, tool.SearchName)
	}
	return names
}

// lentTo returns what an editor lends to the session in which a request is worked; nil:
// nothing. What is wrong with it is told to the person at the editor.
func (r *Runtime) lentTo(ctx context.Context, c store.Claimed) *lent {
	if c.Conversation.Kind != fika.Chat {
		return nil
	}
	path := r.worker.Folder.Home.EditorSocket(c.Conversation.Name)
	s, err := r.worker.editors.open(path, c.Conversation.Name, r)
	if err != nil {
		r.worker.editors.warnOnce(c.Conversation.Name, err.Error(), r.opts.Warn)
	}
	if s == nil {
		return nil
	}
	if r.settings.Engine == config.EngineACP {
		s.tellOnce("MCP servers: @" + string(r.worker.Folder.Name) + " is a program with tools of its own, and gets none of them")
		return nil
	}
	return r.toolsOf(ctx, c, s)
}

// open returns the servers of a session; nil: there are none.
func (e *editors) open(path string, name fika.ConversationName, r *Runtime) (*editorSession, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[name]; s != nil {
		if s.IsNow() {
			return s, nil
		}
		delete(e.sessions, name)
		s.Borrowed.Close()
	}
	if e.closed {
		return nil, nil
	}
	b, err := editor.Borrow(path)
	if b == nil || err != nil {
		return nil, err
	}
	if !isOfPerson(r.worker.Folder.Home, b.Lender) {
		b.Close()
		return nil, fika.Errorf(fika.Denied, "", "MCP servers for %s come from a command of an agent: only the editor of a person brings any", name)
	}
	s := &editorSession{Borrowed: b, pool: r.editorPool(name)}
	if e.sessions == nil {
		e.sessions = map[fika.ConversationName]*editorSession{}
	}
	e.sessions[name] = s
	e.all.Go(func() { // until the editor leaves, or this process does
		<-s.Over()
		_ = s.pool.Close()
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.sessions[name] == s {
			delete(e.sessions, name)
		}
	})
	return s, nil
}

// isOfPerson reports whether a process descends from none that runs tools for an agent. What
// the system does not know counts as a person's, as it does for commands.
func isOfPerson(h folder.Home, pid int) bool {
	if pid == 0 {
		return true
	}
	list, known := process.Ancestors(pid)
	if self, ok := process.Identify(pid); ok {
		list = append([]fika.Process{self}, list...)
	}
	var holders []caller.Holder
	for _, x := range h.Holders() {
		holders = append(holders, caller.Holder{Process: x.Process, Agent: x.Agent, Home: h.Root})
	}
	return !caller.Find(caller.Options{Ancestors: list, Known: known, Holders: holders}).InsideTool()
}

// close ends all of them.
func (e *editors) close() {
	e.mu.Lock()
	e.closed = true
	for _, s := range e.sessions {
		s.Borrowed.Close()
	}
	e.mu.Unlock()
	e.all.Wait()
}

// warnOnce passes on what is wrong with a session's servers, unless that was the last thing
// that was.
func (e *editors) warnOnce(name fika.ConversationName, text string, warn func(string)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.warned == nil {
		e.warned = map[fika.ConversationName]string{}
	}
	if e.warned[name] != text {
		e.warned[name] = text
		warn(text)
	}
}

// editorPool returns the pool of the servers of one session.
func (r *Runtime) editorPool(name fika.ConversationName) *mcp.Pool {
	b, h := r.toolbox, r.worker.Folder.Home
	return mcp.NewPool(mcp.Options{
		Children: b.app.Children(), Dir: r.workspace, Version: "1", Mark: serverMark(h.Root, b.folder.Name) + "/" + string(name), Owned: true,
		LogPath: h.MCPLog, KeepFile: keeper(b.folder), Idle: b.settings.Tools.ServerIdle, Pictures: attachment.StoreIn(h.Root),
		Log: func(server string) (io.WriteCloser, error) {
			return openServerLog(h, server, b.app.Now(), b.app.Secrets())
		},
	})
}

// toolsOf returns the tools of a session's servers, with those of the agent.
func (r *Runtime) toolsOf(ctx context.Context, c store.Claimed, s *editorSession) *lent {
	rights := liveBounds{begun: r}.Effective(ctx, c.Request.Rights, false)
	confine := func() mcp.Confinement {
		return r.confineCall(c.Conversation.ID, r.workspaceOf(c.Request), rights, turn.Opened{}).Server(false)
	}
	use := mcp.Use{Pool: s.pool, Confine: confine, Offline: r.offline}
	out, taken, limits := &lent{}, toolNames(slices.Concat(r.own, r.served)), r.toolbox.outputLimits()
	for _, x := range s.ask(ctx, r, use) {
		for _, t := range x.pin.ToolsFor(x.server, use) {
			if name := t.Spec().Name; slices.Contains(taken, name) {
				s.tellOnce("MCP server " + x.server.Name + ": @" + string(r.worker.Folder.Name) + " has another tool " + name + ": that of the server is not offered")
				continue
			}
			out.tools = append(out.tools, tool.WithLimit(lentTool{t, s}, limits))
		}
	}
	if len(out.tools) == 0 {
		return nil
	}
	var err error
	if out.set, err = r.toolSet(out.tools); err != nil {
		s.tellOnce("MCP servers: " + fika.ReasonOf(err))
		return nil
	}
	return out
}

// listTime is how long a server may take to start and to list its tools.
const listTime = 30 * time.Second

// ask returns the servers with their tools. They are asked once for as long as they are lent:
// a tool that is described otherwise later is not called.
func (s *editorSession) ask(ctx context.Context, r *Runtime, use mcp.Use) []served {
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.found != nil {
		return s.found
	}
	found, troubles := make([]served, len(s.Servers)), make([]string, len(s.Servers))
	var all errgroup.Group
	for i, x := range s.Servers {
		all.Go(func() error {
			server := r.toolbox.editorServer(x)
			ask := server
			ask.Timeout = min(ask.Timeout, listTime)
			l, err := use.Pool.Ask(ctx, ask, use.Confine())
			if err != nil {
				troubles[i] = "MCP server " + x.Name + ": it is not used: " + fika.ReasonOf(err)
				return nil
			}
			if n := len(l.LeftOut); n > 0 {
				troubles[i] = fmt.Sprintf("MCP server %s: %d of its tools are not offered, %s: %s", x.Name, n, l.LeftOut[0].Name, l.LeftOut[0].Why)
			}
			found[i] = served{server, mcp.Pin{At: r.worker.App.Now(), Says: l.Says, Tools: l.Tools}}
			return nil
		})
	}
	_ = all.Wait()
	if ctx.Err() != nil { // they were not at fault
		return nil
	}
	for _, text := range troubles {
		if text != "" {
			s.Tell(text)
		}
	}
	s.found = found
	return found
}

// tellOnce tells the person at the editor what they have not been told.
func (s *editorSession) tellOnce(text string) {
	if _, told := s.told.LoadOrStore(text, true); !told {
		s.Tell(text)
	}
}

// editorServer returns a server as the pool starts it: with the few variables that every
// server gets, and what the editor gave it.
func (b Toolbox) editorServer(s editor.Server) mcp.Server {
	out := mcp.Server{
		Name: s.Called(), Command: s.Command, Args: s.Args, Given: s.Variables(), Taint: true, Session: true, Timeout: b.settings.Tools.Timeout,
	}
	given := out.Given
	for _, name := range serverEnvironment() {
		if v := b.app.Getenv(name); v != "" && !slices.Contains(given, name) {
			out.Env = append(out.Env, name+"="+v)
		}
	}
	out.Env = append(out.Env, s.Env...)
	return out
}

// lentTool is a tool of an editor's server, for as long as it is lent.
type lentTool struct {
	tool.Tool
	session *editorSession
}

// Unwrap lets the tool get ready ahead of its call.
func (t lentTool) Unwrap() tool.Tool { return t.Tool }

// Call implements [tool.Tool].
func (t lentTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	name := t.Spec().Name
	select {
	case <-t.session.Over():
		return tool.Result{IsError: true, Denied: true, Text: "not called: " + name + " is gone: " + editor.IsMissing(name)}, nil
	default:
	}
	r, err := t.Tool.Call(ctx, c)
	select {
	case <-t.session.Over():
		if err == nil && r.IsError {
			r.Text = strings.TrimSpace(r.Text) + "\nThe editor has closed the session meanwhile, and its MCP servers are gone."
		}
	default:
	}
	return r, err
}

// offline reports whether a call must not reach the network.
func (r *Runtime) offline(c tool.Call) bool {
	return c.Taint != "" && policyOf(r.settings).Taint == guard.TaintOffline
}
