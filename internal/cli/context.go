package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/contexts"
	"fika/internal/folder"
	"fika/internal/spelling"
	"fika/internal/term"
)

func newContext(e *env) *cobra.Command {
	return group("context", "contexts: list, new, switch, show, log, prompt, …",
		"A context is an agent's folder with its ongoing conversation. One is current:\nprompts go there unless -c names another.\n\n"+exitHelp,
		"  fika context list\n  fika context switch new:review\n  fika context show",
		newContextList(e), newContextNew(e), newContextSwitch(e), newContextShow(e), newContextLog(e), newContextSend(e), newContextPrompt(e),
		newContextRename(e), newContextDelete(e), newContextClear(e), newContextCompact(e), newContextImport(e), newContextExport(e), newContextUnlock(e))
}

// person is who sits at this terminal.
func (e *env) person() app.Person {
	p := app.Person{Stderr: e.Err, Warn: e.warn}
	if e.InTTY {
		p.Stdin = e.In
	}
	return p
}

// findContext opens the context that a person named, or the current one. The
// current one is found even before it was made; any other that is missing is
// NotFound, with the nearest spelling.
func (e *env) findContext(args []string) (folder.Folder, error) {
	h, err := e.open().Home()
	if err != nil {
		return folder.Folder{}, err
	}
	current, err := e.currentContext()
	if err != nil {
		return folder.Folder{}, err
	}
	name := current
	if len(args) > 0 {
		if name, err = fika.ParseAgentName(args[0]); err != nil {
			return folder.Folder{}, err
		}
	}
	f, err := folder.OpenFolder(h, name)
	if fika.IsKind(err, fika.NotFound) {
		if name == current {
			return h.Folder(name), nil
		}
		return f, e.noContext(h, name, "")
	}
	return f, err
}

func (e *env) noContext(h folder.Home, name fika.AgentName, hint string) error {
	msg := fmt.Sprintf("there is no context %q", name)
	if near := e.nearContext(h, name); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	} else if hint == "" {
		msg += "; fika context list shows them"
	}
	return fika.Errorf(fika.NotFound, "", "%s%s", msg, hint)
}

// nearContext is the context that somebody probably meant; "" if none.
func (e *env) nearContext(h folder.Home, name fika.AgentName) string {
	names, _, err := h.List()
	if err != nil {
		return ""
	}
	var all []string
	for _, n := range names {
		all = append(all, string(n))
	}
	return spelling.Nearest(string(name), all)
}

// oneContext completes and checks the optional NAME of a command.
func (e *env) oneContext(c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = first(e.completeContexts)
	c.Args = atMostOne("the name of a context")
	return c
}

func waitFlag(c *cobra.Command, d *time.Duration) {
	c.Flags().DurationVar(d, "wait", 0, "wait this long for a context that is in use")
}

type contextJSON struct {
	Name      fika.AgentName `json:"name"`
	Current   bool           `json:"current"`
	Previous  bool           `json:"previous"`
	Exists    bool           `json:"exists"`
	Lock      lockJSON       `json:"lock"`
	Agent     bool           `json:"agent"` // runs as a process
	UpdatedAt *time.Time     `json:"updated_at"`
}

type lockJSON struct {
	Status  folder.LockStatus `json:"status"`
	Held    bool              `json:"held"`
	PID     *int              `json:"pid"`
	Host    *string           `json:"host"`
	Kind    *folder.LockKind  `json:"kind"`
	Since   *time.Time        `json:"since"`
	Silence *float64          `json:"silent_seconds"`
}

func toLockJSON(s folder.LockState) lockJSON {
	return lockJSON{
		Status: s.Status, Held: s.Held, PID: optional(s.Info.PID), Host: optional(s.Info.Host), Kind: optional(s.Info.Kind),
		Since: stamp(s.Info.Since), Silence: optional(s.Age.Seconds()),
	}
}

func toContextJSON(c contexts.Info) contextJSON {
	return contextJSON{
		Name: c.Name, Current: c.Current, Previous: c.Previous, Exists: c.Exists, Lock: toLockJSON(c.Lock),
		Agent: c.Process(), UpdatedAt: stamp(c.Updated),
	}
}

