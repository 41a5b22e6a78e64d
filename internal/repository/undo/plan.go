package undo

import (
	"io/fs"
	"slices"

	"fika"
)

// Files gives access to the files of a turn's workspace. Paths have slashes and are
// relative to it; none of them leads through a link.
type Files interface {
	// Hash returns the SHA-256 of a file, or [Absent]. It fails for anything that
	// cannot be restored; the error says why.
	Hash(path string) (string, error)
	Read(path string) ([]byte, fs.FileMode, error)
	// Write replaces a file atomically, or does nothing. attempt is the same for each
	// attempt at the same change.
	Write(attempt, path string, content []byte, mode fs.FileMode) error
	// Remove deletes a file, and those of the folders that are then empty.
	Remove(path string, folders []string) error
}

// Action is what happens to a file.
type Action string

// The actions.
const (
	Restore Action = "restore" // its old content replaces the present one
	Create  Action = "create"  // it is created again
	Delete  Action = "delete"  // it is deleted: there was none
	Leave   Action = "leave"   // Why says why
	Done    Action = "done"    // an interrupted attempt has done it
)

// Item is what happens to one file.
type Item struct {
	Path string
	Do   Action
	Why  string // why it is left, or another remark
	From string // hash of the present content
	To   string // hash of the content to come

	mode fs.FileMode
	made []string
}

// Plan is what [Log.Apply] would do.
type Plan struct {
	Turn  Turn
	Redo  bool // the changes were undone and are made again
	Again bool // an interrupted attempt continues
	Items []Item
}

// operation is one attempt to undo changes, or to make them again.
type operation struct {
	ID    string    `json:"id"`
	Redo  bool      `json:"redo,omitempty"`
	Files []operand `json:"files"`
	end   *ending   // nil: it was interrupted
}

type operand struct {
	Path string      `json:"path"`
	From string      `json:"from"`
	To   string      `json:"to"`
	Was  fs.FileMode `json:"was,omitempty"`  // mode of From
	Mode fs.FileMode `json:"mode,omitempty"` // mode of To
	Made []string    `json:"made,omitempty"`
}

type ending struct {
	ID   string   `json:"id"`
	Done []string `json:"done"` // paths
	// Failed means that the disk refused something, so the next attempt continues.
	Failed bool `json:"failed,omitempty"`
}

// Open reports whether any item remains to be done.
func (p Plan) Open() bool {
	return slices.ContainsFunc(p.Items, func(i Item) bool { return i.Do != Leave && i.Do != Done })
}

// ItemsLeft returns the items that stay as they are.
func (p Plan) ItemsLeft() []Item {
	return slices.DeleteFunc(slices.Clone(p.Items), func(i Item) bool { return i.Do != Leave })
}

// Plan says what would happen to every file that a turn has changed: it gets back its
// content from before the turn or, when that has been done already, the content that
// the turn had made. A file that the turn did not leave as it is now is left alone.
func (l *Log) Plan(t Turn, files Files) Plan {
	p := Plan{Turn: t}
	if n := len(t.operations); n > 0 {
		switch last := t.operations[n-1]; {
		case last.end == nil || last.end.Failed:
			p.Redo, p.Again = last.Redo, true
			for _, o := range last.Files {
				p.Items = append(p.Items, l.goOn(o, files))
			}
			return p
		case !last.Redo && len(last.end.Done) > 0:
			p.Redo = true
			for _, o := range last.Files {
				if slices.Contains(last.end.Done, o.Path) {
					p.Items = append(p.Items, l.exchange(o.Path, o.To, o.From, o.Was, nil, files))
				}
			}
			return p
		}
	}
	for _, path := range t.paths() {
		p.Items = append(p.Items, l.back(t, path, files))
	}
	return p
}

// paths returns the files that a turn changed, in the order of their first changes.
func (t Turn) paths() []string {
	var out []string
	for _, e := range t.Edits {
		if !slices.Contains(out, e.Path) {
			out = append(out, e.Path)
		}
	}
	return out
}

// goOn returns what an interrupted attempt still has to do for a file.
func (l *Log) goOn(o operand, files Files) Item {
	if now, err := files.Hash(o.Path); err == nil && now == o.To {
		return Item{Path: o.Path, Do: Done, From: o.From, To: o.To, mode: o.Mode, made: o.Made}
	}
	return l.exchange(o.Path, o.From, o.To, o.Mode, o.Made, files)
}

// exchange returns the item that replaces one content with another, if the first is
// present and the second is kept.
func (l *Log) exchange(path, from, to string, mode fs.FileMode, made []string, files Files) Item {
	i := Item{Path: path, Do: Restore, From: from, To: to, mode: mode, made: made}
	switch now, err := files.Hash(path); {
	case err != nil:
		i.Do, i.Why = Leave, fika.ReasonOf(err)
	case now == Absent && from != Absent:
		i.Do, i.Why = Leave, "it has been deleted since"
	case now != from:
		i.Do, i.Why = Leave, "it has been changed since"
	case !l.keeps(to):
		i.Do, i.Why = Leave, "what was there is not kept any more"
	case to == Absent:
		i.Do = Delete
	case from == Absent:
		i.Do = Create
	}
	return i
}

// back follows the changes of one file backwards, as long as each began with what the
// one before had left.
func (l *Log) back(t Turn, path string, files Files) Item {
	now, err := files.Hash(path)
	if err != nil {
		return Item{Path: path, Do: Leave, Why: fika.ReasonOf(err)}
	}
	at := now
	var mode fs.FileMode
	var made []string
	why := ""
	for _, e := range slices.Backward(t.Edits) {
		switch {
		case e.Path != path:
		case why != "":
		case at == e.After && e.Lost:
			why = "what was there before was too large to be kept"
		case at == e.After:
			at, mode, made = e.Before, e.Mode, e.Made
		case at == e.Before: // the change was not made
		case at == now:
			why = "it has been changed since"
			if at == Absent {
				why = "it has been deleted since"
			}
		default:
			why = "somebody else changed it between two changes of this turn: what they made of it comes back"
		}
	}
	if at == now {
		if why == "" {
			why = "it is as it was"
		}
		return Item{Path: path, Do: Leave, Why: why}
	}
	i := l.exchange(path, now, at, mode, made, files)
	if i.Do != Leave {
		i.Why = why
	}
	return i
}
