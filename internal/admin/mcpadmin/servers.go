package mcpadmin

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/mcp"
	"fika/internal/extension/oauth"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/text/hint"
	"fika/internal/text/spelling"
	"fika/internal/tool"
	"fika/internal/worker"
)

// Servers are the MCP servers of a home.
type Servers struct {
	app       *app.App
	home      folder.Home
	config    *config.Config
	toolbox   worker.Toolbox
	workspace string
	agent     fika.AgentName
	pool      *mcp.Pool
}

// State is one server as lists show it.
type State struct {
	Entry  config.MCPServer
	Pin    mcp.Pin
	Log    string
	Agents []string // agents and contexts whose tool_permissions name it
	Line   string   // how the server is reached
	Login  Login
}

// Login says how a person's login to a server stands.
type Login struct {
	app.LoginState
	// Needed says that the server is of no use without another login.
	Needed bool
}

// Open opens the servers of the home without starting any.
func Open(a *app.App) (*Servers, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return nil, err
	}
	state, err := h.State()
	if err != nil {
		return nil, err
	}
	settings, err := a.PlainSettings(state.Current)
	if err != nil {
		return nil, err
	}
	s := &Servers{app: a, home: h, config: c, toolbox: worker.NewToolbox(a, h.Folder(state.Current), settings), workspace: settings.WorkspaceOr(a.Dir()), agent: state.Current}
	s.pool = s.toolbox.NewPool(s.workspace, false)
	return s, nil
}

// Close ends the servers that were started.
func (s *Servers) Close() error { return s.pool.Close() }

// List lists the servers, with what is known about them without asking.
func (s *Servers) List() []State {
	out := make([]State, 0, len(s.config.MCP))
	for _, entry := range s.config.MCP {
		out = append(out, s.state(entry))
	}
	return out
}

func (s *Servers) state(entry config.MCPServer) State {
	server, _ := s.toolbox.MCPServer(entry) // a missing variable does not affect what is kept
	pin := s.toolbox.Pins().Load(server)
	return State{Entry: entry, Pin: pin, Log: s.home.MCPLog(entry.Name), Agents: s.users(entry.Name), Line: server.AddressLine(), Login: s.loginTo(entry, pin)}
}

func (s *Servers) loginTo(entry config.MCPServer, pin mcp.Pin) (l Login) {
	if !entry.IsRemote() || entry.BearerEnv != "" {
		return l
	}
	state, err := s.app.LoginTo(entry)
	if err != nil {
		state.Why = err.Error()
	}
	return Login{state, pin.NeedsLogin || state.There && !state.Works}
}

// LogIn has a person log in to a remote server, and asks it for its tools. Error kinds:
// NotFound, Invalid for a server that takes no login, those of [app.Keyring.LogIn] and of
// [Servers.Check].
func (s *Servers) LogIn(ctx context.Context, name string, scopes []string, port int, p oauth.Prompt) (Report, error) {
	state, err := s.Find(name)
	if err != nil {
		return Report{}, err
	}
	switch entry := state.Entry; {
	case !entry.IsRemote():
		return Report{}, fika.Errorf(fika.Invalid, "", "%s is a program here, and needs no login: its keys are in env", name)
	case entry.BearerEnv != "":
		return Report{}, fika.Errorf(fika.Invalid, "", "%s gets the key %s: %s; for a login, remove bearer_env from its [[mcp]] entry", name, entry.BearerEnv, hint.KeySet.With(entry.BearerEnv))
	}
	if err := s.app.LogIn(ctx, state.Entry, scopes, port, p); err != nil {
		return Report{}, fika.Wrap("", "log in to "+name, err)
	}
	return s.Check(ctx, name)
}

// LogOut forgets the login to a server. Error kinds: NotFound, those of the key file.
func (s *Servers) LogOut(ctx context.Context, name string) error {
	state, err := s.Find(name)
	if err != nil {
		return err
	}
	return s.app.LogOut(ctx, state.Entry)
}

// Find returns one server. Error kind: NotFound when there is none with that name.
func (s *Servers) Find(name string) (State, error) {
	entry := s.config.MCPServer(name)
	if entry == nil {
		var names []string
		for _, e := range s.config.MCP {
			names = append(names, e.Name)
		}
		meant := ""
		if near := spelling.Nearest(name, names); near != "" {
			meant = "; did you mean " + near + "?"
		}
		return State{}, fika.WithHint(fika.Errorf(fika.NotFound, "", "server %q not found%s", name, meant), hint.MCPList.With())
	}
	return s.state(*entry), nil
}

