package worker

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/skill"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/settings/project"
	"fika/internal/tool/note"
	"fika/internal/turn/prompt"
)

// PromptSource gives the prompt assembler what the files of a context say.
type PromptSource struct {
	Folder    folder.Folder
	Settings  config.Settings
	Workspace string
	Now       time.Time                    // zero: the day is left out
	Quiet     bool                         // omits the reflection
	Skilled   []skill.Skill                // what the context may use
	Project   ProjectFiles                 // zero if there is no project, or it is not trusted
	Saw       func(note.Name, folder.Hash) // told which notes were read; may be nil
}

// ProjectFiles are the folders of a project, and the copy of its files that the person
// has agreed to.
type ProjectFiles struct {
	Roots []string // its folder, in each known working tree
	Copy  string
}

// ProjectFilesOf returns the files of the project that a command runs in.
func ProjectFilesOf(a *app.App) ProjectFiles {
	p := a.Project()
	if p == nil {
		return ProjectFiles{}
	}
	return ProjectFiles{Roots: BothNames(p.Root, p.Main), Copy: p.Copy()}
}

// place returns the path of a folder relative to the project. It returns false if the
// folder is elsewhere, or nothing is trusted.
func (f ProjectFiles) place(dir string) (rel string, ok bool) {
	for _, root := range f.Roots {
		for _, d := range BothNames(dir) {
			if rel, err := filepath.Rel(root, d); err == nil && filepath.IsLocal(rel) && f.Copy != "" {
				return rel, true
			}
		}
	}
	return "", false
}

// prompts returns the folder of the project's own prompts.
func (f ProjectFiles) prompts() []string {
	if f.Copy == "" {
		return nil
	}
	return []string{filepath.Join(f.Copy, project.Folder, "prompts")}
}

// maxPromptFile bounds the file that system_prompt names.
const maxPromptFile = 4 << 20

// Base returns the context's own prompt, else the agent's, else the default.
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
	return s.Folder.Home.Prompt(folder.DefaultPrompt, s.Project.prompts()...)
}

// Skills returns what the prompt says of the skills that the context may use.
func (s PromptSource) Skills() (string, error) { return skill.Listing(s.Skilled), nil }

// Instructions returns the AGENTS.md files from the project's folder, or another
// trusted folder, down to the workspace, outermost first; in a folder without one, its
// CLAUDE.md. For a project these are the
// copies that the person has agreed to. A file that is not a regular file of its folder
// is left out, and a note in its place says why.
func (s PromptSource) Instructions() (string, error) {
	if !s.Settings.AgentsMD {
		return "", nil
	}
	if rel, ok := s.Project.place(s.Workspace); ok {
		return instructionsIn(s.Project.Copy, filepath.Join(s.Project.Copy, rel)), nil
	}
	top := s.trusted()
	if top == "" {
		return "", nil
	}
	return instructionsIn(top, s.Workspace), nil
}

// instructionsIn joins the files with instructions from top down to dir. Together they
// have at most maxInstructions bytes; the nearest to dir count first.
func instructionsIn(top, dir string) string {
	var found []string
	left := maxInstructions
	for ; ; dir = filepath.Dir(dir) {
		path, text, err := instructionOf(dir)
		switch {
		case err != nil:
			text = fmt.Sprintf("(%s was left out: %v)", path, err)
		case len(text) > left:
			text = fmt.Sprintf("(%s was left out: instructions may have %d KiB in all, and those nearer to the work come first)", path, maxInstructions>>10)
		default:
			left -= len(text)
		}
		if text != "" {
			found = append(found, text)
		}
		if dir == top || dir == filepath.Dir(dir) {
			break
		}
	}
	slices.Reverse(found)
	return strings.Join(found, "\n\n")
}

// instructionOf reads the instructions in one folder: the first of the names that is a
// file there. The text is "" if none is.
func instructionOf(dir string) (path, text string, err error) {
	for _, name := range project.InstructionNames() {
		at := filepath.Join(dir, name)
		read, why := folder.ReadInside(dir, name, maxInstructions)
		if read != "" {
			return at, read, nil
		}
		if why != nil && err == nil {
			path, err = at, why
		}
	}
	return path, "", err
}

// maxInstructions bounds the instructions in a prompt, in bytes.
const maxInstructions = 256 << 10

// trusted returns the outermost trusted folder that contains the workspace, or "".
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

// Continuation returns the text that introduces a summary; "" if there is no summary.
func (s PromptSource) Continuation() (string, error) {
	summary, err := s.Summary()
	if err != nil || summary == "" {
		return "", err
	}
	return s.Folder.Home.Prompt(folder.ContinuationPrompt, s.Project.prompts()...)
}

// Summary returns the summary that compaction left.
func (s PromptSource) Summary() (string, error) { return s.read(folder.Summary) }

// Goals returns the context's goals.
func (s PromptSource) Goals() (string, error) { return s.note(note.Goals) }

// Todos returns the context's todos.
func (s PromptSource) Todos() (string, error) { return s.note(note.Todos) }

func (s PromptSource) read(k folder.TextKind) (string, error) {
	text, err := s.Folder.Read(k)
	return strings.TrimSpace(text.Body), err
}

// Reflection returns the agent's notes for itself, and the person's notes for all
// agents. No agent's notes are in another agent's prompt.
func (s PromptSource) Reflection() (string, error) {
	if s.Quiet || !s.Settings.ReflectionEnabled {
		return "", nil
	}
	shared, err := s.Folder.Home.Reflection()
	if err != nil {
		return "", err
	}
	own, err := s.noteText(note.Reflection)
	return prompt.JoinMaterials(
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
