package undo

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fika"
)

// Absent is the hash of a file that does not exist.
const Absent = "absent"

// maxKept is the size, in bytes, above which a file's content is not kept.
const maxKept = 64 << 20

// Log records changes and the contents before them. It is safe for concurrent use by
// goroutines and processes; only one [Log.Apply] runs at a time.
type Log struct {
	dir string
	now func() time.Time
}

// Open returns the log in a folder, which need not exist yet.
func Open(dir string, now func() time.Time) *Log { return &Log{dir: dir, now: now} }

// Turn is what one request changed.
type Turn struct {
	Request   fika.RequestID `json:"request"`
	Agent     fika.AgentName `json:"agent"`
	Workspace string         `json:"workspace"`
	Edits     []Edit         `json:"-"`
	Ran       []Ran          `json:"-"`
	Last      time.Time      `json:"-"` // when it was last added to

	operations []operation
}

// Undone returns how often the changes were undone or redone, as far as that ended.
func (t Turn) Undone() (n int) {
	for _, op := range t.operations {
		if op.end != nil {
			n++
		}
	}
	return n
}

// Edit is one change of one file, recorded before it was made.
type Edit struct {
	Step   string      `json:"step"`
	Path   string      `json:"path"` // relative to the workspace, without links
	Before string      `json:"before"`
	After  string      `json:"after"`
	Mode   fs.FileMode `json:"mode,omitempty"` // before the change
	Made   []string    `json:"made,omitempty"` // folders created for the file, the deepest first
	Lost   bool        `json:"lost,omitempty"` // the old content was too large to be kept
	At     time.Time   `json:"at"`
}

