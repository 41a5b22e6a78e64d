package folder

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fika"
	"fika/internal/system/process"
)

// maxText bounds a text that goes into a prompt.
const maxText = 4 << 20

// TextKind names one of the texts of a context that a person edits.
type TextKind string

// The texts.
const (
	SystemPrompt TextKind = "system_prompt"
	Summary      TextKind = "summary"
	Todos        TextKind = "todos"
	Goals        TextKind = "goals"
	Reflection   TextKind = "reflection"
)

// TextKinds returns all text kinds, in the order they are shown.
func TextKinds() []TextKind { return []TextKind{SystemPrompt, Summary, Todos, Goals, Reflection} }

// Hash identifies the content of a file at the moment it was read. The empty hash means
// that there was no file.
type Hash string

// Text is the content of a file, with the hash to pass to WriteIf.
type Text struct {
	Body    string // valid UTF-8, without byte order mark; "" if there is no file
	Hash    Hash
	Changed time.Time // when the file was last written; zero if there is none
}

// TextPath returns the path of a text.
func (f Folder) TextPath(k TextKind) string { return f.path(string(k) + ".md") }

// Read returns a text; a missing file is an empty Text and no error. Error kinds:
// Invalid (too large, not a file), Storage.
func (f Folder) Read(k TextKind) (Text, error) {
	if err := checkKind(k); err != nil {
		return Text{}, err
	}
	return f.Home.readText(f.TextPath(k))
}

// Write replaces a text regardless of its content, for text that a person asked to
// write.
func (f Folder) Write(k TextKind, body string) error {
	if err := checkKind(k); err != nil {
		return err
	}
	return withDir(f.Path(), func() error { return replaceFile(f.TextPath(k), []byte(body), nil) })
}

// WriteIf replaces a text if the file is still the one that seen identifies, so that
// nothing a person wrote meanwhile is overwritten unread. It returns the text as
// written. It returns Conflict if somebody else changed the file: then it must be read
// again.
func (f Folder) WriteIf(k TextKind, seen Hash, body string) (Text, error) {
	if err := checkKind(k); err != nil {
		return Text{}, err
	}
	return writeTextIf(f.TextPath(k), seen, body)
}

func checkKind(k TextKind) error {
	switch k {
	case SystemPrompt, Summary, Todos, Goals, Reflection:
		return nil
	}
	return fika.Errorf(fika.Invalid, "text", "text %q not found in a context", string(k))
}

func readText(path string) (Text, error) {
	data, err := readCapped(path, maxText)
	if err != nil || data == nil {
		return Text{}, err
	}
	body := bytes.TrimPrefix(data, []byte("\ufeff"))
	t := Text{Body: strings.ToValidUTF8(string(body), "\ufffd"), Hash: Hash(hashOf(data))}
	if st, err := os.Stat(path); err == nil {
		t.Changed = st.ModTime()
	}
	return t, nil
}

func writeTextIf(path string, seen Hash, body string) (Text, error) {
	if len(body) > maxText {
		return Text{}, tooLarge(path, int64(len(body)), maxText)
	}
	next := Text{Body: body, Hash: Hash(hashOf([]byte(body)))}
	result := next
	err := withDir(filepath.Dir(path), func() error {
		same := errors.New("written already")
		err := replaceFile(path, []byte(body), func() error {
			now, err := readText(path)
			switch {
			case err != nil:
				return err
			case now.Hash == next.Hash:
				return same
			case now.Hash != seen:
				result = now
				return fika.Errorf(fika.Conflict, "write "+filepath.Base(path), "%s was changed meanwhile: read it again and apply the change to what it says now", path)
			}
			return nil
		})
		if errors.Is(err, same) {
			return nil
		}
		return err
	})
	return result, err
}

// withDir runs do while no other process of fika does the same in dir. The lock is held
// for one small write, so waiting is short; a holder that was suspended in the middle
// is not waited for.
func withDir(dir string, do func() error) error {
	d, err := os.Open(dir)
	if err != nil {
		return fileError("write text", dir, err)
	}
	defer d.Close()
	return whileLocked(d, dir, do)
}

// whileLocked runs do while a file or folder is locked.
func whileLocked(d *os.File, dir string, do func() error) error {
	const patience = 3 * time.Second
	for deadline := time.Now().Add(patience); ; {
		err := flockExclusive(d)
		if err == nil {
			break
		}
		if !errors.Is(err, process.ErrHeld) {
			return fileError("write text", dir, err)
		}
		if time.Now().After(deadline) {
			return fika.Errorf(fika.Locked, "write text", "another process is writing in %s and does not finish", dir)
		}
		time.Sleep(2 * time.Millisecond)
	}
	defer func() { _ = process.UnlockFile(d) }()
	return do()
}

// Take writes a text that was another folder's. One that says something else is first set
// aside in the same folder, under a name that says why.
func (f Folder) Take(k TextKind, body, why string) error {
	now, err := f.Read(k)
	if err != nil || now.Hash == HashOf(body) {
		return err
	}
	if now.Hash != "" {
		if _, err := setAside(f.TextPath(k), why, time.Now()); err != nil {
			return err
		}
	}
	return f.Write(k, body)
}

// HashOf returns the hash of a file that says body.
func HashOf(body string) Hash { return Hash(hashOf([]byte(body))) }
