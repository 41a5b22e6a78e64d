package undo

import (
	"fmt"

	"fika"
)

// Difference is what a turn did to one file.
type Difference struct {
	Path          string
	Before, After []byte // nil: no file
	Note          string // why the rest is not the whole story
}

// Differences returns what a turn did to its files: the contents before the turn and
// those now or, where the change was undone, those that the turn had made.
func (l *Log) Differences(t Turn, files Files) []Difference {
	p := l.Plan(t, files)
	var out []Difference
	for _, i := range p.Items {
		d := Difference{Path: i.Path, Note: i.Why}
		from, to := i.To, i.From // of a plan to undo it
		if p.Redo {
			from, to = to, from
			d.Note = "taken back"
		}
		if i.Do == Leave {
			from, to, d.Note = t.first(i.Path), "", i.Why
		}
		var err error
		if d.Before, err = l.contentOf(from, i.Path, files); err != nil {
			d.Note = fika.ReasonOf(err)
		} else if d.After, err = l.contentOf(to, i.Path, files); err != nil {
			d.Note = fika.ReasonOf(err)
		}
		if err != nil {
			d.Before, d.After = nil, nil
		}
		out = append(out, d)
	}
	return out
}

// first returns the hash of a file before the turn's first change.
func (t Turn) first(path string) string {
	for _, e := range t.Edits {
		if e.Path == path {
			return e.Before
		}
	}
	return Absent
}

// contentOf returns the content kept under a hash. It reads the file itself if that
// has the hash or if the hash is empty.
func (l *Log) contentOf(hash, path string, files Files) ([]byte, error) {
	if hash == Absent {
		return nil, nil
	}
	if now, err := files.Hash(path); err != nil {
		return nil, err
	} else if hash == "" || now == hash {
		if now == Absent {
			return nil, nil
		}
		content, _, err := files.Read(path)
		return content, err
	}
	content, err := l.Content(hash)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}

// Commands summarises what is known of the commands of a turn: the files that they
// changed, without those of the file tools, and notes about what is not known.
func (t Turn) Commands() (ran bool, changed []string, notes []string) {
	open := false
	for _, r := range t.Ran {
		if r.Begins {
			if open {
				notes = appendNew(notes, "the turn was interrupted, so it is not known what they changed")
			}
			ran, open = true, true
			continue
		}
		open = false
		for _, path := range r.Changed {
			if !t.edited(path) {
				changed = appendNew(changed, path)
			}
		}
		if r.Moved {
			notes = appendNew(notes, "another commit is checked out since")
		}
		if r.Unknown != "" {
			notes = appendNew(notes, "what they changed is not known: "+r.Unknown)
		}
	}
	if open {
		notes = appendNew(notes, "the turn was interrupted, so it is not known what they changed")
	}
	return ran, changed, notes
}

func (t Turn) edited(path string) bool {
	for _, e := range t.Edits {
		if e.Path == path {
			return true
		}
	}
	return false
}

func appendNew(list []string, s string) []string {
	for _, x := range list {
		if x == s {
			return list
		}
	}
	return append(list, s)
}
