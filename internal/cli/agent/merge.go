package agent

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/repository/worktree"
)

// mergeJSON is the result of a merge.
type mergeJSON struct {
	Agent     string   `json:"agent"`
	Branch    string   `json:"branch"`
	Into      string   `json:"into"`
	Merged    bool     `json:"merged"` // false: there was nothing to merge, or there are conflicts
	Commit    string   `json:"commit"` // what is checked out there now
	Committed bool     `json:"committed"`
	Conflicts []string `json:"conflicts"`
	// What has to be agreed to first (--allow), and the command with which your own git
	// merges; if there is either, nothing was merged.
	Asks   []worktree.Risk `json:"asks"`
	ByHand *string         `json:"by_hand"`
}

func newMerge(e *command.Env) *cobra.Command {
	var asJSON bool
	var allowed []string
	c := &cobra.Command{
		Use: "merge NAME", Short: "merge an agent's git worktree into yours",
		Long: `Merges the branch of an agent with workspace = "worktree" into the working tree
you are in (elsewhere: into the project's own). What the agent has not committed
is committed first, on its branch and in its name.

If both sides have changed the same lines, fika leaves your files alone, names
the files and the lines, and exits with status 1. git merge fika/NAME then puts
the conflict into your files for you to resolve, and git merge --abort undoes
that. Your own uncommitted changes stay as they are; fika refuses a merge that
would write to a file that has some.

Hooks, filters and merge drivers of the repository do not run. Where one takes
part (a file of Git LFS, a post-merge hook), fika changes nothing and prints the
git merge with which your own git does it. What makes git or another program run
or fetch something needs your yes, path by path: submodules, .gitmodules, filters
and drivers in .gitattributes, links out of the tree, hooks in the tree, settings
and instructions of editors and agents. fika asks on a terminal; --allow PATH
agrees in advance.`,
		Example: "  fika agent merge coder\n  fika agent merge coder --allow AGENTS.md\n  fika agent merge coder --json | jq -r '.conflicts[]'",
		Args:    command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, into, err := workOf(cmd.Context(), e, args[0], true)
			if err != nil {
				return err
			}
			m, err := t.Merge(cmd.Context(), into, allowed)
			for err == nil && len(m.Asks) > 0 && e.InTTY && !asJSON {
				for _, r := range m.Asks {
					if err := e.Confirm(fmt.Sprintf("%q %s: merge it", r.Path, r.Why)); err != nil {
						return err
					}
					allowed = append(allowed, r.Path)
				}
				m, err = t.Merge(cmd.Context(), into, allowed)
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = e.PrintLine(mergeJSON{
					Agent: string(t.Agent), Branch: t.Branch(), Into: m.Into, Merged: merged(m),
					Commit: m.Commit, Committed: m.Committed, Conflicts: append([]string{}, m.Conflicts...), Asks: append([]worktree.Risk{}, m.Asks...), ByHand: command.Optional(m.ByHand),
				})
			}
			sayMerged(e, t, m)
			switch {
			case err != nil:
			case len(m.Asks) > 0:
				err = command.Silent{Kind: fika.Denied}
			case len(m.Conflicts) > 0 || m.ByHand != "":
				err = command.Silent{Kind: fika.Conflict}
			}
			return err
		},
	}
	c.Flags().StringArrayVar(&allowed, "allow", nil, "merge a change of this path that needs your yes; may be repeated")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// merged reports whether anything was merged.
func merged(m worktree.Merged) bool {
	return !m.Nothing && len(m.Conflicts)+len(m.Asks) == 0 && m.ByHand == ""
}

// sayMerged tells the person the result of a merge.
func sayMerged(e *command.Env, t worktree.Tree, m worktree.Merged) {
	if m.Committed {
		e.Say("committed what @%s had not", t.Agent)
	}
	switch {
	case m.Nothing:
		e.Say("nothing to merge: %s has all that @%s has committed", m.Into, t.Agent)
	case len(m.Asks) > 0:
		e.Say("%s nothing was merged: the work of @%s changes what needs your yes:", e.ErrStyle().Red("✗"), t.Agent)
		flags := ""
		for _, r := range m.Asks {
			e.Say("  %q %s", r.Path, r.Why)
			flags += fmt.Sprintf(" --allow %q", r.Path)
		}
		e.Say("fika agent diff %s shows it; fika agent merge %s%s merges it", t.Agent, t.Agent, flags)
	case m.ByHand != "":
		e.Say("%s nothing was merged, because %s, and fika's git runs no program of yours; in %s, say:", e.ErrStyle().Red("✗"), m.Why, m.Into)
		e.Say("  %s", m.ByHand)
	case len(m.Conflicts) == 0:
		e.Say("%s merged %s into %s (now %.12s)", e.ErrStyle().Green("✓"), t.Branch(), m.Into, m.Commit)
	default:
		e.Say("%s @%s and %s have both changed %s:", e.ErrStyle().Red("✗"), t.Agent, m.Into, strings.Join(m.Conflicts, ", "))
		e.Say("%s", strings.TrimSuffix(m.Text, "\n"))
		e.Say("nothing was merged, and your files are as they were; git merge %s puts this into them to be resolved (git merge --abort takes it back)", t.Branch())
	}
}
