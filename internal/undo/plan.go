package undo

import (
	"io/fs"
	"slices"

	"fika"
)

// Files are the files of the workspace of a turn. Paths have slashes and are below
// it; none of them leads through a link.
type Files interface {
	// Hash is the SHA-256 of a file, [Absent], or something else for what is no
	// file that can be restored; the error says why.
	Hash(path string) (string, error)
	Read(path string) ([]byte, fs.FileMode, error)
	// Write puts a file there as a whole, or does nothing. attempt is the same for
	// each attempt at the same change.
	Write(attempt, path string, content []byte, mode fs.FileMode) error
	// Remove deletes a file, and those of the folders that are empty then.
	Remove(path string, folders []string) error
}

// Action is what becomes of a file.
type Action string

// The actions.
const (
	Restore Action = "restore" // it gets another content
	Create  Action = "create"  // it comes back
	Delete  Action = "delete"  // it goes: there was none
	Leave   Action = "leave"   // Why says why
	Done    Action = "done"    // an interrupted attempt has done it
)

// Item is what becomes of one file.
type Item struct {
	Path string
	Do   Action
	Why  string // it is left; or what else is to be known
	From string // hash of what is there
	To   string // hash of what will be there

	mode fs.FileMode
	made []string
}

// Plan is what [Log.Apply] would do.
type Plan struct {
	Turn  Turn
	Redo  bool // the changes are made again: they had been taken back
	Again bool // an attempt was interrupted, and goes on
	Items []Item
}

// operation is one attempt at taking changes back, or at making them again.
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
	// Failed: the disk refused something, so the next attempt goes on.
	Failed bool `json:"failed,omitempty"`
}

// Open reports whether something of a plan remains to be done.
func (p Plan) Open() bool {
	return slices.ContainsFunc(p.Items, func(i Item) bool { return i.Do != Leave && i.Do != Done })
}

// ItemsLeft are the items that stay as they are.
func (p Plan) ItemsLeft() []Item {
	return slices.DeleteFunc(slices.Clone(p.Items), func(i Item) bool { return i.Do != Leave })
}

// Plan says what would become of every file that a turn has changed: they get
// back what was there before the turn, or, when that was done already, what the
// turn had made of them. A file that is not what the turn left is left alone.
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

// paths are the files that a turn has changed, in the order in which it began to.
func (t Turn) paths() []string {
	var out []string
	for _, e := range t.Edits {
		if !slices.Contains(out, e.Path) {
			out = append(out, e.Path)
		}
	}
	return out
}

// goOn is what an interrupted attempt has left to do for a file.
func (l *Log) goOn(o operand, files Files) Item {
	if now, err := files.Hash(o.Path); err == nil && now == o.To {
		return Item{Path: o.Path, Do: Done, From: o.From, To: o.To, mode: o.Mode, made: o.Made}
	}
	return l.exchange(o.Path, o.From, o.To, o.Mode, o.Made, files)
}

// exchange is the item that replaces one content with another, if the first is
// there and the other is kept.
func (l *Log) exchange(path, from, to string, mode fs.FileMode, made []string, files Files) Item {
	i := Item{Path: path, Do: Restore, From: from, To: to, mode: mode, made: made}
	switch now, err := files.Hash(path); {
	case err != nil:
		i.Do, i.Why = Leave, message(err)
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

// back follows the changes of one file backwards, as far as each began with what
// the one before it left.
func (l *Log) back(t Turn, path string, files Files) Item {
	now, err := files.Hash(path)
	if err != nil {
		return Item{Path: path, Do: Leave, Why: message(err)}
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
		case at == e.Before: // it was not made
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

func message(err error) string {
	if e, ok := err.(*fika.Error); ok && e.Msg != "" {
		return e.Msg
	}
	return err.Error()
}
