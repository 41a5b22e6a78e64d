package worker

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// noteOldReflection tells a person, once in the life of a home, that agents used to
// write prompts/reflection.md for all other agents: in an older home the person should
// read it. A home without that file is marked, too, so that what the person writes
// later is not reported.
func (w *Worker) noteOldReflection() {
	h := w.Folder.Home
	mark := filepath.Join(h.RunDir(), "reflection.told")
	if _, err := os.Lstat(mark); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	text, err := h.Reflection()
	if err != nil || h.EnsureDir(h.RunDir()) != nil {
		return // reported when a prompt reads it
	}
	f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return // another process reports it, or nothing can be written here
	}
	_ = f.Close()
	if strings.TrimSpace(text.Body) != "" {
		w.notes = append(w.notes, "agents keep notes of their own now (contexts/NAME/reflection.md); prompts/reflection.md, which all of them could write before, "+
			"is yours alone and still shown to all: read it through, and delete what you did not write")
	}
}
