package input

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// markStart begins every mark.
const markStart = "[paste "

// A pasted text of more than foldLines lines or foldBytes bytes is one mark in the line,
// and whole in what is sent.
const (
	foldLines = 6
	foldBytes = 2 << 10
)

// foldPaste returns the mark that stands for a pasted text; "": it is short.
func (r *Reader) foldPaste(text string) string {
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	if lines <= foldLines && len(text) <= foldBytes {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	size := fmt.Sprintf("%d lines", lines)
	if lines == 1 {
		size = fmt.Sprintf("%d characters", utf8.RuneCountInString(text))
	}
	mark := fmt.Sprintf(markStart+"%d: %s]", len(r.pastes)+1, size)
	r.pastes[mark] = text
	return mark
}

// pasted returns the text that a mark stands for, or the mark itself if that was pasted in
// another session; false for what is no mark.
func (r *Reader) pasted(mark string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text, ok := r.pastes[mark]; ok {
		return text, true
	}
	return mark, strings.HasPrefix(mark, markStart)
}
