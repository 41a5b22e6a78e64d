package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fika"
	"fika/internal/chat/attachment"
	"fika/internal/extension/mcp"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/text/redact"
	"fika/internal/tool"
)

// ServerPermission stands in tool_permissions for all tools of an MCP server.
func ServerPermission(server string) string { return "mcp:" + server }

// serverEnvironment returns the names of the person's variables that every MCP server
// gets: locations and display settings, never credentials.
func serverEnvironment() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "NO_COLOR",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
	}
}

// MCPServer returns the server for a [[mcp]] entry. It returns Invalid if a variable
// that the server needs is not set anywhere.
func (b Toolbox) MCPServer(s config.MCPServer) (mcp.Server, error) {
	out := mcp.Server{
		Name: s.Name, Command: s.Command, Args: s.Args, Given: s.Env, Network: s.Network == "on", URL: s.URL,
		Tools: s.Tools, Trust: s.Trust, Taint: s.Taint, Timeout: s.Timeout,
	}
	if out.Timeout == 0 {
		out.Timeout = b.settings.Tools.Timeout
	}
	if s.IsRemote() {
		out.ByLogin = s.BearerEnv == ""
		out.Headers = func() (map[string]string, error) { return b.app.ServerHeaders(s) }
		out.Token = func(ctx context.Context, refused string) (string, error) { return b.app.ServerToken(ctx, s, refused) }
		return out, nil
	}
	if strings.Contains(s.Command, "/") {
		out.Command = config.ExpandPath(b.folder.Home.Root, s.Command)
	}
	for _, name := range serverEnvironment() {
		if v := b.app.Getenv(name); v != "" {
			out.Env = append(out.Env, name+"="+v)
		}
	}
	for _, one := range s.Env {
		if name, value, set := strings.Cut(one, "="); set {
			out.Env = append(out.Env, name+"="+value)
			continue
		}
		value, err := b.app.ServerKey(one, s)
		if err != nil {
			return out, err
		}
		out.Env = append(out.Env, one+"="+value)
	}
	return out, nil
}

// Pins returns what servers have said about their tools in this home.
func (b Toolbox) Pins() mcp.Pins { return mcp.Pins{Dir: b.folder.Home.MCPDir(), Now: b.app.Now} }

// NewPool returns the pool of MCP servers of one process. owned says that no other
// process works for this context.
func (b Toolbox) NewPool(dir string, owned bool) *mcp.Pool {
	h := b.folder.Home
	mark := serverMark(h.Root, b.folder.Name)
	if !owned { // other processes may work for this context meanwhile
		mark = fmt.Sprintf("by-hand.%d.%s", os.Getpid(), mark)
	}
	return mcp.NewPool(mcp.Options{
		Pins: b.Pins(), Children: b.app.Children(), Dir: dir, Version: "1", Mark: mark, Owned: owned,
		LogPath: h.MCPLog, KeepFile: keeper(b.folder), Idle: b.settings.Tools.ServerIdle, Pictures: attachment.StoreIn(h.Root),
		Log: func(server string) (io.WriteCloser, error) {
			return openServerLog(h, server, b.app.Now(), b.app.Secrets())
		},
	})
}

// serverMark is set in the environment of the servers of a context's process. The next
// process of that context ends what has the mark and was left running, so no other
// context may have the same mark: homes of projects all have the same name.
func serverMark(home string, name fika.AgentName) string {
	sum := sha256.Sum256([]byte(home))
	return "mcp." + string(name) + "." + hex.EncodeToString(sum[:8])
}

// ServerConfinement confines an MCP server that only a person calls.
func (b Toolbox) ServerConfinement(s mcp.Server, workspace string) mcp.Confinement {
	return b.Confinement().Server(workspace, s.Network)
}

// serverLog is a log from which known keys are removed.
type serverLog struct {
	*redact.Writer
	file io.Closer
}

// Close implements [io.Closer].
func (l serverLog) Close() error { return errors.Join(l.Writer.Close(), l.file.Close()) }

func openServerLog(h folder.Home, server string, now time.Time, keys *redact.Keys) (io.WriteCloser, error) {
	if err := h.EnsureDir(h.LogsDir()); err != nil {
		return nil, err
	}
	f, err := folder.OpenBoundedLog(h.MCPLog(server))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(f, "[STARTED %s]\n", now.Format(time.DateTime))
	return serverLog{keys.Writer(f), f}, nil
}

// keeper returns a function that stores in the output folder of a context what a text
// cannot show.
func keeper(f folder.Folder) func(string, []byte) (string, error) {
	return func(name string, data []byte) (string, error) {
		dir := f.OutputDir()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		ending := filepath.Ext(name)
		file, err := os.CreateTemp(dir, strings.ReplaceAll(strings.TrimSuffix(name, ending), "/", "_")+"-*"+ending)
		if err != nil {
			return "", err
		}
		_, err = file.Write(data)
		return file.Name(), errors.Join(err, file.Close())
	}
}

// pool returns the pool of this worker's process, created on first use.
func (w *Worker) pool(b Toolbox, dir string) *mcp.Pool {
	if w.servers == nil {
		w.servers = b.NewPool(dir, true)
	}
	return w.servers
}

// GrantsServer reports whether permissions name a server or one of its tools.
func GrantsServer(permissions []string, server string) bool {
	return slices.ContainsFunc(permissions, func(p string) bool {
		return p == ServerPermission(server) || mcp.ServerOf(p) == server
	})
}

