package workflow

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
)

// listed is a workflow as --json prints it.
type listed struct {
	Name        string              `json:"name"`
	Description *string             `json:"description"`
	File        *string             `json:"file"` // null: it comes with fika
	Shipped     bool                `json:"shipped"`
	Inputs      []workflowInputJSON `json:"inputs"`
	Steps       []workflowStepJSON  `json:"steps"`
	Trouble     *string             `json:"trouble"`
}

type workflowInputJSON struct {
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	Description *string `json:"description"`
	Default     any     `json:"default"` // null: a value must be given
}

type workflowStepJSON struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Agent    *string  `json:"agent"`
	Workflow *string  `json:"workflow"`
	Needs    []string `json:"needs"`
}

func toListed(w service.WorkflowInfo) listed {
	j := listed{Name: w.Name, File: command.Optional(w.File), Shipped: w.File == "", Inputs: []workflowInputJSON{}, Steps: []workflowStepJSON{}}
	if w.Trouble != nil {
		j.Trouble = command.Optional(w.Trouble.Error())
	}
	if w.Definition == nil {
		return j
	}
	j.Description = command.Optional(w.Definition.Description)
	for _, in := range w.Definition.Inputs {
		j.Inputs = append(j.Inputs, workflowInputJSON{in.Name, in.Type, command.Optional(in.Description), in.Default})
	}
	for i := range w.Definition.Steps {
		s := &w.Definition.Steps[i]
		j.Steps = append(j.Steps, workflowStepJSON{s.ID, s.Kind(), command.Optional(s.Agent), command.Optional(s.Workflow), append([]string{}, s.Needs...)})
	}
	return j
}

func newList(e *command.Env) *cobra.Command {
	var asJSON, runs bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the workflows of the home and those that come with fika", Args: command.Exactly(0, "no arguments"),
		Long: "Lists the workflows with the inputs that a run needs; those in brackets have a\ndefault. With --runs, lists all runs so far, newest first.", Example: "  fika workflow list\n  fika workflow list --runs",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runs {
				c, err := e.Service(cmd.Context())
				if err != nil {
					return err
				}
				return listRuns(cmd.Context(), e, c, false, limit, asJSON)
			}
			all, err := e.Workflows()
			if err != nil {
				return err
			}
			list := command.AtMost(all.List(), limit)
			if asJSON {
				return command.PrintLines(e, list, toListed)
			}
			return e.Table([]string{"WORKFLOW", "FROM", "INPUTS", "ABOUT"}, command.TableRows(list, workflowRow))
		},
	}
	command.LimitFlag(c, &limit, 200, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	c.Flags().BoolVar(&runs, "runs", false, "list the runs of workflows instead")
	return c
}

func workflowRow(w service.WorkflowInfo) []string {
	from := "fika"
	if w.File != "" {
		from = "home"
	}
	if w.Definition == nil {
		return []string{w.Name, from, "", "it has mistakes: fika workflow check " + w.Name}
	}
	var inputs []string
	for _, in := range w.Definition.Inputs {
		name := in.Name
		if in.Default != nil {
			name = "[" + name + "]"
		}
		inputs = append(inputs, name)
	}
	return []string{w.Name, from, strings.Join(inputs, " "), w.Definition.Description}
}
