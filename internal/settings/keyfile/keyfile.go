package keyfile

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/system/process"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

const op = "keys"

// maxValue is the most bytes of a key: anything longer is some other file.
const maxValue = 16 << 10

// File is a file of keys. It is safe for concurrent use by goroutines and processes;
// changes are made under a lock file beside it.
type File struct {
	path string
}

// Open returns the File at path. It reads nothing yet; a file that does not exist
// holds no keys.
func Open(path string) File { return File{path} }

// Key is a stored key without its value.
type Key struct {
	Name  string
	Hosts []string // the only hosts that get it; empty: not used yet
	Set   time.Time
}

// stored is a key as it is in the file.
type stored struct {
	Value string    `json:"value"`
	Hosts []string  `json:"hosts,omitempty"`
	Set   time.Time `json:"set"`
	Login *Login    `json:"login,omitempty"` // nil: it is a key
}

// Use returns the value of a key for a host, and binds a key that is not bound yet to
// that host. Error kinds: NotFound, Denied (bound to other hosts, or the file can be
// read by others), Locked, Storage, Invalid (the file is damaged).
func (f File) Use(name, host string) (string, error) {
	keys, err := f.read()
	if err != nil {
		return "", err
	}
	k, ok := keys[name]
	switch {
	case !ok || k.Login != nil:
		return "", notStored(name)
	case slices.Contains(k.Hosts, host):
		return k.Value, nil
	case len(k.Hosts) > 0:
		return "", fika.Errorf(fika.Denied, op, "the key %s is stored for %s and is not given to %s; %s stores it for that host", name, strings.Join(k.Hosts, ", "), host, hint.KeySetHost.With(name, host))
	}
	err = f.change(func(keys map[string]stored) error {
		k, ok = keys[name]
		if !ok {
			return notStored(name)
		}
		k.Hosts = []string{host}
		keys[name] = k
		return nil
	})
	return k.Value, err
}

// Has reports whether a key is stored.
func (f File) Has(name string) bool {
	keys, err := f.read()
	_, ok := keys[name]
	return ok && err == nil
}

func notStored(name string) error {
	return fika.WithHint(fika.Errorf(fika.NotFound, op, "key %q not found", name), hint.KeyList.With())
}

// Values returns the stored keys and the secrets of logins by name, for redaction.
func (f File) Values() map[string]string {
	keys, _ := f.read()
	values := make(map[string]string, len(keys))
	for name, k := range keys {
		if k.Login == nil {
			values[name] = k.Value
			continue
		}
		for what, value := range k.Login.secrets() {
			values[what+" of "+strings.TrimPrefix(name, loginPrefix)] = value
		}
	}
	return values
}

// Set stores a key, replacing one of the same name. It fails with Invalid when the
// value cannot be a key.
func (f File) Set(name, value string, hosts []string, now time.Time) error {
	switch {
	case value == "":
		return fika.Errorf(fika.Invalid, op, "the key is empty: give it on stdin, as in: %s < FILE", hint.KeySet.With(name))
	case len(value) > maxValue:
		return fika.Errorf(fika.Invalid, op, "that is longer than %d bytes, and no key", maxValue)
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return fika.Errorf(fika.Invalid, op, "a key is one word; what was given has spaces, several lines or control characters")
	}
	return f.change(func(keys map[string]stored) error {
		keys[name] = stored{Value: value, Hosts: hosts, Set: now.UTC()}
		return nil
	})
}

// Remove removes a key. It fails with NotFound when the key is not stored.
func (f File) Remove(name string) error {
	return f.change(func(keys map[string]stored) error {
		if _, ok := keys[name]; !ok {
			return notStored(name)
		}
		delete(keys, name)
		return nil
	})
}

// List returns the stored keys sorted by name, without their values and without logins.
func (f File) List() ([]Key, error) {
	keys, err := f.read()
	list := make([]Key, 0, len(keys))
	for name, k := range keys {
		if k.Login != nil {
			continue
		}
		list = append(list, Key{Name: name, Hosts: k.Hosts, Set: k.Set})
	}
	slices.SortFunc(list, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// read returns the content of the file. It refuses a file that others may read, that
// is not regular, or that is damaged.
func (f File) read() (map[string]stored, error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]stored{}, nil
	case err != nil:
		return nil, fika.Wrap(fika.Storage, op, err)
	case !info.Mode().IsRegular():
		return nil, fika.Errorf(fika.Invalid, op, "%s is not a regular file: move it away", f.path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fika.Errorf(fika.Denied, op, "%s can be read by others (mode %o): chmod 600 %s", f.path, info.Mode().Perm(), f.path)
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	keys := map[string]stored{}
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, fika.Errorf(fika.Invalid, op, "%s is damaged (it is not JSON): move it away and store the keys again with %s", f.path, hint.KeySet.With()) // the cause may quote a key
	}
	return keys, nil
}

// change edits the file atomically, under the lock.
func (f File) change(edit func(map[string]stored) error) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	lock, err := f.lock()
	if err != nil {
		return err
	}
	defer lock.Close() // closing it releases the lock
	keys, err := f.read()
	if err != nil {
		return err
	}
	if err := edit(keys); err != nil {
		return err
	}
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return fika.Wrap(fika.Failed, op, err)
	}
	return fika.Wrap(fika.Storage, op, renameio.WriteFile(f.path, append(data, '\n'), 0o600))
}

// patience is how long a change waits for that of another process, which only replaces
// a small file under the lock.
const patience = 2 * time.Second

// lock takes the lock beside the file. It fails with Locked when another process holds
// it for longer than patience.
func (f File) lock() (*os.File, error) {
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = process.LockFile(lock)
	for errors.Is(err, process.ErrHeld) && sleep.For(ctx, 10*time.Millisecond) == nil {
		err = process.LockFile(lock)
	}
	if err == nil {
		return lock, nil
	}
	_ = lock.Close()
	if errors.Is(err, process.ErrHeld) {
		return nil, fika.Errorf(fika.Locked, op, "another process has been changing %s for %s: try again (fuser %s.lock tells which)", f.path, patience, f.path)
	}
	return nil, fika.Wrap(fika.Storage, op, err)
}
