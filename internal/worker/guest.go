package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/guest"
	"fika/internal/sandbox"
	"fika/internal/sandbox/confine"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/text/redact"
	"fika/internal/tool"
	"fika/internal/tool/board"
	"fika/internal/tool/offer"
	"fika/internal/tool/proc"
	"fika/internal/turn"
)

// guestFor returns the program that works a request in the place of a model; nil: none
// does.
func (r *Runtime) guestFor(c store.Claimed) turn.Guest {
	if r.settings.Engine != config.EngineACP {
		return nil
	}
	return guestProgram{r, c.Request.Rights, r.workspaceOf(c.Request)}
}

// guestProgram is the program of an agent, for one request.
type guestProgram struct {
	*Runtime
	cause     *fika.Rights // of the agent that caused the request; nil: a person did
	workspace string
}

// Program implements [turn.Guest]. Sessions are those of a program in a folder.
func (g guestProgram) Program() string {
	sum := sha256.Sum256([]byte(strings.Join(append(slices.Clone(g.settings.Command), g.workspace), "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Open implements [turn.Guest].
func (g guestProgram) Open(ctx context.Context, o turn.GuestOpen) (turn.GuestSession, error) {
	b := g.toolbox.within(o.Rights)
	if g.cause != nil && !g.cause.AllowsTool("bash") && !g.cause.AllowsTool("edit") {
		b.readOnly = true
	}
	l, err := b.guestLaunch(g.workspace, o.Tools)
	if err != nil {
		return nil, err
	}
	u := &guestUse{pool: g.worker.guests, place: string(o.Conversation)}
	if l.tier == string(sandbox.Full) { // elsewhere commands that it leaves running would speak as the agent between turns
		if u.stay = g.settings.Tools.GuestIdle; u.stay > 0 {
			o.Mark = GuestMark(b.folder.Home.Root, b.folder.Name) + string(o.Conversation)
		}
		if u.alike, err = l.alike(); err != nil {
			return nil, err
		}
	}
	if u.unwatch, err = l.confinement("").Watch(); err != nil {
		return nil, err
	}
	if u.Session = u.pool.Take(u.place, u.alike, o.Kept); u.Session != nil {
		return u, nil
	}
	process.EndMarked(o.Mark) // what a killed process of this agent left running
	if u.Session, err = l.open(ctx, o.Mark, o.Kept, o.Replay); err != nil {
		u.unwatch()
		return nil, err
	}
	return u, nil
}

// guestUse is the session of a program, for one turn.
type guestUse struct {
	*guest.Session
	pool         *guest.Pool
	place, alike string // see [guest.Pool.Take]
	stay         time.Duration
	unwatch      func() []string
	once         sync.Once
}

// Close implements [turn.GuestSession].
func (u *guestUse) Close() (undone []string) {
	u.once.Do(func() {
		undone = u.pool.Leave(u.place, u.alike, u.stay, u.Session)
		undone = append(undone, u.unwatch()...)
	})
	return undone
}

// GuestMarks begins the marks of the programs of guests.
const GuestMarks = "guest/"

// GuestMark begins the mark of the programs of an agent that may stay after a turn; the
// conversation that they work in follows. No agent of another home has the same.
func GuestMark(home string, name fika.AgentName) string {
	sum := sha256.Sum256([]byte(home))
	return GuestMarks + string(name) + "/" + hex.EncodeToString(sum[:8]) + "/"
}

// Plan implements [turn.Guest].
func (g guestProgram) Plan(_ context.Context, text string) error {
	return g.worker.Folder.Write(folder.Todos, g.Redact(text))
}

// Redact implements [turn.Guest].
func (g guestProgram) Redact(text string) string {
	if g.toolbox.keys == nil {
		return text
	}
	return g.toolbox.keys.Text(text)
}

// Shorten implements [turn.Guest].
func (g guestProgram) Shorten(output, name string) string {
	return g.toolbox.Shorten(tool.Result{Text: output}, name).Text
}

// Offers implements [turn.Guest].
func (g guestProgram) Offers(name string) bool { return slices.Contains(tableTools(), name) }

// Bill implements [turn.Guest].
func (g guestProgram) Bill(u fika.Usage) fika.Usage { return g.settings.Model.Bill(u) }

// Wake implements [turn.Guest].
func (g guestProgram) Wake(name fika.AgentName) {
	if g.opts.Notify != nil {
		g.opts.Notify.Wake(name)
	}
}

// tableTools returns the names of fika's own tools that guests may call: those that reach
// other agents, the board, and the past. The others are about the machine, which a guest
// reaches with its own tools, or wait for something without a process, which a guest cannot.
func tableTools() []string {
	names := append(toolNames(peers{}.tools()), board.AddName, board.ListName, board.UpdateName)
	return append(names, toolNames([]tool.Tool{offer.New(nil), recallTool(nil)})...)
}

// GuestHome returns the folder that a guest has for its home: its own settings and login,
// which no other program has.
func GuestHome(h folder.Home, name fika.AgentName) string {
	return filepath.Join(h.Root, "guests", string(name))
}

// guestLaunch is how the program of an agent is started in a workspace.
type guestLaunch struct {
	box   Toolbox
	cmd   proc.PeerCmd // without what a start of its own needs
	place confine.Place
	dir   string
	tier  string
	self  string
	tools []tool.Spec // fika's own, that it is offered
}

// guestLaunch prepares to start the program of an agent in a workspace, with tools of fika's
// own.
func (b Toolbox) guestLaunch(workspace string, tools []tool.Spec) (guestLaunch, error) {
	h, s := b.folder.Home, b.settings
	l := guestLaunch{box: b, dir: workspace, tier: b.Confinement().Tools(workspace).Tier()}
	home := GuestHome(h, b.folder.Name)
	for _, dir := range []string{home, filepath.Join(home, claudeDir), filepath.Join(home, codexDir)} { // Codex wants its own to be there
		if err := h.EnsureDir(dir); err != nil {
			return l, err
		}
	}
	l.cmd = proc.PeerCmd{Command: s.Command[0], Args: s.Command[1:], Dir: workspace, Env: b.guestEnvironment(home), Children: b.app.Children()}
	path, err := proc.LookPath(l.cmd.Command, l.cmd.Env, workspace)
	if err != nil {
		return l, err
	}
	if l.self, err = os.Executable(); err != nil {
		return l, fika.Wrap(fika.Failed, "", err)
	}
	l.cmd.Command, l.place = path, confine.Place{Program: path, Home: home}
	if l.tier != string(sandbox.None) { // Gemini CLI uses no MCP server in a folder that nobody has trusted; fika's sandbox holds what it runs there
		l.cmd.Env = append([]string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, l.cmd.Env...)
	}
	if len(tools) > 0 && l.tier != string(sandbox.Landlock) {
		l.tools, l.place.Shown = tools, l.self
	}
	return l, nil
}

// confinement returns that of the program, which reaches a socket if one is named.
func (l guestLaunch) confinement(socket string) *confine.Guest {
	l.place.Socket = socket
	return l.box.Confinement().Guest(l.place, l.dir)
}

// alike returns the same text for as long as the program would be started in the same way: one
// that runs can then work another turn.
func (l guestLaunch) alike() (string, error) {
	confined, err := l.confinement("").Key()
	if err != nil {
		return "", err
	}
	about, err := os.Stat(l.cmd.Command) // follows links: another version is another file
	if err != nil {
		return "", fika.Wrap(fika.Failed, "", err)
	}
	env := slices.Sorted(slices.Values(l.cmd.Env)) // the settings name variables in no order
	text, err := json.Marshal([]any{confined, l.cmd.Command, l.cmd.Args, env, l.dir, l.tools, about.Size(), about.ModTime().UnixNano()})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// open starts the program and opens a session.
func (l guestLaunch) open(ctx context.Context, mark, kept string, replay bool) (*guest.Session, error) {
	log, err := openGuestLog(l.box.folder.Home, l.box.folder.Name, l.box.app.Secrets())
	if err != nil {
		return nil, err
	}
	p := guest.Program{Cmd: l.cmd, Log: log, Dir: l.dir, Version: "1", Tools: l.tools, Self: l.self}
	socket := ""
	if len(l.tools) > 0 {
		if p.Table, err = guest.NewTable(l.place.Home); err != nil {
			log.Close()
			return nil, err
		}
		socket = p.Table.Path
	}
	p.Cmd.Mark, p.Cmd.Confine = mark, l.confinement(socket)
	return guest.Open(ctx, p, kept, replay)
}

// Where Claude Code and Codex keep their settings and logins, in a home.
const claudeDir, codexDir = ".claude", ".codex"

// GuestTrial is what the program of an agent says of itself.
type GuestTrial struct {
	Home     string // the folder that it has for its home
	Command  []string
	Program  string // name and version
	Sessions string // what becomes of its sessions, in words
}

// TryGuest starts the program of an agent as a turn would, in a folder of its own, opens a
// session, and ends it. Its error is that of [guest.Open]; the trial then has the home
// alone.
func TryGuest(ctx context.Context, a *app.App, name fika.AgentName) (GuestTrial, error) {
	h, err := a.Home()
	if err != nil {
		return GuestTrial{}, err
	}
	out := GuestTrial{Home: GuestHome(h, name)}
	s, err := a.Settings(name, nil, true)
	if err != nil {
		return out, err
	}
	if s.Engine != config.EngineACP {
		return out, fika.Errorf(fika.Conflict, "", "@%s is not a guest (engine = \"acp\")", name)
	}
	out.Command = s.Command
	if _, _, err := h.Ensure(name); err != nil {
		return out, err
	}
	f := h.Folder(name)
	if err := h.EnsureDir(f.Workspace()); err != nil {
		return out, err
	}
	b := NewToolbox(a, f, s)
	b.keys = a.Secrets()
	l, err := b.guestLaunch(f.Workspace(), nil)
	if err != nil {
		return out, err
	}
	// The mark is of this trial alone: a trial ends what carries its mark.
	session, err := l.open(ctx, GuestMark(h.Root, name)+"trial/"+strconv.Itoa(os.Getpid()), "", false)
	if err != nil {
		return out, err
	}
	defer session.Close()
	out.Program, out.Sessions = session.About()
	return out, nil
}

// guestEnvironment returns the exact environment of a guest: the person's locations and
// display settings, a home of its own, and what the settings add.
func (b Toolbox) guestEnvironment(home string) []string {
	var env []string
	for _, name := range serverEnvironment() {
		if v := b.app.Getenv(name); v != "" && name != "HOME" && !strings.HasPrefix(name, "XDG_") {
			env = append(env, name+"="+v)
		}
	}
	env = append(env, "HOME="+home, "XDG_CONFIG_HOME="+home+"/.config", "XDG_DATA_HOME="+home+"/.local/share", "XDG_STATE_HOME="+home+"/.local/state", "XDG_CACHE_HOME="+home+"/.cache",
		"CLAUDE_CONFIG_DIR="+filepath.Join(home, claudeDir), "CODEX_HOME="+filepath.Join(home, codexDir))
	if person := b.app.Getenv("HOME"); person != "" {
		if config := filepath.Join(person, ".gitconfig"); isFile(config) {
			env = append(env, "GIT_CONFIG_GLOBAL="+config)
		}
	}
	return append(env, b.environment()...)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// openGuestLog opens the log of what a guest writes to stderr, without known keys.
func openGuestLog(h folder.Home, name fika.AgentName, keys *redact.Keys) (io.WriteCloser, error) {
	if err := h.EnsureDir(h.LogsDir()); err != nil {
		return nil, err
	}
	f, err := folder.OpenBoundedLog(filepath.Join(h.LogsDir(), "guest-"+string(name)+".log"))
	if err != nil {
		return nil, err
	}
	return serverLog{keys.Writer(f), f}, nil
}
