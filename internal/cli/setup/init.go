package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/settings/project"
	"fika/internal/settings/template"
	"fika/internal/system/term"
)

// initOptions are the flags of fika init.
type initOptions struct {
	team, model string
	money       string // US dollars a day; "": not said
	noAgentsMD  bool
	yes         bool
	goesOn      bool // the session follows: nothing is said about what to do next
}

// NewInit returns the command fika init.
func NewInit(e *command.Env) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use: "init", Short: "make this folder a project, with a team of agents",
		Long: `Makes a .fika folder at the root of the repository (or here, outside of one):
settings and agents as files to commit and share. What agents say and do is kept
outside the repository, in a home that belongs to the project; fika project
lists these homes. No existing file is overwritten.

Without arguments, on a terminal, it asks for the team, the model, whether
agents read AGENTS.md, and how much they may cost a day. If you choose no model,
each person uses their own. The limit of money is yours and is not shared.`,
		Example: "  fika init\n  fika init --team review --money 5\n  fika init -y   # the review team, and no questions",
		Args:    command.Exactly(0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runInit(cmd.Context(), e, o) },
	}
	c.Flags().StringVar(&o.team, "team", "", "agents to start with: review, research, discussion, build or none")
	c.Flags().StringVarP(&o.model, "model", "m", "", "model for everybody who works on the project (id or nickname)")
	c.Flags().StringVar(&o.money, "money", "", "most that this project may cost you a day, in US dollars; 0: no limit")
	c.Flags().BoolVar(&o.noAgentsMD, "no-agents-md", false, "do not let agents read AGENTS.md")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "ask no questions")
	_ = c.RegisterFlagCompletionFunc("money", cobra.NoFileCompletions)
	_ = c.RegisterFlagCompletionFunc("team", func(*cobra.Command, []string, string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		for _, t := range template.ShippedTeams() {
			out = append(out, cobra.CompletionWithDesc(t.Name, t.Description))
		}
		return append(out, "none"), cobra.ShellCompDirectiveNoFileComp
	})
	_ = c.RegisterFlagCompletionFunc("model", complete.ModelNames(e))
	return c
}

func runInit(ctx context.Context, e *command.Env, o initOptions) error {
	root, err := setup.ProjectPlace(e.App())
	if err != nil {
		return err
	}
	plan := setup.Plan{Root: root, Model: o.model, AgentsMD: !o.noAgentsMD}
	if plan.User, err = e.App().UserRoot(); err != nil {
		return err
	}
	if plan.Templates, err = setup.AgentTemplates(e.App()); err != nil {
		return err
	}
	if _, err := dollars(o.money); err != nil {
		return command.UsageError("--money: %s", err)
	}
	asks := e.InTTY && !o.yes
	if o.team == "" && !asks && !o.yes {
		return command.UsageError("which team? --team review, research, discussion, build or none; not a terminal: -y takes review")
	}
	q := questions{e: e, in: bufio.NewReader(e.Keyboard)}
	if o.team == "" && asks {
		if o.team, err = q.team(); err == nil && o.model == "" {
			plan.Model, err = q.model()
		}
		if err != nil {
			return err
		}
	}
	if plan.Team, err = chosenTeam(o.team); err != nil {
		return err
	}
	if plan.Team != nil && plan.Team.Lands {
		plan.Landing = setup.FindLanding(ctx, root)
	}
	files, err := setup.InitProject(plan)
	if err != nil {
		return err
	}
	instructions := "" // the name of the file; empty: none is read
	if found := project.InstructionsIn(root); found != "" && plan.AgentsMD {
		instructions = filepath.Base(found)
	}
	p, err := putInForce(e)
	if fika.IsKind(err, fika.NotFound) {
		e.Say("made .fika/ (%s)", strings.Join(files, ", "))
		e.Warn("a home is named by --home or FIKA_HOME, so this shell does not use the project")
		return nil
	}
	if err != nil {
		return err
	}
	e.Say("made .fika/ (%s); data goes to %s", strings.Join(files, ", "), shortened(p.Project.Home, e.Getenv("HOME")))
	if o.goesOn && !hasModel(e) {
		e.Say("no model yet: run fika key set ANTHROPIC_API_KEY, in another terminal")
	} else if !asks || instructions == "" {
		e.Say("%s", modelLine(e))
	} else if !q.yes(modelLine(e) + "; read " + instructions + "?") {
		instructions = ""
		if err := config.SetKey(filepath.Join(p.Project.Dir(), "config.toml"), "agents_md", false); err != nil {
			return err
		}
		if p, err = putInForce(e); err != nil {
			return err
		}
	}
	if plan.Team != nil && plan.Team.Lands {
		sayLanding(e, plan.Landing)
	}
	if o.money == "" && asks && costsMoney(e) {
		o.money = q.money()
	}
	if err := limitMoney(ctx, e, o.money); err != nil {
		return err
	}
	if !o.goesOn {
		sayNext(e, p, instructions, o.money)
	}
	return nil
}

// putInForce trusts the files that have just been made.
func putInForce(e *command.Env) (*setup.Pending, error) {
	e.Reopen()
	p, err := setup.ReviewProject(e.App())
	if err == nil {
		err = p.Accept()
	}
	e.Reopen()
	return p, err
}

// sayLanding says how the work of the team lands, and what that still lacks.
func sayLanding(e *command.Env, l setup.Landing) {
	if l.Check == "" {
		e.Warn("no test command found, so nothing lands: set check in [landing] of .fika/config.toml")
	} else {
		e.Say("what the team builds lands on %s if %s passes there (found in %s, not run yet; [landing] in .fika/config.toml)", l.Into, l.Check, l.Found)
	}
	if l.Missing != "" {
		e.Warn("the builders' worktrees need " + l.Missing)
	}
}

