package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/term"
	"fika/internal/toml"
	"fika/internal/workflow"
)

func newWorkflow(e *env) *cobra.Command {
	return group("workflow", "look at workflows: list, show, check, graph",
		`A workflow says in a file which agents do what, in which order, and what each gets
from those before it. Yours are workflows/NAME.toml in the home; some are brought
along. A mistake in one is found before any model is called.`,
		"  fika workflow list\n  fika workflow graph research-implement-test\n  fika workflow check ./mine.toml",
		newWorkflowList(e), newWorkflowShow(e), newWorkflowCheck(e), newWorkflowGraph(e))
}

func (e *env) workflows() (*client.Workflows, error) { return client.OpenWorkflows(e.open()) }

// workflowJSON is a workflow as --json shows it.
type workflowJSON struct {
	Name        string              `json:"name"`
	Description *string             `json:"description"`
	File        *string             `json:"file"` // null: it is brought along
	Shipped     bool                `json:"shipped"`
	Inputs      []workflowInputJSON `json:"inputs"`
	Steps       []workflowStepJSON  `json:"steps"`
	Trouble     *string             `json:"trouble"`
}

type workflowInputJSON struct {
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	Description *string `json:"description"`
	Default     any     `json:"default"` // null: it has to be given
}

type workflowStepJSON struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Agent    *string  `json:"agent"`
	Workflow *string  `json:"workflow"`
	Needs    []string `json:"needs"`
}

func toWorkflowJSON(w client.WorkflowInfo) workflowJSON {
	j := workflowJSON{Name: w.Name, File: optional(w.File), Shipped: w.File == "", Inputs: []workflowInputJSON{}, Steps: []workflowStepJSON{}}
	if w.Trouble != nil {
		j.Trouble = optional(w.Trouble.Error())
	}
	if w.Definition == nil {
		return j
	}
	j.Description = optional(w.Definition.Description)
	for _, in := range w.Definition.Inputs {
		j.Inputs = append(j.Inputs, workflowInputJSON{in.Name, in.Type, optional(in.Description), in.Default})
	}
	for i := range w.Definition.Steps {
		s := &w.Definition.Steps[i]
		j.Steps = append(j.Steps, workflowStepJSON{s.ID, s.Kind(), optional(s.Agent), optional(s.Workflow), append([]string{}, s.Needs...)})
	}
	return j
}

func newWorkflowList(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list the workflows of the home, and those that are brought along", Args: exactly(0, "no arguments"),
		Long: "Lists the workflows, with the inputs that a run has to be given; those in brackets\nhave a default.", Example: "  fika workflow list",
		RunE: func(*cobra.Command, []string) error {
			all, err := e.workflows()
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, all.List(), toWorkflowJSON)
			}
			return e.Table([]string{"WORKFLOW", "FROM", "INPUTS", "ABOUT"}, rows(all.List(), workflowRow))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

func workflowRow(w client.WorkflowInfo) []string {
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

func newWorkflowShow(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "print the text of a workflow", Args: exactly(1, "the name of a workflow, or a file"),
		Long:              "Prints a workflow as it is written: the beginning of one of your own, when it is saved\nas workflows/NAME.toml in the home.",
		Example:           "  fika workflow show review\n  fika workflow show tandem > ~/.fika/workflows/mine.toml",
		ValidArgsFunction: first(e.completeWorkflowsOrFiles),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := e.workflows()
			if err != nil {
				return err
			}
			d, err := all.Load(args[0])
			if err != nil {
				return err
			}
			if !asJSON {
				return e.println(term.Clean(strings.TrimSuffix(d.Source, "\n")))
			}
			info := client.WorkflowInfo{Name: d.Name, Definition: d}
			if filepath.Base(d.File) != d.File || strings.HasSuffix(args[0], ".toml") {
				info.File = d.File
			}
			return e.printLine(toWorkflowJSON(info))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "what it says as one JSON object")
	return c
}

// problemJSON is a mistake in a file as --json shows it.
type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func newWorkflowCheck(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "check NAME|FILE", Short: "report every mistake in a workflow", Args: exactly(1, "the name of a workflow, or a file"),
		Long: `Reports everything that is wrong with a workflow, each with its file, line and
column: keys, agents and steps that are not there, steps that wait for each other,
and what prompts and conditions read that nobody gives them. No model is called.
It ends with status 2 if anything is wrong.`,
		Example:           "  fika workflow check review\n  fika workflow check ./mine.toml",
		ValidArgsFunction: first(e.completeWorkflowsOrFiles),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := e.workflows()
			if err != nil {
				return err
			}
			d, err := all.Load(args[0])
			var problems *toml.Problems
			if asJSON && errors.As(err, &problems) {
				if err := printLines(e, problems.List, toProblemJSON); err != nil {
					return err
				}
				return silent{fika.Invalid}
			}
			if err != nil {
				return err
			}
			e.say("%s: %s, no problems", d.Name, countSteps(d))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "the mistakes as JSON Lines")
	return c
}

func toProblemJSON(p toml.Problem) problemJSON {
	return problemJSON{p.File, p.Line, p.Column, p.Message}
}

func countSteps(d *workflow.Definition) string {
	if len(d.Steps) == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", len(d.Steps))
}

func newWorkflowGraph(e *env) *cobra.Command {
	var dot bool
	c := &cobra.Command{
		Use: "graph NAME|FILE", Short: "draw a workflow", Args: exactly(1, "the name of a workflow, or a file"),
		Long:              "Draws the steps of a workflow, each below the last of those it needs. With --dot it is\nwritten in the language of Graphviz instead.",
		Example:           "  fika workflow graph research-implement-test\n  fika workflow graph review --dot | dot -Tsvg > review.svg",
		ValidArgsFunction: first(e.completeWorkflowsOrFiles),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := e.workflows()
			if err != nil {
				return err
			}
			d, err := all.Load(args[0])
			if err != nil {
				return err
			}
			if dot {
				return e.println(term.Clean(strings.TrimSuffix(d.Dot(), "\n")))
			}
			return e.println(term.Clean(strings.TrimSuffix(d.Tree(), "\n")))
		},
	}
	c.Flags().BoolVar(&dot, "dot", false, "the language of Graphviz")
	return c
}

func (e *env) completeWorkflowsOrFiles(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	all, err := e.workflows()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, w := range all.List() {
		about := ""
		if w.Definition != nil {
			about = w.Definition.Description
		}
		out = append(out, offered(w.Name, about))
	}
	return out, cobra.ShellCompDirectiveDefault
}
