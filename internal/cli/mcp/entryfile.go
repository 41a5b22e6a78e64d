package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"fika"
)

// errPresent is the error for an entry that is there already, as it would be written.
var errPresent = errors.New("it is there already")

// addEntry writes something into a file of settings of another program. change makes the
// new text from the old one, which is empty if there is no file. The file is replaced in
// one step and keeps its mode; one that is a link is written where the link leads. It
// reports whether the file was changed.
func addEntry(file string, change func([]byte) ([]byte, error)) (bool, error) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	mode := fs.FileMode(0o600)
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return false, fika.Wrap(fika.Storage, "", err)
		}
	case err != nil:
		return false, fika.Wrap(fika.Storage, "", err)
	default:
		info, err := os.Stat(file)
		if err != nil {
			return false, fika.Wrap(fika.Storage, "", err)
		}
		mode = info.Mode().Perm()
	}
	next, err := change(text)
	if errors.Is(err, errPresent) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, fika.Wrap(fika.Storage, "", renameio.WriteFile(file, next, mode, renameio.WithExistingPermissions()))
}

// jsonEntry returns a change for [addEntry] that adds value as name to the object table
// of a JSON file. All else in the file stays as it is. It fails with Invalid for a file
// that is not plain JSON, and with Conflict if another value has that name.
func jsonEntry(file, table, name string, value any) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		if len(bytes.TrimSpace(text)) == 0 {
			text = []byte("{}\n")
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil || all == nil {
			return nil, fika.Errorf(fika.Invalid, "", "%s is not plain JSON: add the entry by hand", file)
		}
		var entries map[string]json.RawMessage
		if raw, ok := all[table]; ok {
			if err := json.Unmarshal(raw, &entries); err != nil || entries == nil {
				return nil, fika.Errorf(fika.Invalid, "", "%s in %s is not an object: add the entry by hand", table, file)
			}
		}
		entry, err := json.MarshalIndent(value, "    ", "  ")
		if err != nil {
			return nil, err
		}
		if old, ok := entries[name]; ok {
			if sameJSON(old, entry) {
				return nil, errPresent
			}
			return nil, fika.Errorf(fika.Conflict, "", "%s has another %q in %s: change it by hand", file, name, table)
		}
		piece := append([]byte("\n    "+quoteJSON(name)+": "), entry...)
		empty := len(entries) == 0
		if entries == nil {
			piece = append(append([]byte("\n  "+quoteJSON(table)+": {"), piece...), "\n  }"...)
			return insert(text, bodyOf(text, ""), piece, len(all) == 0, "\n"), nil
		}
		return insert(text, bodyOf(text, table), piece, empty, "\n  "), nil
	}
}

// insert puts a member at the beginning of an object. last is what stands before the end
// of an object that was empty.
func insert(text []byte, at int, piece []byte, empty bool, last string) []byte {
	tail := ","
	if empty {
		tail = last
	}
	out := append([]byte{}, text[:at]...)
	out = append(append(out, piece...), tail...)
	rest := text[at:]
	if empty {
		rest = bytes.TrimLeft(rest, " \t\r\n")
	}
	return append(out, rest...)
}

// bodyOf returns where the members of an object begin: of the whole text, or of the
// member with a name. The text is known to be such an object.
func bodyOf(text []byte, name string) int {
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // {
	if name == "" {
		return int(d.InputOffset())
	}
	at := 0
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		if key == name {
			before := d.InputOffset()
			at = int(before) + bytes.IndexByte(text[before:], '{') + 1
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			break
		}
	}
	return at // the last of that name counts, as it does when it is read
}

func quoteJSON(s string) string {
	out, _ := json.Marshal(s) // of a string it cannot fail
	return string(out)
}

// sameJSON reports whether two texts hold the same value.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, _ := json.Marshal(x)
	two, _ := json.Marshal(y)
	return bytes.Equal(one, two)
}
