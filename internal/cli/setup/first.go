package setup

import (
	"bufio"
	"context"
	"errors"
	"strings"

	"fika"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/settings/template"
	"fika/internal/system/term"
)

// FirstMinute offers a team to a person at a terminal in a folder that has no agents, and
// asks for a key if no model is found. It reports whether there are agents to talk to now.
// Where no project can be made, and inside a tool, it asks nothing.
func FirstMinute(ctx context.Context, e *command.Env) (bool, error) {
	if e.InsideTool() || e.Home != "" || e.Getenv("FIKA_HOME") != "" {
		return false, nil
	}
	if _, err := setup.ProjectPlace(e.App()); err != nil {
		return false, nil // fika init says why
	}
	q := questions{e: e, in: bufio.NewReader(e.Keyboard)}
	e.Say("no agents here yet. A team is a few files in .fika/ that you can read and edit:")
	for _, t := range template.ShippedTeams() {
		sayChoice(e, t.Name, t.Description)
	}
	sayChoice(e, "no", "one prompt, without agents")
	team, err := q.offeredTeam()
	if err != nil || team == "" {
		return false, err
	}
	if err := q.findModel(ctx); err != nil {
		return false, err
	}
	err = runInit(ctx, e, initOptions{team: team, yes: true, goesOn: true})
	return err == nil, err
}

// sayChoice prints what can be chosen and what it is; its later rows begin where the first
// one does.
func sayChoice(e *command.Env, name, what string) {
	const column = 14
	lines := strings.Split(term.FoldLines(what, max(e.Width, 2*column)-column), "\n")
	e.Say("  %-11s %s", name, strings.Join(lines, "\n"+strings.Repeat(" ", column)))
}

// offeredTeam asks which team to set up; "" stands for none.
func (q questions) offeredTeam() (string, error) {
	first := template.ShippedTeams()[0].Name
	for {
		word, err := q.ask("set up which team?", first)
		switch word = strings.ToLower(word); {
		case err != nil:
			return "", err
		case word == "" || word == "y" || word == "yes":
			return first, nil
		case word == "n" || word == "no" || word == "none" || word == "not now":
			return "", nil
		}
		if _, err := chosenTeam(word); err == nil {
			return word, nil
		}
		q.e.Say("one of those names, no, or enter for %s", first)
	}
}

// provider is a maker whose key fika can use without further settings.
type provider struct{ name, prefix, key, host string }

// providers returns the makers, a longer prefix of keys before one that it begins with.
func providers() []provider {
	return []provider{
		{"anthropic", "sk-ant-", "ANTHROPIC_API_KEY", "api.anthropic.com"},
		{"openrouter", "sk-or-", "OPENROUTER_API_KEY", "openrouter.ai"},
		{"gemini", "AIza", "GEMINI_API_KEY", "generativelanguage.googleapis.com"},
		{"openai", "sk-", "OPENAI_API_KEY", "api.openai.com"},
	}
}

// findModel asks for a key if no model is configured and none is found, and stores it.
func (q questions) findModel(ctx context.Context) error {
	conf, err := q.e.App().Config()
	if err != nil || conf.Model != "" || len(conf.Models) > 0 {
		return err
	}
	if _, err := q.e.App().PlainModel(); err == nil {
		return nil
	}
	q.e.Say("no model found: no key in this shell, none stored, no Ollama that runs here.")
	for _, g := range setup.FoundGuests(q.e.Getenv("PATH")) {
		q.e.Say("%s is on this machine: fika agent add %s makes it an agent, with an account of its own", g.Program, g.Name)
	}
	q.e.Say("paste a key of Anthropic, OpenAI, OpenRouter or Gemini (what you type is not shown), or enter to look around without:")
	line, err := q.e.ReadSecret(q.e.Keyboard)
	if errors.Is(err, context.Canceled) {
		return fika.Errorf(fika.Interrupted, "", "nothing was made")
	}
	value := strings.TrimSpace(line)
	if err != nil || value == "" {
		return fika.Wrap(fika.Failed, "read key", err)
	}
	of, err := q.whoseKey(value)
	if err != nil {
		return err
	}
	if _, err := q.e.App().SetKey(ctx, of.key, value, []string{of.host}); err != nil {
		return err
	}
	q.e.Say("stored as %s, for %s alone (fika key list)", of.key, of.host)
	q.e.Reopen()
	return nil
}

// whoseKey tells the maker of a key by its beginning, or asks.
func (q questions) whoseKey(value string) (provider, error) {
	for _, p := range providers() {
		if strings.HasPrefix(value, p.prefix) {
			return p, nil
		}
	}
	for {
		word, err := q.ask("whose key is it? anthropic, openai, openrouter or gemini", "openai")
		if err != nil {
			return provider{}, err
		}
		if word == "" {
			word = "openai"
		}
		for _, p := range providers() {
			if strings.EqualFold(word, p.name) {
				return p, nil
			}
		}
	}
}
