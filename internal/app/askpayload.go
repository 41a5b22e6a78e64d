package app

import (
	"fika"
)

// AskPayload is a one-shot prompt as it is given to an agent's own process:
// who speaks, which model, and in which folder.
func (a *App) AskPayload(name fika.AgentName, prompt string, flags map[string]string) (fika.Payload, error) {
	s, err := a.Settings(name, flags, false)
	if err != nil {
		return fika.Payload{}, err
	}
	return fika.Payload{
		Prompt: prompt, From: s.Username, Writer: fika.ByHuman, Model: flags["model"],
		Workspace: s.WorkspaceOr(a.Dir()),
	}, nil
}
