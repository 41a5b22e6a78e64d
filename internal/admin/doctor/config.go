package doctor

import (
	"context"
	"errors"
	"fmt"

	"fika"
	"fika/internal/admin/pluginadmin"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/settings/project"
	"fika/internal/text/hint"
	"fika/internal/worker"
)

// ConfigReport is the content of a home's files when nothing in them is wrong.
type ConfigReport struct {
	*config.Config
	Warnings []string // settings that have no effect as things are
}

// CheckConfig returns what the files of this home say, or everything that is wrong
// with them. In a project it first reads the project's files as they are, trusted or
// not: config.toml, models.toml, the local.toml of each context, and missing
// things that they name. It asks the plugins for their tools.
func CheckConfig(ctx context.Context, a *app.App) (ConfigReport, error) {
	at, err := a.Standing()
	if err != nil {
		return ConfigReport{}, err
	}
	if at.Project != "" { // the files that a person edits, which fika trust would put in force
		if _, err := a.CheckProject(); err != nil {
			return ConfigReport{}, err
		}
	}
	c, err := a.LoadConfig()
	var wrong *config.WrongError
	if errors.As(err, &wrong) { // more may be
		return ConfigReport{}, checkWrong(a, wrong)
	}
	if err != nil {
		return ConfigReport{}, err
	}
	h, err := a.Home()
	if err != nil {
		return ConfigReport{}, err
	}
	names, _, err := h.List()
	if err != nil {
		return ConfigReport{}, err
	}
	for _, e := range c.Agents {
		names = append(names, fika.AgentName(e.ID))
	}
	report := ConfigReport{Config: c}
	if at.Trust == project.Changed || at.Project != "" && at.Trust == project.Untrusted {
		report.Warnings = append(report.Warnings, fmt.Sprintf("the files of %s can be read, but others are in use, and what they name was looked for in those: review them with %s", at.Root, hint.Trust))
	}
	report.Warnings = append(append(report.Warnings, c.Notes()...), c.BackupNotes()...)
	report.Warnings = append(report.Warnings, pushTrouble(ctx, a, c.Landing)...)
	var errs []error
	seen := map[fika.AgentName]bool{}
	for _, n := range names {
		if seen[n] {
			continue
		}
		seen[n] = true
		if err := checkSettings(a, c, n); err != nil {
			errs = append(errs, err)
		}
	}
	known, err := pluginadmin.ToolNames(ctx, a)
	if err != nil {
		return ConfigReport{}, err
	}
	tools := &toolNames{known: known}
	for _, s := range c.MCP {
		tools.servers = append(tools.servers, s.Name)
	}
	tools.checkConfig(c)
	for n := range seen {
		tools.checkLocal(h.Folder(n))
	}
	report.Warnings = append(report.Warnings, tools.warnings...)
	if errs = append(errs, tools.errs...); len(errs) > 0 {
		return ConfigReport{}, &fika.Error{Kind: fika.Invalid, Msg: errors.Join(errs...).Error()}
	}
	return report, nil
}

// checkWrong adds to what is wrong with the settings the workspaces that do not exist and
// the misspelt names of built-in tools.
func checkWrong(a *app.App, wrong *config.WrongError) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	errs := []error{wrong}
	for _, entry := range wrong.Config.Agents {
		s, _ := config.Resolve(config.Inputs{Home: h.Root, Agent: fika.AgentName(entry.ID), Config: wrong.Config})
		if s.Workspace == "" || s.Worktree {
			continue
		}
		if err := worker.CheckWorkspace(s.Workspace, s.Agent); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Origins["workspace"], err))
		}
	}
	tools := &toolNames{known: worker.NewToolbox(a, h.Folder(folder.DefaultContext), config.Settings{}).AllNames()}
	tools.checkConfig(wrong.Config)
	return &fika.Error{Kind: fika.Invalid, Msg: errors.Join(append(errs, tools.errs...)...).Error()}
}

// checkSettings checks the settings of one context. A missing choice of model is not
// an error in a file.
func checkSettings(a *app.App, c *config.Config, name fika.AgentName) error {
	s, err := a.Settings(name, nil, true)
	var unreadable *config.Problems
	switch {
	case errors.As(err, &unreadable):
		return err
	case err != nil && c.Model == "" && (c.Agent(name) == nil || c.Agent(name).Model == ""):
		return nil
	case err != nil:
		err = fmt.Errorf("@%s: %w", name, err)
		if errors.As(err, new(*config.ModelError)) {
			err = errors.Join(err, checkWorkspace(a, s))
		}
		return err
	}
	return checkWorkspace(a, s)
}

func checkWorkspace(a *app.App, s config.Settings) error {
	if err := worker.CanOpenWorkspace(a, s); err != nil {
		return fmt.Errorf("%s: %w", s.Origins["workspace"], err)
	}
	return nil
}
