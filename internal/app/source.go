package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/config"
	"fika/internal/folder"
	"fika/internal/prompt"
	"fika/internal/store"
	"fika/internal/tool/note"
)

// texts gives the prompt assembler what the files of a context say.
type texts struct {
	folder    folder.Folder
	settings  config.Settings
	workspace string
	quiet     bool                         // leave the reflection out
	saw       func(note.Name, folder.Hash) // is told which notes were read; nil: nobody is
}

// maxPromptFile bounds the file that system_prompt names.
const maxPromptFile = 4 << 20

// Base is the context's own prompt, else the agent's, else the default.
func (t texts) Base() (string, error) {
	own, err := t.folder.Read(folder.SystemPrompt)
	if err != nil || strings.TrimSpace(own.Body) != "" {
		return own.Body, err
	}
	if f := t.settings.SystemPromptFile; f != "" {
		text, err := folder.ReadText(f, maxPromptFile)
		if err != nil {
			return "", fika.Wrap(fika.Invalid, "system_prompt", err)
		}
		return text, nil
	}
	if t.settings.SystemPrompt != "" {
		return t.settings.SystemPrompt, nil
	}
	return t.folder.Home.Prompt(folder.DefaultPrompt)
}

// Instructions are the AGENTS.md files from the trusted folder down to the
// workspace, outermost first. One that is no regular file of its folder is left
// out, and its place says why.
func (t texts) Instructions() (string, error) {
	top := t.trusted()
	if !t.settings.AgentsMD || top == "" {
		return "", nil
	}
	var found []string
	for dir := t.workspace; ; dir = filepath.Dir(dir) {
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
func (t texts) trusted() string {
	top := ""
	for _, dir := range t.settings.Trust {
		dir = filepath.Clean(dir)
		if rel, err := filepath.Rel(dir, t.workspace); err == nil && filepath.IsLocal(rel) && (top == "" || len(dir) < len(top)) {
			top = dir
		}
	}
	return top
}

// Continuation introduces a summary.
func (t texts) Continuation() (string, error) {
	summary, err := t.Summary()
	if err != nil || summary == "" {
		return "", err
	}
	return t.folder.Home.Prompt(folder.ContinuationPrompt)
}

// Summary is what compaction left.
func (t texts) Summary() (string, error) { return t.read(folder.Summary) }

// Goals are the context's goals.
func (t texts) Goals() (string, error) { return t.note(note.Goals) }

// Todos are the context's todos.
func (t texts) Todos() (string, error) { return t.note(note.Todos) }

func (t texts) read(k folder.TextKind) (string, error) {
	text, err := t.folder.Read(k)
	return strings.TrimSpace(text.Body), err
}

// Reflection is what the agent keeps for itself, and what the person keeps for
// all agents. No agent's notes are in another's prompt.
func (t texts) Reflection() (string, error) {
	if t.quiet || !t.settings.ReflectionEnabled {
		return "", nil
	}
	shared, err := t.folder.Home.Reflection()
	if err != nil {
		return "", err
	}
	own, err := t.noteText(note.Reflection)
	return prompt.Materials(
		prompt.Material{Text: shared.Body, Keeper: "the user, for all agents", Changed: shared.Changed},
		prompt.Material{Text: own.Body, Keeper: "yourself (@" + string(t.folder.Name) + ")", Changed: own.Changed},
	), err
}

// note reads one of the notes that the model keeps.
func (t texts) note(n note.Name) (string, error) {
	text, err := t.noteText(n)
	return strings.TrimSpace(text.Body), err
}

func (t texts) noteText(n note.Name) (folder.Text, error) {
	text, err := t.folder.Read(folder.TextKind(n))
	if err == nil && t.saw != nil {
		t.saw(n, text.Hash)
	}
	return text, err
}

// asks lets the mirror read an agent's ask conversations.
type asks struct {
	store *store.Store
	agent fika.AgentName
}

// Asks lists them, oldest first.
func (a asks) Asks(ctx context.Context) ([]folder.AskHead, error) {
	agent, err := a.store.Agent(ctx, a.agent)
	if err != nil {
		return nil, err
	}
	list, err := a.store.AskConversations(ctx, agent.ID)
	if err != nil {
		return nil, err
	}
	out := make([]folder.AskHead, len(list))
	for i, c := range list {
		out[i] = folder.AskHead{ID: c.ID, LastSeq: c.LastSeq, Active: c.ID == agent.ActiveAsk}
	}
	return out, nil
}

// EntriesAfter reads on.
func (a asks) EntriesAfter(ctx context.Context, c fika.ConversationID, since int64, limit int) ([]fika.Entry, error) {
	return a.store.Entries(ctx, store.EntryQuery{Conversation: c, Since: since, First: limit})
}
