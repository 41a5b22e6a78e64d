package project

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
)

// New returns the command fika project.
func New(e *command.Env) *cobra.Command {
	return command.Group("project", "list your projects and manage their data", `A project is a folder with a .fika in it: fika init makes one. Its conversations
and the contexts of its agents are kept outside the folder, in a home of its own
below ~/.fika/projects; all working trees of a git repository share one home.`,
		"  fika project list\n  fika project show\n  fika project move shop-0123456789   # after its folder was moved",
		newList(e), newShow(e), newMove(e), newForget(e))
}

type projectJSON struct {
	ID      string     `json:"id"`
	Name    *string    `json:"name"`
	Folder  *string    `json:"folder"`
	Home    string     `json:"home"`
	Trusted *time.Time `json:"trusted_at"`
	State   string     `json:"state"` // untrusted, trusted, changed, gone or damaged
	Hub     bool       `json:"hub"`
	Current bool       `json:"current"`
}

func toJSON(k setup.Known) projectJSON {
	j := projectJSON{ID: k.ID, Folder: command.Optional(k.Main), Home: k.Home, State: state(k), Hub: k.Hub, Current: k.Current}
	if k.Main != "" {
		j.Name = command.Optional(k.Name())
	}
	if k.Trust != nil {
		j.Trusted = command.JSONTime(k.Trust.At)
	}
	return j
}

func state(k setup.Known) string {
	switch {
	case k.Wrong != nil:
		return "damaged"
	case k.Gone:
		return "gone"
	}
	return string(k.State(k.Main))
}

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the projects you have used", Example: "  fika project list", Args: command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			list, err := setup.ListProjects(e.App())
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, toJSON)
			}
			if len(list) == 0 {
				e.Say("no projects (fika init)")
				return nil
			}
			return e.Table([]string{"", "PROJECT", "STATE", "HUB", "FOLDER"}, command.TableRows(list, func(k setup.Known) []string {
				here, hub := "", "-"
				if k.Current {
					here = "*"
				}
				if k.Hub {
					hub = "running"
				}
				return []string{here, k.ID, state(k), hub, shortened(e, k.Main)}
			}))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show [PROJECT]", Short: "show where a project and its data are, and whether it is trusted",
		Example: "  fika project show\n  cd \"$(fika project show --json | jq -r .home)\"",
		Args:    command.AtMostOne("the id, name or folder of a project"), ValidArgsFunction: complete.FirstOnly(completeProjects(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := setup.FindProject(e.App(), command.OptionalArg(args))
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintLine(toJSON(k))
			}
			trusted := "no"
			if k.Trust != nil {
				trusted = "since " + k.Trust.At.Local().Format("2006-01-02 15:04")
				if k.Trust.Instructions {
					trusted += ", with AGENTS.md"
				}
			}
			return e.Facts(term.Fact{Label: "project", Value: k.ID}, term.Fact{Label: "folder", Value: k.Main}, term.Fact{Label: "data", Value: k.Home},
				term.Fact{Label: "state", Value: state(k)}, term.Fact{Label: "trusted", Value: trusted})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func newMove(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "move PROJECT", Short: "give a project its data back after its folder was moved",
		Long: `Run this in the folder where the project is now, with the id it had before (fika
project list shows it as gone) or the folder it was in.`,
		Example: "  mv ~/src/shop ~/work/shop && cd ~/work/shop\n  fika project move shop-0123456789",
		Args:    command.Exactly(1, "the id, name or former folder of a project"), ValidArgsFunction: complete.FirstOnly(completeProjects(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := setup.FindProject(e.App(), args[0])
			if err != nil {
				return err
			}
			to, err := setup.MoveProject(e.App(), k)
			if err != nil {
				return err
			}
			e.Say("%s is now in %s, as %s", k.ID, to.Main, to.ID)
			return nil
		},
	}
}

func newForget(e *command.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "forget PROJECT", Aliases: []string{"rm"}, Short: "remove the data of a project for good",
		Long:    "Removes the home of a project: its conversations, the contexts of its agents and\nthe record that you trust it. The project's own folder is left alone.",
		Example: "  fika project forget shop-0123456789",
		Args:    command.Exactly(1, "the id, name or folder of a project"), ValidArgsFunction: complete.FirstOnly(completeProjects(e)),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := setup.FindProject(e.App(), args[0])
			if err != nil {
				return err
			}
			if !yes {
				if err := e.Confirm("remove all conversations and contexts of " + k.ID + " (" + k.Home + ")"); err != nil {
					return err
				}
			}
			if err := setup.ForgetProject(k); err != nil {
				return err
			}
			e.Say("%s is forgotten", k.ID)
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func completeProjects(e *command.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		list, err := setup.ListProjects(e.App())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, k := range list {
			out = append(out, cobra.CompletionWithDesc(k.ID, k.Main))
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// shortened returns path with ~ for the person's home folder, if path is below that and
// not in a hidden folder of it.
func shortened(e *command.Env, path string) string {
	if rel, err := filepath.Rel(e.Getenv("HOME"), path); err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(rel, ".") {
		return filepath.Join("~", rel)
	}
	return path
}
