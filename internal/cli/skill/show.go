package skill

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/system/term"
)

type shownJSON struct {
	skillJSON
	License       *string           `json:"license"`
	Compatibility *string           `json:"compatibility"`
	Metadata      map[string]string `json:"metadata"`
	AllowedTools  []string          `json:"allowed_tools"` // null: not limited
	Files         []fileJSON        `json:"files"`
	Body          string            `json:"body"`
}

type fileJSON struct {
	Path       string `json:"path"`
	Bytes      int64  `json:"bytes"`
	Executable bool   `json:"executable"`
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "show a skill as an agent gets it", Args: command.Exactly(1, "a skill"), ValidArgsFunction: complete.FirstOnly(names(e)),
		Long:    "Shows where a skill is, who may use it, its files and its text.",
		Example: "  fika skill show pdf-forms\n  fika skill show pdf-forms --json",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := setup.FindSkill(e.App(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintLine(toShownJSON(s))
			}
			return printSkill(e, s)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func toShownJSON(s setup.KnownSkill) shownJSON {
	j := shownJSON{
		skillJSON: toJSON(s), License: command.Optional(s.License), Compatibility: command.Optional(s.Compatibility),
		Metadata: map[string]string{}, AllowedTools: s.AllowedTools, Files: []fileJSON{}, Body: s.Body,
	}
	for k, v := range s.Metadata {
		j.Metadata[k] = v
	}
	for _, f := range s.Files {
		j.Files = append(j.Files, fileJSON{f.Path, f.Size, f.Exec})
	}
	return j
}

func printSkill(e *command.Env, s setup.KnownSkill) error {
	var files, notes []string
	for _, f := range s.Files {
		text := fmt.Sprintf("%s (%s)", f.Path, command.ByteCount(f.Size))
		if f.Exec {
			text = fmt.Sprintf("%s (%s, executable)", f.Path, command.ByteCount(f.Size))
		}
		files = append(files, text)
	}
	for _, p := range s.Notes {
		notes = append(notes, p.String())
	}
	state := string(s.State)
	if s.Why != "" {
		state += ": " + s.Why
	}
	tools := ""
	if s.AllowedTools != nil {
		tools = "only " + strings.Join(s.AllowedTools, " ")
	}
	err := e.Facts(term.Fact{Label: "skill", Value: s.Name}, term.Fact{Label: "about", Value: s.Description}, term.Fact{Label: "state", Value: state},
		term.Fact{Label: "folder", Value: s.Dir}, term.Fact{Label: "agents", Value: command.OrDash(strings.Join(s.Agents, " "))},
		term.Fact{Label: "needs", Value: s.Compatibility}, term.Fact{Label: "license", Value: s.License}, term.Fact{Label: "tools", Value: tools},
		term.Fact{Label: "files", Value: strings.Join(files, ", ")}, term.Fact{Label: "notes", Value: strings.Join(notes, "; ")})
	if err != nil || strings.TrimSpace(s.Body) == "" {
		return err
	}
	return e.Print("\n" + term.Clean(strings.TrimSpace(s.Body)) + "\n")
}
