package setup

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/settings/project"
	"fika/internal/system/term"
	"fika/internal/text/hint"
)

// NewTrust returns the command fika trust.
func NewTrust(e *command.Env) *cobra.Command {
	var yes, diff, revoke bool
	c := &cobra.Command{
		Use: "trust", Short: "trust a project's files",
		Long: `Shows what has changed in the project's .fika, in its skills (.agents/skills,
.claude/skills), and in the AGENTS.md files of the repository, since you trusted
it, and asks. Until you say yes, none of it is
read into a prompt or run; afterwards a copy of what you were shown is used,
and stays in use when the files change, by your own hand or by git pull.

In a folder that is not a project, it allows the AGENTS.md there into prompts.
Where there is no AGENTS.md, CLAUDE.md counts.`,
		Example: "  fika trust\n  fika trust --diff   # only look\n  fika trust --revoke",
		Args:    command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if revoke {
				return revokeTrust(e)
			}
			if e.App().Project() == nil {
				return trustFolder(e, yes, diff)
			}
			p, err := setup.ReviewProject(e.App())
			if err != nil {
				return err
			}
			if p.State == project.Trusted {
				e.Say("%s is trusted and unchanged", p.Project.Name())
				return nil
			}
			if err := e.Print(shownChanges(p.Changes, 0)); err != nil || diff {
				return err
			}
			e.Say("%s", shownSummary(p))
			if !yes {
				if err := e.Confirm("trust and use this"); err != nil {
					return err
				}
			}
			if err := p.Accept(); err != nil {
				return err
			}
			e.Say("%s is trusted", p.Project.Name())
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&diff, "diff", false, "show what has changed, and do nothing")
	c.Flags().BoolVar(&revoke, "revoke", false, "stop using anything of the project")
	return c
}

func revokeTrust(e *command.Env) error {
	p := e.App().Project()
	if p == nil {
		return fika.WithHint(fika.Errorf(fika.NotFound, "trust", "this is not a project"), hint.Init)
	}
	if err := p.Revoke(); err != nil {
		return err
	}
	e.Say("nothing of %s is used from the next turn on", p.Name())
	return nil
}

// trustFolder allows the AGENTS.md of a folder that is not a project into prompts.
func trustFolder(e *command.Env, yes, look bool) error {
	file, text, err := setup.FindInstructions(e.App())
	if err != nil {
		return err
	}
	if err := e.Print(term.Visible(text) + "\n"); err != nil || look {
		return err
	}
	if !yes {
		if err := e.Confirm("put " + file + ", as it is at that time, into the prompts of agents that work there"); err != nil {
			return err
		}
	}
	dir := filepath.Dir(file)
	settings, err := setup.TrustFolder(e.App(), dir)
	if err != nil {
		return err
	}
	e.Say("%s is trusted; that stands in %s", dir, settings)
	return nil
}

// OfferTrust is [TellTrust] for a person at a terminal: it shows the changes of a
// project that is not in force, and puts them in force if the person agrees. Outside a
// project, it does nothing.
func OfferTrust(e *command.Env) {
	a := e.App()
	p := a.Project()
	if p == nil || p.State(a.Dir()) == project.Trusted {
		return
	}
	pending, err := setup.ReviewProject(a)
	if err != nil || len(pending.Changes) == 0 {
		TellTrust(e)
		return
	}
	e.Say("%s", strings.TrimRight(shownChanges(pending.Changes, 40), "\n"))
	e.Say("%s", shownSummary(pending))
	if err := e.Confirm("trust and use these files"); err != nil {
		return // what was trusted before stays in force
	}
	if err := pending.Accept(); err != nil {
		e.Warn(err.Error())
		return
	}
	e.Reopen()
}

// shownChanges returns changes as people read them; escapes and marks that change the
// direction of text are visible. It shows at most most changed lines; 0 means all.
func shownChanges(changes []project.Change, most int) string {
	var b strings.Builder
	n := 0
	for _, c := range changes {
		what := c.What
		if c.Binary {
			what += fmt.Sprintf(", no text, %s", command.ByteCount(int64(c.Bytes)))
		}
		fmt.Fprintf(&b, "%s: %s\n", term.Visible(c.Path), what)
		for _, l := range c.Lines {
			if n++; most > 0 && n > most {
				fmt.Fprintf(&b, "  … fika trust --diff shows all\n")
				return b.String()
			}
			fmt.Fprintf(&b, "  %s\n", term.Visible(l))
		}
	}
	return b.String()
}

