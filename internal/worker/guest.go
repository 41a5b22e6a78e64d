package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	process.EndMarked(o.Mark) // what a killed process of this agent left running
	b := g.toolbox.within(o.Rights)
	if g.cause != nil && !g.cause.AllowsTool("bash") && !g.cause.AllowsTool("edit") {
		b.readOnly = true
	}
	p, err := b.GuestProgram(g.workspace, o.Tools)
	if err != nil {
		return nil, err
	}
	p.Cmd.Mark = o.Mark
	s, err := guest.Open(ctx, p, o.Kept, o.Replay)
	if err != nil {
		return nil, err
	}
	return s, nil
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

// GuestProgram returns how the program of an agent is started in a workspace, with tools of
// fika's own. Whoever opens it closes what it holds.
func (b Toolbox) GuestProgram(workspace string, tools []tool.Spec) (guest.Program, error) {
	h, s := b.folder.Home, b.settings
	home := GuestHome(h, b.folder.Name)
	for _, dir := range []string{home, filepath.Join(home, claudeDir), filepath.Join(home, codexDir)} { // Codex wants its own to be there
		if err := h.EnsureDir(dir); err != nil {
			return guest.Program{}, err
		}
	}
	cmd := proc.PeerCmd{Command: s.Command[0], Args: s.Command[1:], Dir: workspace, Env: b.guestEnvironment(home), Children: b.app.Children()}
	path, err := proc.LookPath(cmd.Command, cmd.Env, workspace)
	if err != nil {
		return guest.Program{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return guest.Program{}, fika.Wrap(fika.Failed, "", err)
	}
	log, err := openGuestLog(h, b.folder.Name, b.app.Secrets())
	if err != nil {
		return guest.Program{}, err
	}
	p := guest.Program{Cmd: cmd, Log: log, Dir: workspace, Version: "1"}
	place, tier := confine.Place{Program: path, Home: home}, b.Confinement().Tools(workspace).Tier()
	if tier != string(sandbox.None) { // Gemini CLI uses no MCP server in a folder that nobody has trusted; fika's sandbox holds what it runs there
		p.Cmd.Env = append([]string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, p.Cmd.Env...)
	}
	if len(tools) > 0 && tier != string(sandbox.Landlock) {
		if p.Table, err = guest.NewTable(home); err != nil {
			log.Close()
			return guest.Program{}, err
		}
		p.Self, p.Tools, place.Shown, place.Socket = self, tools, self, p.Table.Path
	}
	p.Cmd.Command, p.Cmd.Confine = path, b.Confinement().Guest(place, workspace)
	return p, nil
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
	p, err := b.GuestProgram(f.Workspace(), nil)
	if err != nil {
		return out, err
	}
	p.Cmd.Mark = "guest/" + string(name)
	session, err := guest.Open(ctx, p, "", false)
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
