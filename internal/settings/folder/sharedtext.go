package folder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
)

// A context of an agent that several hosts define shows texts that they share. What was
// shown last is in shared_texts.json: a file that differs from it was changed here.

// Shown is a shared text as its file last showed it.
type Shown struct {
	Version int64 `json:"version"` // of the shared text; 0: none was shown
	Hash    Hash  `json:"hash"`    // of the file
}

const (
	shownName = "shared_texts.json"
	conflict  = "conflict" // why a text was set aside that was changed here and elsewhere
)

// Shown returns what the files of the folder last showed. What cannot be read counts as not
// shown, so that nothing is overwritten.
func (f Folder) Shown() (map[TextKind]Shown, error) {
	shown := map[TextKind]Shown{}
	data, err := readCapped(f.path(shownName), 64<<10)
	if fika.IsKind(err, fika.Storage) {
		return nil, err
	}
	if err != nil || json.Unmarshal(data, &shown) != nil {
		return map[TextKind]Shown{}, nil
	}
	return shown, nil
}

// SetShown writes what the files of the folder show.
func (f Folder) SetShown(shown map[TextKind]Shown) error {
	data, err := json.Marshal(shown)
	if err != nil {
		return fika.Wrap(fika.Failed, "write "+shownName, err)
	}
	return withDir(f.Path(), func() error { return replaceFile(f.path(shownName), append(data, '\n'), nil) })
}

// TakeShared writes a shared text in the place of one that was changed here, and sets that
// aside as a conflict.
func (f Folder) TakeShared(k TextKind, body string) error { return f.Take(k, body, conflict) }

// Conflicts returns the files that [Folder.TakeShared] has set aside and nobody has removed,
// by path.
func (f Folder) Conflicts() (map[string]TextKind, error) {
	list, err := os.ReadDir(f.Path())
	if err != nil {
		return nil, fileError("read folder", f.Path(), err)
	}
	found := map[string]TextKind{}
	for _, e := range list {
		kind, rest, _ := strings.Cut(e.Name(), ".md.")
		if k := TextKind(kind); strings.HasPrefix(rest, conflict+"-") && slices.Contains(TextKinds(), k) {
			found[filepath.Join(f.Path(), e.Name())] = k
		}
	}
	return found, nil
}