// shownSummary returns what would be in force.
func shownSummary(p *setup.Pending) string {
	var agents, programs []string
	for _, a := range p.Config.Entries() {
		can := "read, list and plugins"
		if a.ToolPermissions != nil {
			can = strings.Join(a.ToolPermissions, ", ")
		}
		agents = append(agents, fmt.Sprintf("@%s (%s)", a.ID, can))
	}
	for _, f := range p.Tree.Files {
		if f.Exec && strings.HasPrefix(f.Path, project.Folder+"/plugins/") {
			programs = append(programs, f.Path)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", p.Project.Name(), command.Plural(len(p.Tree.Files), "file"))
	if len(agents) > 0 {
		fmt.Fprintf(&b, "\n  agents: %s", strings.Join(agents, ", "))
	}
	if len(programs) > 0 {
		fmt.Fprintf(&b, "\n  programs that would run: %s", strings.Join(programs, ", "))
	}
	for i, line := range p.SkillLines() {
		if i == 0 {
			b.WriteString("\n  skills, for agents that may use them:")
		}
		b.WriteString("\n    " + line)
	}
	if unused := unusedFiles(p.Tree); len(unused) > 0 {
		fmt.Fprintf(&b, "\n  fika does nothing with: %s", strings.Join(unused, ", "))
	}
	for _, name := range project.InstructionNames() {
		if slices.ContainsFunc(p.Tree.Files, func(f project.File) bool {
			return path.Base(f.Path) == name && !strings.HasPrefix(f.Path, ".")
		}) {
			fmt.Fprintf(&b, "\n  %s is part of every prompt (agents_md = false in .fika/config.toml: it is not)", name)
		}
	}
	return term.Clean(b.String())
}

// unusedFiles returns the files of a project's .fika that fika does not use, except for
// README and hidden files: the name of a folder may be misspelt.
func unusedFiles(t project.Tree) []string {
	known := []string{"config.toml", "agents", "prompts", "workflows", "commands", "plugins", "skills"}
	var out []string
	for _, f := range t.Files {
		rest, inside := strings.CutPrefix(f.Path, project.Folder+"/")
		top, _, _ := strings.Cut(rest, "/")
		agent := !strings.HasPrefix(rest, "agents/") || strings.HasSuffix(rest, ".md")
		if inside && !strings.HasPrefix(top, "README") && !strings.HasPrefix(top, ".") && (!slices.Contains(known, top) || !agent) {
			out = append(out, f.Path)
		}
	}
	return out
}

// TellTrust says what of the project is not in force; it is called before something is
// asked or run there. Outside a project, it names instructions that are not read, if
// stderr is a terminal.
func TellTrust(e *command.Env) {
	a := e.App()
	p := a.Project()
	if p == nil {
		if !e.ErrTTY {
			return
		}
		if file, _, err := setup.FindInstructions(a); err == nil {
			e.Say("%s", e.ErrStyle().Dim(fmt.Sprintf("%s is not read; fika trust reads it, fika init makes this a project", file)))
		}
		return
	}
	switch p.State(a.Dir()) {
	case project.Untrusted:
		e.Warn(fmt.Sprintf("you have not trusted %s: nothing of its .fika is used (fika trust)", p.Name()))
	case project.Changed:
		tellChanges(e, p)
	}
}

func tellChanges(e *command.Env, p *project.Project) {
	const still = "the version that you trusted is used until fika trust"
	pending, err := setup.ReviewProject(e.App())
	switch {
	case err != nil:
		e.Warn(fmt.Sprintf("%s has changed, and cannot be used as it is; %s: %v", p.Name(), still, err))
	case pending.Announced():
		e.Warn(fmt.Sprintf("%s has changed; %s", p.Name(), still))
	default:
		e.Warn(fmt.Sprintf("%s has changed; %s:", p.Name(), still))
		e.Say("%s", strings.TrimRight(shownChanges(pending.Changes, 40), "\n"))
	}
}
