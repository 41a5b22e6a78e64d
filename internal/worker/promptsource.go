package worker

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/prompt"
	"fika/internal/tool/note"
)

// PromptSource gives the prompt assembler what the files of a context say.
type PromptSource struct {
	Folder    folder.Folder
	Settings  config.Settings
	Workspace string
	Quiet     bool                         // leave the reflection out
	Saw       func(note.Name, folder.Hash) // is told which notes were read; nil: nobody is
}

// maxPromptFile bounds the file that system_prompt names.
const maxPromptFile = 4 << 20

// Base is the context's own prompt, else the agent's, else the default.
func (s PromptSource) Base() (string, error) {
	own, err := s.Folder.Read(folder.SystemPrompt)
	if err != nil || strings.TrimSpace(own.Body) != "" {
		return own.Body, err
	}
	if f := s.Settings.SystemPromptFile; f != "" {
		text, err := folder.ReadText(f, maxPromptFile)
		if err != nil {
			return "", fika.Wrap(fika.Invalid, "system_prompt", err)
		}
		return text, nil
	}
	if s.Settings.SystemPrompt != "" {
		return s.Settings.SystemPrompt, nil
	}
	return s.Folder.Home.Prompt(folder.DefaultPrompt)
}

// Instructions are the AGENTS.md files from the trusted folder down to the
// workspace, outermost first. One that is no regular file of its folder is left
// out, and its place says why.
func (s PromptSource) Instructions() (string, error) {
	top := s.trusted()
	if !s.Settings.AgentsMD || top == "" {
		return "", nil
	}
	var found []string
	for dir := s.Workspace; ; dir = filepath.Dir(dir) {
		text, err := folder.ReadInside(dir, "AGENTS.md", maxInstructions)
		if err != nil {
			text = fmt.Sprintf("(%s was left out: %v)", filepath.Join(dir, "AGENTS.md"), err)
		}
		if text != "" {
			found = append(found, text)
		}
		if dir == top || dir == filepath.Dir(dir) {
			break
		}
	}
	slices.Reverse(found)
	return strings.Join(found, "\n\n"), nil
}

const maxInstructions = 256 << 10

// trusted is the outermost folder of the person's trust that the workspace is
// in, or "".
func (s PromptSource) trusted() string {
	top := ""
	for _, dir := range s.Settings.Trust {
		dir = filepath.Clean(dir)
		if rel, err := filepath.Rel(dir, s.Workspace); err == nil && filepath.IsLocal(rel) && (top == "" || len(dir) < len(top)) {
			top = dir
		}
	}
	return top
}

// Continuation introduces a summary.
func (s PromptSource) Continuation() (string, error) {
	summary, err := s.Summary()
	if err != nil || summary == "" {
		return "", err
	}
	return s.Folder.Home.Prompt(folder.ContinuationPrompt)
}

// Summary is what compaction left.
func (s PromptSource) Summary() (string, error) { return s.read(folder.Summary) }

// Goals are the context's goals.
func (s PromptSource) Goals() (string, error) { return s.note(note.Goals) }

// Todos are the context's todos.
func (s PromptSource) Todos() (string, error) { return s.note(note.Todos) }

func (s PromptSource) read(k folder.TextKind) (string, error) {
	text, err := s.Folder.Read(k)
	return strings.TrimSpace(text.Body), err
}

// Reflection is what the agent keeps for itself, and what the person keeps for
// all agents. No agent's notes are in another's prompt.
func (s PromptSource) Reflection() (string, error) {
	if s.Quiet || !s.Settings.ReflectionEnabled {
		return "", nil
	}
	shared, err := s.Folder.Home.Reflection()
	if err != nil {
		return "", err
	}
	own, err := s.noteText(note.Reflection)
	return prompt.Materials(
		prompt.Material{Text: shared.Body, Keeper: "the user, for all agents", Changed: shared.Changed},
		prompt.Material{Text: own.Body, Keeper: "yourself (@" + string(s.Folder.Name) + ")", Changed: own.Changed},
	), err
}

// note reads one of the notes that the model keeps.
func (s PromptSource) note(n note.Name) (string, error) {
	text, err := s.noteText(n)
	return strings.TrimSpace(text.Body), err
}

func (s PromptSource) noteText(n note.Name) (folder.Text, error) {
	text, err := s.Folder.Read(folder.TextKind(n))
	if err == nil && s.Saw != nil {
		s.Saw(n, text.Hash)
	}
	return text, err
}
