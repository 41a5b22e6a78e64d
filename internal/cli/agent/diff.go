package agent

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/repository/worktree"
	"fika/internal/system/term"
)

// fileJSON is a file that an agent has changed.
type fileJSON struct {
	Path    string `json:"path"`
	Added   *int   `json:"added"` // null: the file is not text
	Removed *int   `json:"removed"`
}

// diffJSON is what an agent has changed in its worktree.
type diffJSON struct {
	Agent       string     `json:"agent"`
	Worktree    string     `json:"worktree"`
	Branch      string     `json:"branch"`
	Base        string     `json:"base"`
	Head        string     `json:"head"`
	Commits     int        `json:"commits"`
	Uncommitted bool       `json:"uncommitted"`
	Files       []fileJSON `json:"files"`
	Diff        string     `json:"diff"`
}

func newDiff(e *command.Env) *cobra.Command {
	var asJSON, names bool
	c := &cobra.Command{
		Use: "diff NAME", Short: "show an agent's changes in its git worktree",
		Long: `Prints, as a unified diff, what an agent with workspace = "worktree" has changed
since its work and what you have checked out diverged: committed and uncommitted
changes, new files included. The command changes nothing of yours; git keeps what it
shows as a commit.`,
		Example: "  fika agent diff coder\n  fika agent diff coder --names\n  fika agent diff coder | git apply --check",
		Args:    command.Exactly(1, "the name of an agent"), ValidArgsFunction: complete.FirstOnly(complete.LoneAgents(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, into, err := workOf(cmd.Context(), e, args[0], false)
			if err != nil {
				return err
			}
			d, err := t.Diff(cmd.Context(), into)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return e.PrintLine(toDiffJSON(t, d))
			case len(d.Files) == 0:
				e.Say("@%s has changed nothing that is not in %s", t.Agent, into)
				return nil
			case names:
				for _, f := range d.Files {
					if err := e.PrintText(f.Path + "\n"); err != nil {
						return err
					}
				}
				return nil
			case e.OutTTY:
				return e.PrintText(term.Clean(d.Text))
			}
			return e.PrintText(d.Text)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	c.Flags().BoolVar(&names, "names", false, "print only the names of the files")
	return c
}

func toDiffJSON(t worktree.Tree, d worktree.Changes) diffJSON {
	j := diffJSON{
		Agent: string(t.Agent), Worktree: t.Root, Branch: t.Branch(), Base: d.Base, Head: d.Head,
		Commits: d.Commits, Uncommitted: d.Dirty, Files: []fileJSON{}, Diff: d.Text,
	}
	for _, f := range d.Files {
		j.Files = append(j.Files, fileJSON{Path: f.Path, Added: counted(f.Added), Removed: counted(f.Removed)})
	}
	return j
}

func counted(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}
