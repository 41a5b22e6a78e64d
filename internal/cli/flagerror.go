package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika/internal/cli/command"
	"fika/internal/text/spelling"
)

// flagError says what is wrong with a flag: which one was meant, or what fika has in the
// place of a flag that other programs of its kind have.
func flagError(cmd *cobra.Command, err error) error {
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	if !is {
		return command.UsageError("%v; see %s --help", err, cmd.CommandPath())
	}
	name := unknown.GetSpecifiedName()
	if instead := elsewhere(name); instead != "" {
		return command.UsageError("fika has no --%s: %s", name, instead)
	}
	var all []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f.Name)
		}
	})
	if near := spelling.Nearest(name, all); near != "" && len(name) > 1 {
		return command.UsageError("%v; did you mean --%s?", err, near)
	}
	return command.UsageError("%v; see %s --help", err, cmd.CommandPath())
}

// elsewhere returns what fika has in the place of a flag of other programs; "" for any other.
func elsewhere(name string) string {
	switch strings.ToLower(strings.ReplaceAll(name, "-", "")) {
	case "resume":
		return "fika opens the last session, and /resume in it lists the others"
	case "permissionmode", "fullauto", "yolo", "dangerouslyskippermissions", "dangerouslybypassapprovalsandsandbox":
		return "shift-tab in a session and fika chat mode say what is asked about (fika help safety)"
	case "allowedtools", "disallowedtools":
		return "tool_permissions of an agent names its tools, and rules say what they may do (fika help safety)"
	case "systemprompt", "appendsystemprompt":
		return "the prompt of an agent is its file, .fika/agents/NAME.md (fika help agents)"
	case "nocolor", "color":
		return "NO_COLOR=1 in the environment leaves colours out, and --plain draws nothing again"
	case "maxturns":
		return "fika chat limit bounds a chat, and [chat] of config.toml all of them"
	}
	return ""
}