// Ran records that commands ran in a turn, and what is known of their changes. A Ran
// with Begins set is followed by one without it, unless the process was killed.
type Ran struct {
	Begins  bool     `json:"begins,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Moved   bool     `json:"moved,omitempty"`   // another commit is checked out
	Unknown string   `json:"unknown,omitempty"` // why their changes are not known
}

// line is one line of a turn's file; exactly one field is set.
type line struct {
	Turn  *Turn      `json:"turn,omitempty"`
	Edit  *Edit      `json:"edit,omitempty"`
	Ran   *Ran       `json:"ran,omitempty"`
	Begin *operation `json:"begin,omitempty"`
	End   *ending    `json:"end,omitempty"`
}

// Change is a change about to be made.
type Change struct {
	Step   string
	Path   string
	Before io.Reader // nil: no file
	Size   int64     // of Before
	Mode   fs.FileMode
	After  []byte
	Made   []string
}

// KeepBefore stores the present content and records the change. Error kinds: Storage,
// Invalid for a path that is not UTF-8. On an error the change must not be made.
func (l *Log) KeepBefore(t Turn, c Change) error {
	if !utf8.ValidString(c.Path) {
		return fika.Errorf(fika.Invalid, "undo", "%q is not UTF-8, so what is there cannot be kept for undo: change it with a command", c.Path)
	}
	e := Edit{Step: c.Step, Path: filepath.ToSlash(c.Path), Before: Absent, After: sum(c.After), Made: c.Made, At: l.now()}
	if c.Before != nil {
		e.Mode = c.Mode.Perm()
		if e.Lost = c.Size > maxKept; !e.Lost {
			var err error
			if e.Before, err = l.put(c.Before); err != nil {
				return storage("keep what is there for undo", err)
			}
		}
	}
	return storage("keep what is there for undo", l.note(t, line{Edit: &e}))
}

// Commands records that commands begin to run, or have run.
func (l *Log) Commands(t Turn, r Ran) error {
	return storage("note what commands did", l.note(t, line{Ran: &r}))
}

func storage(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *fika.Error
	if errors.As(err, &known) {
		return err
	}
	return fika.Wrap(fika.Storage, op, err)
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

func (l *Log) turnFile(id fika.RequestID) string {
	return filepath.Join(l.dir, "turns", string(id)+".jsonl")
}

func (l *Log) objectFile(hash string) string {
	return filepath.Join(l.dir, "objects", hash[:2], hash)
}

// note appends a line to the file of a turn and syncs it. It first ends a line that a
// crash cut short.
func (l *Log) note(t Turn, n line) error {
	path := l.turnFile(t.Request)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var text []byte
	if info.Size() == 0 {
		text = encode(line{Turn: &t})
	} else {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			text = []byte("\n")
		}
	}
	if _, err := f.Write(append(text, encode(n)...)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || info.Size() > 0 {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func encode(n line) []byte {
	raw, err := json.Marshal(n)
	if err != nil { // strings, numbers and times
		return []byte("{}\n")
	}
	return append(raw, '\n')
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// put stores a content and returns its hash.
func (l *Log) put(content io.Reader) (string, error) {
	if err := os.MkdirAll(filepath.Join(l.dir, "objects"), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Join(l.dir, "objects"), "new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), content)
	hash := hex.EncodeToString(h.Sum(nil))
	path := l.objectFile(hash)
	if now := l.now(); err == nil && os.Chtimes(path, now, now) == nil { // it exists already, and is kept
		return hash, f.Close()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return "", err
	}
	return hash, syncFolder(filepath.Dir(path))
}

// Content returns the content kept under a hash. It fails with NotFound when none is
// kept and with Storage when it is damaged.
func (l *Log) Content(hash string) ([]byte, error) {
	if len(hash) != sha256.Size*2 {
		return nil, fika.Errorf(fika.NotFound, "undo", "nothing is kept of it")
	}
	content, err := os.ReadFile(l.objectFile(hash))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fika.Errorf(fika.NotFound, "undo", "it is not kept any more")
	case err != nil:
		return nil, fika.Wrap(fika.Storage, "undo", err)
	case sum(content) != hash:
		return nil, fika.Errorf(fika.Storage, "undo", "what is kept of it is damaged")
	}
	return content, nil
}

func (l *Log) keeps(hash string) bool {
	if len(hash) != sha256.Size*2 {
		return hash == Absent
	}
	info, err := os.Lstat(l.objectFile(hash))
	return err == nil && info.Mode().IsRegular()
}

// Requests returns the requests that changed something or ran commands, the most
// recently recorded first.
func (l *Log) Requests() ([]fika.RequestID, error) {
	entries, err := os.ReadDir(filepath.Join(l.dir, "turns"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "undo", err)
	}
	type dated struct {
		id fika.RequestID
		at time.Time
	}
	var list []dated
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if info, err := e.Info(); ok && err == nil {
			list = append(list, dated{fika.RequestID(name), info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b dated) int { return b.at.Compare(a.at) })
	ids := make([]fika.RequestID, len(list))
	for i, d := range list {
		ids[i] = d.id
	}
	return ids, nil
}

// ReadTurn returns what one request changed. It fails with NotFound when nothing is
// kept of it.
func (l *Log) ReadTurn(id fika.RequestID) (Turn, error) {
	f, err := os.Open(l.turnFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return Turn{}, fika.Errorf(fika.NotFound, "undo", "nothing is kept of what request %s changed", id)
	}
	if err != nil {
		return Turn{}, fika.Wrap(fika.Storage, "undo", err)
	}
	defer f.Close()
	t := Turn{Request: id}
	r := bufio.NewReader(f)
	for {
		raw, err := r.ReadBytes('\n')
		var n line
		// A line that was cut short belongs to a change that was not made.
		if json.Unmarshal(bytes.TrimSpace(raw), &n) == nil {
			t.add(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Turn{}, fika.Wrap(fika.Storage, "undo", err)
		}
	}
	if info, err := f.Stat(); err == nil {
		t.Last = info.ModTime()
	}
	return t, nil
}

// LastChange returns when the last file was changed, or the zero time if none was.
func (t Turn) LastChange() time.Time {
	if len(t.Edits) == 0 {
		return time.Time{}
	}
	return t.Edits[len(t.Edits)-1].At
}

func (t *Turn) add(n line) {
	switch {
	case n.Turn != nil:
		t.Agent, t.Workspace = n.Turn.Agent, n.Turn.Workspace
	case n.Edit != nil:
		// A step repeated after a crash counts as one.
		t.Edits = slices.DeleteFunc(t.Edits, func(e Edit) bool { return e.Step == n.Edit.Step && e.Before == n.Edit.Before && e.Path == n.Edit.Path })
		t.Edits = append(t.Edits, *n.Edit)
	case n.Ran != nil:
		t.Ran = append(t.Ran, *n.Ran)
	case n.Begin != nil:
		t.operations = append(t.operations, *n.Begin)
	case n.End != nil && len(t.operations) > 0:
		t.operations[len(t.operations)-1].end = n.End
	}
}
