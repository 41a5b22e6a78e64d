package folder

import (
	_ "embed"
	"path/filepath"
	"strings"

	"fika"
)

// Prompt names one of the home's prompts.
type Prompt string

// The prompts.
const (
	DefaultPrompt      Prompt = "default"      // the system prompt of a context without its own
	CompactionPrompt   Prompt = "compaction"   // instructions for summarising
	ContinuationPrompt Prompt = "continuation" // introduces the summary afterwards
)

var (
	//go:embed prompts/default.md
	defaultText string
	//go:embed prompts/compaction.md
	compactionText string
	//go:embed prompts/continuation.md
	continuationText string
)

// Prompt reads prompts/NAME.md, or returns the built-in text if that file is missing or
// blank. A default prompt called chibi.md is accepted, too. Folders in more are
// searched after the home's own.
func (h Home) Prompt(p Prompt, more ...string) (string, error) {
	files := []string{string(p) + ".md"}
	builtin := map[Prompt]string{DefaultPrompt: defaultText, CompactionPrompt: compactionText, ContinuationPrompt: continuationText}
	text, known := builtin[p]
	if !known {
		return "", fika.Errorf(fika.NotFound, "read prompt", "prompt %q not found", string(p))
	}
	if p == DefaultPrompt {
		files = append(files, "chibi.md")
	}
	for _, dir := range append([]string{h.PromptsDir()}, more...) {
		for _, name := range files {
			t, err := h.readText(filepath.Join(dir, name))
			if err != nil {
				return "", err
			}
			if strings.TrimSpace(t.Body) != "" {
				return t.Body, nil
			}
		}
	}
	return text, nil
}

func (h Home) reflectionFile() string { return filepath.Join(h.PromptsDir(), "reflection.md") }

// Reflection reads prompts/reflection.md: the person's notes for all contexts. Agents
// have notes of their own ([Reflection] of their folder) and do not write this file.
func (h Home) Reflection() (Text, error) { return h.readText(h.reflectionFile()) }
