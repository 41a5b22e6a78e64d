package skill

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/extension/skill"
	"fika/internal/system/term"
	"fika/internal/text/hint"
)

// problemJSON is a deviation from the format as --json prints it.
type problemJSON struct {
	Path    string `json:"path"`
	Line    int    `json:"line"` // 0: it is about the whole
	Message string `json:"message"`
	Fatal   bool   `json:"fatal"` // the skill cannot be used
}

func toProblemJSON(p skill.Problem) problemJSON { return problemJSON{p.Path, p.Line, p.Text, p.Fatal} }

func newCheck(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "check [NAME]", Short: "report every deviation of skills from the format", Args: command.AtMostOne("a skill or a folder"), ValidArgsFunction: complete.FirstOnly(names(e)),
		Long: `Reports everything in which skills differ from the Agent Skills format, with file
and line. NAME is a skill, or the path of its folder (./pdf-forms); without it,
all skills are checked. The exit status is 2 if a skill cannot be used; other
deviations do no harm here, but may in other programs.`,
		Example: "  fika skill check\n  fika skill check ./pdf-forms",
		RunE: func(_ *cobra.Command, args []string) error {
			problems, n, err := check(e, args)
			if err != nil {
				return err
			}
			if asJSON {
				if err := command.PrintLines(e, problems, toProblemJSON); err != nil {
					return err
				}
			} else if err := printProblems(e, problems, n); err != nil {
				return err
			}
			for _, p := range problems {
				if p.Fatal {
					return command.Silent{Kind: fika.Invalid}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the deviations as JSON Lines")
	return c
}

// check returns what is wrong with the skills that args name, and how many these are.
func check(e *command.Env, args []string) (problems []skill.Problem, n int, err error) {
	if len(args) > 0 && (strings.ContainsRune(args[0], filepath.Separator) || args[0] == "." || args[0] == "..") {
		dir := args[0]
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(e.App().Dir(), dir)
		}
		if filepath.Base(dir) == skill.File {
			dir = filepath.Dir(dir)
		}
		if _, err := os.Stat(dir); err != nil {
			return nil, 0, fika.Errorf(fika.NotFound, "", "folder %q not found", args[0])
		}
		_, problems, _ := skill.Read(dir)
		return problems, 1, nil
	}
	list, err := setup.Skills(e.App())
	if err != nil {
		return nil, 0, err
	}
	for _, s := range list {
		if len(args) > 0 && s.Name != args[0] {
			continue
		}
		n++
		switch {
		case s.State == setup.SkillUntrusted:
			_, notes, _ := skill.Read(s.Dir)
			problems = append(problems, notes...)
		case s.State == setup.SkillBroken && len(s.Notes) == 0:
			problems = append(problems, skill.Problem{Path: s.Dir, Text: s.Why, Fatal: true})
		default:
			problems = append(problems, s.Notes...)
		}
	}
	if n == 0 && len(args) > 0 {
		return nil, 0, fika.WithHint(fika.Errorf(fika.NotFound, "", "skill %q not found; for a folder, write ./%s", args[0], args[0]), hint.SkillList)
	}
	return problems, n, nil
}

func printProblems(e *command.Env, problems []skill.Problem, n int) error {
	if len(problems) == 0 {
		e.Say("%s, no problems", command.Plural(n, "skill"))
		return nil
	}
	var b strings.Builder
	for _, p := range problems {
		kind := "note"
		if p.Fatal {
			kind = "error"
		}
		path, text, _ := strings.Cut(p.String(), ": ")
		b.WriteString(term.CleanLine(path+": "+kind+": "+text) + "\n")
	}
	return e.Print(b.String())
}