// serverTools returns the tools of the MCP servers that the settings permit, and the
// permissions with mcp:NAME expanded. A server that was never asked for its tools is
// asked now. taken are the names of other tools, which no server may shadow.
func (r *Runtime) serverTools(ctx context.Context, taken []string) ([]tool.Tool, tool.Permissions) {
	perms := tool.Permissions{Allow: r.settings.ToolPermissions, Off: r.settings.ToolsOff}
	var wanted []config.MCPServer
	for _, s := range r.settings.MCP {
		if !s.Disabled && GrantsServer(perms.Allow, s.Name) {
			wanted = append(wanted, s)
		}
	}
	if len(wanted) == 0 {
		return nil, perms
	}
	found := r.toolsOfAll(ctx, wanted)
	limits := r.toolbox.outputLimits()
	var tools []tool.Tool
	for i, s := range wanted {
		var names []string
		for _, t := range found[i] {
			name := t.Spec().Name
			if slices.Contains(taken, name) {
				r.opts.Warn(fmt.Sprintf("mcp server %s: there is another tool %s: that of the server is not offered", s.Name, name))
				continue
			}
			names = append(names, name)
			tools = append(tools, tool.WithLimit(t, limits))
		}
		perms.Allow = spellOut(perms.Allow, s.Name, names)
		perms.Off = spellOut(perms.Off, s.Name, names)
		if s.Command != "" {
			r.noteStarting(found[i])
		}
	}
	return tools, perms
}

// deferMany returns the tools of servers as they are or, if there are more of them than
// the settings allow in each request, deferred and with the tool that finds them.
func (r *Runtime) deferMany(served []tool.Tool, p tool.Permissions) []tool.Tool {
	most := r.settings.Tools.SearchAbove
	if most <= 0 || len(served) <= most || slices.Contains(p.Off, tool.SearchName) {
		return served
	}
	var groups []tool.Group
	var later []tool.Tool
	permitted := 0
	for _, t := range served {
		spec := t.Spec()
		later = append(later, tool.Deferred(t))
		if p.Allow != nil && !slices.Contains(p.Allow, spec.Name) || slices.Contains(p.Off, spec.Name) {
			continue
		}
		permitted++
		server := mcp.ServerOf(spec.Name)
		if n := len(groups); n == 0 || groups[n-1].Name != server {
			groups = append(groups, tool.Group{Name: server})
		}
		last := &groups[len(groups)-1]
		last.Specs = append(last.Specs, spec)
	}
	if permitted <= most {
		return served
	}
	return append([]tool.Tool{tool.NewSearch(groups)}, later...)
}

// noteStarting records which tools start a process that may change something.
func (r *Runtime) noteStarting(tools []tool.Tool) {
	for _, t := range tools {
		r.plugged[t.Spec().Name] = t.Spec().Effect != fika.Pure
	}
}

// spellOut replaces mcp:NAME by the names of the server's tools. If there are none it
// stays, to be reported as unknown.
func spellOut(list []string, server string, names []string) []string {
	i := slices.Index(list, ServerPermission(server))
	if i < 0 || len(names) == 0 {
		return list
	}
	return slices.Concat(list[:i], names, list[i+1:])
}

// toolsOfAll returns the tools of servers, in their order. Stored tool lists are read
// concurrently, and servers that were never asked are asked concurrently. The trouble
// of each server is reported once per process.
func (r *Runtime) toolsOfAll(ctx context.Context, servers []config.MCPServer) [][]tool.Tool {
	pool := r.worker.pool(r.toolbox, r.workspace)
	found := make([][]tool.Tool, len(servers))
	troubles := make([]error, len(servers))
	var all errgroup.Group
	all.SetLimit(4)
	for i, entry := range servers {
		s, err := r.toolbox.MCPServer(entry)
		if err != nil {
			troubles[i] = err
			continue
		}
		all.Go(func() error {
			pin, err := pool.Pinned(ctx, s, r.confinementOf(s))
			if err != nil {
				troubles[i] = err
				return nil
			}
			found[i] = r.offer(pool, s, pin)
			return nil
		})
	}
	_ = all.Wait()
	for i, err := range troubles {
		r.worker.warnOfServer(servers[i].Name, err, r.opts.Warn)
	}
	return found
}

// warnOfServer reports the trouble of a server, unless that was done before. A nil
// error clears it.
func (w *Worker) warnOfServer(name string, err error, warn func(string)) {
	if err == nil {
		delete(w.serverTrouble, name)
		return
	}
	if w.serverTrouble[name] {
		return
	}
	if w.serverTrouble == nil {
		w.serverTrouble = map[string]bool{}
	}
	w.serverTrouble[name] = true
	warn(err.Error())
}

// confinementOf returns the confinement of a server that is started without a call of
// an agent, or by a call without rights. It is computed only when needed, because a
// prompt usually starts none of many servers.
func (r *Runtime) confinementOf(s mcp.Server) func() mcp.Confinement {
	return func() mcp.Confinement { return r.toolbox.ServerConfinement(s, r.workspace) }
}

// offer returns the tools in the stored list of a server.
func (r *Runtime) offer(pool *mcp.Pool, s mcp.Server, pin mcp.Pin) []tool.Tool {
	return pin.ToolsFor(s, mcp.Use{Pool: pool, Confine: r.confinementOf(s), Offline: r.offline})
}

// Server confines an MCP server that is called, within the same rights.
func (c *callConfinement) Server(network bool) mcp.Confinement {
	return c.now().Server(c.workspace, network)
}

// Shorten bounds the result of a tool that a person calls, as it is bounded for agents.
func (b Toolbox) Shorten(r tool.Result, name string) tool.Result {
	return tool.Shorten(r, name, b.outputLimits())
}
