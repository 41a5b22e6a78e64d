package agent

import (
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
)

func newCreate(e *command.Env) *cobra.Command {
	var want setup.FromTemplate
	var own bool
	c := &cobra.Command{
		Use: "create NAME", Short: "create an agent from a template",
		Long: `Writes agents/NAME.md: the settings and the prompt of an agent, for you to edit.
In a project the file goes into the repository's .fika, for everybody; --own
keeps it to you. Without --template, fika uses the template that has the name of
the agent; --prompt makes an agent of your own words.`,
		Example: "  fika agent create coder\n  fika agent create poet --prompt 'You answer in verse.'\n  fika agent create critic --template reviewer --personality 'dry, and brief'\n  fika agent create scout --template researcher --model opus --own",
		Args:    command.Exactly(1, "the name of the agent"), ValidArgsFunction: complete.FirstOnly(complete.TemplateNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := fika.ParseAgentName(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("prompt") && strings.TrimSpace(want.Prompt) == "" {
				return command.UsageError("--prompt is the text that tells the agent what it is and does; it is empty")
			}
			n, err := setup.AgentFrom(e.App(), name, want)
			if err != nil {
				return err
			}
			n.Own = own
			return writeAgent(e, n)
		},
	}
	c.Flags().StringVarP(&want.Template, "template", "t", "", "template to start from (fika agent template list)")
	c.Flags().StringVar(&want.Prompt, "prompt", "", "what the agent is and does, in place of a template")
	c.MarkFlagsMutuallyExclusive("template", "prompt")
	c.Flags().StringVar(&want.Personality, "personality", "", "manner of the agent, in a few words")
	c.Flags().StringVarP(&want.Model, "model", "m", "", "model of the agent (id or nickname)")
	c.Flags().BoolVar(&own, "own", false, "in a project: for you alone, not in the repository")
	_ = c.RegisterFlagCompletionFunc("template", complete.TemplateNames(e))
	_ = c.RegisterFlagCompletionFunc("model", complete.ModelNames(e))
	return c
}

func newImport(e *command.Env) *cobra.Command {
	var called string
	var own, dry bool
	c := &cobra.Command{
		Use: "import FILE", Short: "import an agent's file from another program",
		Long: `Reads a Markdown file with settings at its top (name, description, model,
tools) or in sections (Description, Allowed Tools, Model, System Prompt), the
forms in which other programs keep their agents, and makes an agent from it.
Tools get the names that fika uses. A restricted tool, as in Bash(git diff:*),
gets rules: what is named is allowed (not in a project's file, whose rules cannot
allow), and a person is asked about everything else. What means nothing to fika
is left out and reported.`,
		Example: "  fika agent import ~/.claude/agents/reviewer.md\n  fika agent import --dry-run helper.md",
		Args:    command.Exactly(1, "a file"), ValidArgsFunction: complete.FirstOnly(complete.FileNames),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := setup.ReadForeign(args[0], func(model string) bool { return e.App().CheckModel(model) == nil }, own || e.App().Project() == nil)
			if called != "" {
				f.Name, err = fika.ParseAgentName(called)
			}
			if err != nil {
				return err
			}
			for _, n := range f.Notes {
				e.Warn(n)
			}
			if dry {
				return e.PrintText(f.Text)
			}
			return writeAgent(e, setup.NewAgent{Name: f.Name, Text: f.Text, Own: own})
		},
	}
	c.Flags().StringVar(&called, "name", "", "name of the agent here")
	c.Flags().BoolVar(&own, "own", false, "in a project: for you alone, not in the repository")
	c.Flags().BoolVar(&dry, "dry-run", false, "print the file that would be written")
	return c
}

// writeAgent makes the agent, and tells the person what there is now.
func writeAgent(e *command.Env, n setup.NewAgent) error {
	made, err := setup.CreateAgent(e.App(), n)
	if err != nil {
		return err
	}
	e.Say("made %s: @%s", strings.TrimPrefix(made.File, e.App().Dir()+"/"), n.Name)
	if !made.InForce {
		e.Say("takes effect after fika trust, which shows what else has changed")
	}
	return nil
}