// sayNext says what the person can do next. instructions is the name of the file that
// agents read; empty: none. money is the limit that was set, as [dollars] reads it.
func sayNext(e *command.Env, p *setup.Pending, instructions, money string) {
	if instructions != "" {
		e.Say("%s is read; when it or .fika changes, fika trust reviews it", instructions)
	}
	if limit, _ := dollars(money); limit == 0 && len(p.Config.Budgets) == 0 {
		what := "money limit is set; to set one: fika budget set home --per day --money 5"
		if hasModel(e) && !costsMoney(e) { // a limit of money could not hold
			what = "limit is set; to set one: fika budget set home --per day --tokens 2000000"
		}
		e.Say("no %s", what)
	}
	if len(p.Config.Agents) == 0 {
		e.Say("next: fika agent create coder --template coder, or fika \"a question\"")
		return
	}
	e.Say("next: fika, to talk to them, or fika \"a question\"; commit .fika to share it")
}

// costsMoney reports whether the model that is used has a price, so that a limit of money
// can hold and is worth asking for.
func costsMoney(e *command.Env) bool {
	m, err := e.App().PlainModel()
	return err == nil && m.PriceKnown() && m.Prices != (config.Prices{})
}

// limitMoney gives the home a budget for each day. No amount, or 0, gives it none.
func limitMoney(ctx context.Context, e *command.Env, amount string) error {
	money, err := dollars(amount)
	if err != nil || money == 0 {
		return err
	}
	c, err := e.Service(ctx)
	if err != nil {
		return err
	}
	balances, err := c.Budgets().Set(ctx, config.Budget{Scope: "home", Per: "day", Money: money}, false)
	for _, b := range balances {
		e.Say("budget of %s", service.BudgetLine(b))
	}
	return err
}

// dollars reads an amount of US dollars; "" is 0.
func dollars(text string) (config.MicroDollars, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	if err != nil || !(n == 0 || n >= 0.000001 && n <= 1e9) {
		return 0, fika.Errorf(fika.Invalid, "", "%.40q is not an amount of US dollars, such as 5 or 0.50; 0 is no limit", text)
	}
	return config.MicroDollars(math.Round(n * 1e6)), nil
}

// hasModel reports whether a model is configured or found.
func hasModel(e *command.Env) bool {
	_, err := e.App().PlainModel()
	return err == nil
}

// modelLine returns which model is used, and why.
func modelLine(e *command.Env) string {
	s, err := e.App().PlainModel()
	if none, ok := errors.AsType[*fika.Error](err); ok && none.Msg != "" {
		return none.Msg
	}
	if err != nil {
		return "model: " + err.Error()
	}
	from := e.App().KeyOrigin(s)
	if name, ok := strings.CutPrefix(from, "environment "); ok {
		from = name + " is set"
	}
	if s.Provider == config.Scripted {
		from = "scripted: it answers from rules, and is not a language model"
	}
	return fmt.Sprintf("model: %s (%s)", s.ID, from)
}

func chosenTeam(name string) (*template.Team, error) {
	switch name {
	case "none":
		return nil, nil
	case "":
		name = template.ShippedTeams()[0].Name
	}
	t, err := template.FindTeam(name)
	if err != nil {
		return nil, command.UsageError("%s, or none", strings.TrimPrefix(err.Error(), "find team: "))
	}
	return &t, nil
}

// shortened returns path with ~ in place of home, if path is in home.
func shortened(path, home string) string {
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.Join("~", rel)
	}
	return path
}

// questions asks questions on a terminal; each answer is one line.
type questions struct {
	e  *command.Env
	in *bufio.Reader
}

func (q questions) ask(what, usual string) (string, error) {
	fmt.Fprint(q.e.Err, q.e.FoldedText(fmt.Sprintf("%s [%s]", what, term.CleanLine(usual)))+" ")
	line, err := q.in.ReadString('\n')
	if err != nil {
		return "", fika.Errorf(fika.Interrupted, "", "nothing was made")
	}
	return strings.TrimSpace(line), nil
}

func (q questions) team() (string, error) {
	for _, t := range template.ShippedTeams() {
		sayChoice(q.e, t.Name, t.Description)
	}
	sayChoice(q.e, "none", "no agents yet")
	for {
		word, err := q.ask("team?", template.ShippedTeams()[0].Name)
		if err != nil {
			return "", err
		}
		if _, err := chosenTeam(word); err == nil {
			return word, nil
		}
		q.e.Say("one of those names, or enter for %s", template.ShippedTeams()[0].Name)
	}
}

// model asks for the project's model; an empty line leaves the choice to each person.
func (q questions) model() (string, error) {
	usual := "each person's own"
	if m, err := q.e.App().PlainModel(); err == nil {
		usual += "; yours is " + m.ID
	}
	for {
		word, err := q.ask("model?", usual)
		if err != nil || word == "" {
			return "", err
		}
		err = q.e.App().CheckModel(word)
		if err == nil {
			return word, nil
		}
		q.e.Say("%s", err)
	}
}

// money asks how much the agents may cost a day.
func (q questions) money() string {
	for {
		word, err := q.ask("most they may cost a day, in US dollars? 0: no limit", usualMoney)
		switch {
		case err != nil:
			return ""
		case word == "":
			return usualMoney
		}
		if _, err = dollars(word); err == nil {
			return word
		}
		q.e.Say("%s", err)
	}
}

const usualMoney = "5"

// yes asks a question. An empty line means yes, but the end of input means no.
func (q questions) yes(what string) bool {
	for {
		word, err := q.ask(what, "Y/n")
		switch strings.ToLower(word) {
		case "", "y", "yes":
			return err == nil
		case "n", "no":
			return false
		}
	}
}