// users returns the agents and contexts that may use a server.
func (s *Servers) users(server string) []string {
	names, _, _ := s.home.List()
	for _, entry := range s.config.Agents {
		if id := fika.AgentName(entry.ID); !slices.Contains(names, id) {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	out := []string{}
	for _, n := range names {
		set, err := s.app.Settings(n, nil, true)
		if err == nil && worker.GrantsServer(set.ToolPermissions, server) {
			out = append(out, string(n))
		}
	}
	return out
}

// ToolsFor names the tools of a server that an agent may call, as far as the server has
// ever been asked for them.
func (s *Servers) ToolsFor(agent fika.AgentName, of State) []string {
	out := []string{}
	set, err := s.app.Settings(agent, nil, true)
	if err != nil {
		return out
	}
	all := slices.Contains(set.ToolPermissions, worker.ServerPermission(of.Entry.Name))
	for _, t := range of.Pin.Tools {
		name := mcp.ToolName(of.Entry.Name, t.Name)
		if (all || slices.Contains(set.ToolPermissions, name)) && !slices.Contains(set.ToolsOff, name) && !slices.Contains(set.ToolsOff, worker.ServerPermission(of.Entry.Name)) {
			out = append(out, name)
		}
	}
	return out
}

// Report is the result of a check.
type Report struct {
	State
	Now     mcp.Listing  // what the server says now
	Changes []mcp.Change // since what was agreed to; none if it was never asked
	server  mcp.Server
}

// Check starts or reaches a server and asks for its tools. The answer is kept if the
// server was never asked before, or if it has not changed.
func (s *Servers) Check(ctx context.Context, name string) (Report, error) {
	state, err := s.Find(name)
	if err != nil {
		return Report{}, err
	}
	r, err := s.ask(ctx, state.Entry)
	if mcp.NeedsLogin(err) {
		return r, errors.Join(err, s.toolbox.Pins().NoteFailure(r.server, err))
	}
	if err != nil {
		return r, err
	}
	if len(r.Changes) > 0 {
		return r, s.toolbox.Pins().NoteDifferent(r.server, r.Now)
	}
	return r, s.Agree(r)
}

// ask asks a server, and stores nothing.
func (s *Servers) ask(ctx context.Context, entry config.MCPServer) (Report, error) {
	r := Report{State: s.state(entry)}
	var err error
	if r.server, err = s.toolbox.MCPServer(entry); err != nil {
		return r, err
	}
	if r.Now, err = s.pool.Ask(ctx, r.server, s.toolbox.ServerConfinement(r.server, s.workspace)); err != nil {
		return r, err
	}
	if r.Pin.WasAsked() {
		r.Changes = r.Pin.ChangesAgainst(r.Now)
	}
	return r, nil
}

// Agree stores what a server said as what agents are told about it.
func (s *Servers) Agree(r Report) error {
	_, err := s.toolbox.Pins().NoteAgreed(r.server, r.Now)
	return err
}

// Try asks a server that is in no file yet. Error kind: Invalid when the name is taken or
// the entry is not valid.
func (s *Servers) Try(ctx context.Context, entry config.MCPServer) (Report, error) {
	if s.config.MCPServer(entry.Name) != nil {
		return Report{}, fika.Errorf(fika.Invalid, "", "MCP server %q already exists: %s, or choose another name", entry.Name, hint.MCPRemove.With(entry.Name))
	}
	if _, err := config.Parse("mcp", []byte(entry.TOML()+"\n")); err != nil {
		return Report{}, fika.Wrap(fika.Invalid, "", err)
	}
	return s.ask(ctx, entry)
}

// Add writes entries into the home's config.toml.
func (s *Servers) Add(entries ...config.MCPServer) error {
	for _, e := range entries {
		if err := config.AddMCPServer(s.home.ConfigFile(), e); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a server from the home's config.toml, with what is kept of it.
func (s *Servers) Remove(ctx context.Context, name string) error {
	if _, err := s.Find(name); err != nil {
		return err
	}
	if err := config.RemoveMCPServer(s.home.ConfigFile(), name); err != nil {
		return err
	}
	if err := s.app.ForgetLogin(ctx, name); err != nil {
		return err
	}
	return s.toolbox.Pins().Forget(name)
}

// Permissions returns, for advice, the permissions of the current context plus all tools
// of a server.
func (s *Servers) Permissions(server string) []string {
	set, err := s.app.Settings(s.agent, nil, true)
	if err != nil || set.ToolPermissions == nil {
		return []string{"read", "list", worker.ServerPermission(server)}
	}
	return append(slices.Clone(set.ToolPermissions), worker.ServerPermission(server))
}

// Call calls a tool of a server, as a model would. Error kind: NotFound when no server
// has the tool.
func (s *Servers) Call(ctx context.Context, name string, args json.RawMessage, progress func([]byte)) (tool.Result, error) {
	var tools []tool.Tool
	if entry := s.config.MCPServer(mcp.ServerOf(name)); entry != nil {
		server, err := s.toolbox.MCPServer(*entry)
		if err != nil {
			return tool.Result{}, err
		}
		confine := func() mcp.Confinement { return s.toolbox.ServerConfinement(server, s.workspace) }
		pin, err := s.pool.Pinned(ctx, server, confine)
		if err != nil {
			return tool.Result{}, err
		}
		tools = pin.ToolsFor(server, mcp.Use{Pool: s.pool, Confine: confine})
	}
	set, err := tool.NewSet(tools, tool.Permissions{})
	if err != nil {
		return tool.Result{}, err
	}
	if _, err := set.Find(name); fika.IsKind(err, fika.NotFound) {
		return tool.Result{}, fika.Errorf(fika.NotFound, "", "%v; tools are called SERVER__TOOL, and %s SERVER lists them", err, hint.MCPShow.With())
	}
	set.RedactWith(s.app.Secrets())
	r, err := set.Call(ctx, tool.Call{Name: name, Step: "by-hand/1", Args: args, Agent: s.agent, Context: string(s.agent), Workspace: s.workspace, Progress: progress})
	return s.toolbox.Shorten(r, name), err
}