func newContextList(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the contexts", Args: exactly(0, "no arguments"),
		Long: `Lists the contexts by name. * marks the current one; [active] and [stale] tell of
its lock, [agent] that its agent runs as a process.`,
		Example: "  fika context list\n  fika context list --json | jq -r 'select(.current).name'",
		RunE: func(*cobra.Command, []string) error {
			list, strange, err := contexts.List(e.open())
			if err != nil {
				return err
			}
			for _, s := range strange {
				e.warn(fmt.Sprintf("contexts/%s is no context: its name is not one", s))
			}
			if asJSON {
				return printLines(e, list, toContextJSON)
			}
			for _, c := range list {
				if err := e.println(contextLine(e.OutStyle(), c)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

func contextLine(s term.Style, c contexts.Info) string {
	line := "  " + string(c.Name)
	if c.Current {
		line = "* " + s.Bold(string(c.Name))
	}
	switch c.Lock.Status {
	case folder.LockActive:
		line += " " + s.Green("[active]")
	case folder.LockStale:
		line += " " + s.Yellow("[stale]")
	}
	if c.Process() {
		line += " [agent]"
	}
	return line
}

func newContextNew(e *env) *cobra.Command {
	var o contexts.CreateOptions
	var file string
	var change bool
	c := e.oneContext(&cobra.Command{
		Use: "new [NAME]", Short: "make a context",
		Long: `Makes a context. Without a name it is named by the time, and the name goes to
stdout.`,
		Example: "  fika context new review --prompt \"You review Go code.\" --switch\n  fika context new --if-missing notes",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := e.textFrom(o.Prompt, file)
			if err != nil {
				return err
			}
			o.Prompt = text
			return e.makeContext(cmd, args, o, change)
		},
	})
	c.ValidArgsFunction = cobra.NoFileCompletions
	f := c.Flags()
	f.StringVar(&o.Prompt, "prompt", "", "its system prompt")
	f.StringVar(&file, "prompt-file", "", "file with its system prompt (- for stdin)")
	f.BoolVar(&o.IfMissing, "if-missing", false, "leave one that exists as it is, without an error")
	f.BoolVar(&change, "switch", false, "make it current")
	waitFlag(c, &o.Wait)
	_ = c.RegisterFlagCompletionFunc("prompt-file", files)
	return c
}

func (e *env) makeContext(cmd *cobra.Command, args []string, o contexts.CreateOptions, change bool) error {
	ctx := cmd.Context()
	var name fika.AgentName
	var err error
	if len(args) == 0 {
		if name, err = contexts.CreateDated(ctx, e.open(), "", o); err != nil {
			return err
		}
		if err := e.println(name); err != nil {
			return err
		}
	} else {
		if name, err = fika.ParseAgentName(args[0]); err != nil {
			return err
		}
		made, err := contexts.Create(ctx, e.open(), name, o)
		if err != nil {
			return err
		}
		if made {
			e.say("made context %q", name)
		}
	}
	if !change {
		return nil
	}
	return e.switchTo(cmd, name)
}

// textFrom gives a text or what a file holds; - is stdin.
func (e *env) textFrom(text, file string) (string, error) {
	switch {
	case file == "":
		return text, nil
	case text != "":
		return "", usageError("give the text or a file, not both")
	}
	in := e.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fika.Errorf(fika.NotFound, "", "%v", err)
		}
		defer f.Close()
		in = f
	}
	const most = 4 << 20
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return "", fika.Wrap(fika.Failed, "read "+file, err)
	}
	if len(data) > most {
		return "", usageError("%s is larger than %d MiB: too large for a prompt", file, most>>20)
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return "", usageError("%s is empty", file)
	}
	return strings.ToValidUTF8(string(data), "�"), nil
}

func newContextSwitch(e *env) *cobra.Command {
	var create bool
	c := &cobra.Command{
		Use: "switch NAME|-|new[:PREFIX]", Short: "make another context current",
		Long: `Makes a context current. - is the one before; new makes one named by the time,
YYYYMMDD_HHMMSS, and new:PREFIX puts PREFIX_ before that. A name that does not
exist is an error unless --create says to make it.`,
		Example: "  fika context switch review\n  fika context switch -\n  fika context switch new:bug",
		Args:    exactly(1, "a name, - or new"), ValidArgsFunction: first(e.completeContexts),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := e.switchTarget(cmd, args[0], create)
			if err != nil {
				return err
			}
			return e.switchTo(cmd, name)
		},
	}
	c.Flags().BoolVarP(&create, "create", "C", false, "make it if it does not exist")
	return c
}

func (e *env) switchTarget(cmd *cobra.Command, word string, create bool) (fika.AgentName, error) {
	h, err := e.open().Home()
	if err != nil {
		return "", err
	}
	prefix, fresh := strings.CutPrefix(word, "new:")
	switch {
	case fresh && prefix == "":
		return "", usageError("new: needs a prefix after the colon (or leave the colon out)")
	case fresh || word == "new":
		if word == "new" {
			prefix = ""
		}
		return contexts.CreateDated(cmd.Context(), e.open(), prefix, contexts.CreateOptions{})
	case word == "-":
		state, err := h.State()
		if err == nil && state.Previous == "" {
			err = fika.Errorf(fika.NotFound, "", "there is no previous context to switch back to")
		}
		return state.Previous, err
	}
	name, err := fika.ParseAgentName(word)
	if err != nil {
		return "", err
	}
	if _, err = folder.OpenFolder(h, name); !fika.IsKind(err, fika.NotFound) {
		return name, err
	}
	if create || name == folder.DefaultContext {
		_, err := contexts.Create(cmd.Context(), e.open(), name, contexts.CreateOptions{IfMissing: true})
		return name, err
	}
	return "", e.noContext(h, name, "; --create makes it")
}

func (e *env) switchTo(cmd *cobra.Command, name fika.AgentName) error {
	before, err := contexts.Switch(cmd.Context(), e.open(), name, e.person())
	if err != nil {
		return err
	}
	if before == name {
		e.say("context %q is current already", name)
		return nil
	}
	e.say("switched from %q to %q", before, name)
	return nil
}
