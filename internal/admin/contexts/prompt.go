package contexts

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/turn/prompt"
	"fika/internal/worker"
)

// SetPrompt writes the system prompt of a context, which is made if it is missing. An
// empty text removes the file, so that the default applies again.
func SetPrompt(ctx context.Context, a *app.App, name fika.AgentName, text string, wait time.Duration) error {
	h, err := a.Home()
	if err != nil {
		return err
	}
	f, _, err := h.Ensure(name)
	if err != nil {
		return err
	}
	return writePrompt(ctx, a, f, text, wait)
}

func writePrompt(ctx context.Context, a *app.App, f folder.Folder, text string, wait time.Duration) error {
	lock, err := worker.LockFolder(ctx, a, f, wait)
	if err != nil {
		return err
	}
	if text == "" {
		err = os.Remove(f.TextPath(folder.SystemPrompt))
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		err = fika.Wrap(fika.Storage, "clear prompt", err)
	} else {
		err = f.Write(folder.SystemPrompt, strings.TrimRight(text, "\n")+"\n")
	}
	return errors.Join(err, lock.Close())
}

// BasePrompt returns the part of a context's system prompt that a person may edit, and
// where it comes from.
func BasePrompt(a *app.App, f folder.Folder) (text, from string, err error) {
	s, err := settingsOf(a, f.Name)
	if err != nil {
		return "", "", err
	}
	return basePrompt(a, f, s)
}

// settingsOf returns the settings of a context or, when its files are wrong, those
// that apply to every context.
func settingsOf(a *app.App, name fika.AgentName) (config.Settings, error) {
	s, err := a.Settings(name, nil, false)
	if err != nil {
		return a.PlainSettings(name)
	}
	return s, nil
}

func basePrompt(a *app.App, f folder.Folder, s config.Settings) (text, from string, err error) {
	if text, err = (worker.PromptSource{Folder: f, Settings: s, Project: worker.ProjectFilesOf(a)}).Base(); err != nil {
		return "", "", err
	}
	mine, err := f.Read(folder.SystemPrompt)
	switch {
	case err != nil:
		return "", "", err
	case text == mine.Body && text != "":
		return text, f.TextPath(folder.SystemPrompt), nil
	case s.SystemPromptFile != "":
		return text, s.SystemPromptFile, nil
	case s.SystemPrompt != "":
		return text, s.Origins["system_prompt"], nil
	}
	return text, "the default prompt", nil
}

// AssembledPrompt returns the whole system prompt that the model would get now, with
// summary, goals, todos, reflection and whatever hooks inject.
func AssembledPrompt(ctx context.Context, a *app.App, f folder.Folder, p app.Person) (string, error) {
	s, err := settingsOf(a, f.Name)
	if err != nil {
		return "", err
	}
	hooks, err := worker.NewToolbox(a, f, s).OpenHooks(ctx, p)
	if err != nil {
		return "", err
	}
	assembler := &prompt.Assembler{
		Source: worker.PromptSource{Folder: f, Settings: s, Project: worker.ProjectFilesOf(a), Workspace: s.WorkspaceOr(a.Dir()), Now: a.Now(), Skilled: worker.SkillsOf(a, s)},
		Hooks:  hooks, Agent: f.Name, Context: string(f.Name), Username: s.Username,
		Colleagues: worker.ColleaguesBlock(a, f.Name, s.ToolsOff),
	}
	whole, err := assembler.Prompt(ctx, store.Claimed{Conversation: fika.Conversation{Kind: fika.Ask}})
	return whole.WholeText(), err
}
