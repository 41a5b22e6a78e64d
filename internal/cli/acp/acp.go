package acp

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/api"
	"fika/internal/cli/command"
	door "fika/internal/door/acp"
	lending "fika/internal/extension/editor"
	"fika/internal/sandbox"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/tool/proc"
)

// New returns the command fika acp.
func New(e *command.Env) *cobra.Command {
	var install string
	c := &cobra.Command{
		Use: "acp", Short: "bring the agents of a folder into an editor",
		Long: `Is an agent of the Agent Client Protocol on stdin and stdout, for Zed,
JetBrains IDEs, Neovim and every other editor that speaks it. The editor starts
this command itself; --install prints what its settings need.

A session is a chat of yours: plain text goes to one agent, which the editor lets
you choose, and @NAME asks another one. Approvals appear in the editor, and can
as well be answered with fika approve: the first answer counts. MCP servers that
the editor brings are used in its session, once you have allowed each. Closing
the editor stops nothing; fika shows the session too, and the editor loads it
again. The agents are those of the project that the editor has opened, or of
your home if they work in that folder.`,
		Example: "  fika acp --install zed\n  fika acp --install nvim\n  npx acpx --agent 'fika acp' exec 'what does this project do?'",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if install != "" {
				return printEntry(e, install)
			}
			return serve(cmd.Context(), e)
		},
	}
	c.Flags().StringVar(&install, "install", "", "print what the settings of an editor need: zed, jetbrains or nvim")
	_ = c.RegisterFlagCompletionFunc("install", cobra.FixedCompletions(editorNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// serve answers the editor until it closes stdin.
func serve(ctx context.Context, e *command.Env) error {
	dir, err := os.Getwd()
	if err != nil {
		return fika.Wrap(fika.Failed, "", err)
	}
	if _, err := e.Principal(); err != nil { // said now
		return err
	}
	h := &homes{env: e, known: map[string]*open{}}
	defer h.close()
	err = door.Serve(ctx, term.ReadUntil(ctx, e.In), e.Wire(), door.Options{
		Open: func(_ context.Context, dir string) (*door.Home, error) { return h.open(ctx, dir) },
		Dir:  dir, Words: e.Words, Warn: e.Warn, Version: e.Version,
		Find: func(program string) (string, error) {
			return proc.LookPath(program, []string{"PATH=" + e.Getenv("PATH")}, dir)
		},
	})
	if ctx.Err() != nil {
		return nil // it was told to end: nothing is lost
	}
	return err
}

// homes are the homes of the folders that an editor works in. It is safe for concurrent
// use.
type homes struct {
	env *command.Env

	mu    sync.Mutex
	known map[string]*open // by the folder of the home
}

// open is a home that is open.
type open struct {
	env  *command.Env
	door *command.Doorway
}

// open returns the home of a folder. ctx is that of the command: the home stays open.
func (h *homes) open(ctx context.Context, dir string) (*door.Home, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fika.Errorf(fika.NotFound, "", "%s is not a folder", dir)
	}
	own := h.env.At(filepath.Clean(dir))
	root, err := own.App().Root()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.known[root]
	if o == nil {
		d, err := own.OpenDoor(ctx, api.DoorACP)
		if err != nil {
			own.Reopen()
			return nil, err
		}
		o = &open{own, d}
		h.known[root] = o
	} else {
		own.Reopen()
	}
	conf, err := o.env.App().Config()
	if err != nil {
		return nil, err
	}
	out := &door.Home{Service: o.door.Caller(), Ready: o.door.Ready, Confined: o.confined}
	if o.door.IsPerson() {
		out.Lend = func(session string, servers []lending.Server, tell func(string)) (io.Closer, error) {
			h, err := o.env.App().Home()
			if err != nil {
				return nil, err
			}
			return lending.Lend(h.EditorSocket(fika.ConversationName(session)), servers, tell)
		}
	}
	if p := o.env.App().Project(); p != nil {
		out.Dir = p.Main
	}
	if len(conf.Entries()) == 0 {
		return out, nil
	}
	agents := service.NewSessionAgents(conf)
	out.Agent = string(agents.SpokenTo())
	out.Address = func(agent, text string) string {
		if conf, err := o.env.App().Config(); err == nil {
			agents.TakeConfig(conf)
		}
		agents.SpeakTo(fika.AgentName(agent))
		addressed, _ := agents.Address(text)
		return addressed
	}
	return out, nil
}

// confined says how programs are confined that run for an agent.
func (o *open) confined(agent string) string {
	unknown := "as the commands of @" + agent + " do"
	s, err := o.env.App().Settings(fika.AgentName(agent), nil, true)
	if err != nil {
		return unknown
	}
	found, err := o.env.App().SandboxProbe().Open(sandbox.Mode(s.Guard.SandboxMode))
	switch {
	case err != nil:
		return unknown
	case found.Tier() == sandbox.None:
		return "without a sandbox: nothing confines it here"
	case s.Guard.Network == "on":
		return "in the sandbox of @" + agent + "'s commands, with the network"
	}
	return "in the sandbox of @" + agent + "'s commands, without a network"
}

func (h *homes) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.known {
		o.env.Reopen()
	}
}
