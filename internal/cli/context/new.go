package context

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newNew(e *command.Env) *cobra.Command {
	var o contexts.CreateOptions
	var file string
	var change bool
	c := oneContext(e, &cobra.Command{
		Use: "new [NAME]", Short: "create a context",
		Long: `Creates a context. Without NAME the context is named after the time, and its
name goes to stdout.`,
		Example: "  fika context new review --prompt \"You review Go code.\" --switch\n  fika context new --if-missing notes",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := textFrom(e, o.Prompt, file)
			if err != nil {
				return err
			}
			o.Prompt = text
			return makeContext(e, cmd, args, o, change)
		},
	})
	c.ValidArgsFunction = cobra.NoFileCompletions
	f := c.Flags()
	f.StringVar(&o.Prompt, "prompt", "", "system prompt of the context")
	f.StringVar(&file, "prompt-file", "", "file with the system prompt (- for stdin)")
	f.BoolVar(&o.IfMissing, "if-missing", false, "leave an existing context as it is, without an error")
	f.BoolVar(&change, "switch", false, "make the new context current")
	command.WaitFlag(c, &o.Wait)
	_ = c.RegisterFlagCompletionFunc("prompt-file", complete.FileNames)
	return c
}

func makeContext(e *command.Env, cmd *cobra.Command, args []string, o contexts.CreateOptions, change bool) error {
	ctx := cmd.Context()
	var name fika.AgentName
	var err error
	if o.Who, err = e.Principal(); err != nil {
		return err
	}
	if len(args) == 0 {
		if name, err = contexts.CreateDated(ctx, e.App(), "", o); err != nil {
			return err
		}
		if err := e.Println(name); err != nil {
			return err
		}
	} else {
		if name, err = fika.ParseAgentName(args[0]); err != nil {
			return err
		}
		made, err := contexts.Create(ctx, e.App(), name, o)
		if err != nil {
			return err
		}
		if made {
			e.Say("made context %q", name)
		}
	}
	if !change {
		return nil
	}
	return switchTo(e, cmd, name)
}

// textFrom returns text, or the content of file if one is named; - is stdin. The file
// must be neither empty nor larger than 4 MiB.
func textFrom(e *command.Env, text, file string) (string, error) {
	switch {
	case file == "":
		return text, nil
	case text != "":
		return "", command.UsageError("give the text or a file, not both")
	}
	in := e.Keyboard
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
		return "", command.UsageError("%s is larger than %d MiB: too large for a prompt", file, most>>20)
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return "", command.UsageError("%s is empty", file)
	}
	return strings.ToValidUTF8(string(data), "�"), nil
}
