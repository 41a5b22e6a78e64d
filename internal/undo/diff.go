package undo

import "fmt"

// Difference is what a turn has made of one file.
type Difference struct {
	Path          string
	Before, After []byte // nil: there is no file
	Note          string // why this is not all there is to say
}

// Differences tells what a turn has made of its files: what was there before it,
// and what is there now or, where that was taken back, what it had made.
func (l *Log) Differences(t Turn, files Files) []Difference {
	p := l.Plan(t, files)
	var out []Difference
	for _, i := range p.Items {
		d := Difference{Path: i.Path, Note: i.Why}
		from, to := i.To, i.From // of a plan to take it back
		if p.Redo {
			from, to = to, from
			d.Note = "taken back"
		}
		if i.Do == Leave {
			from, to, d.Note = t.first(i.Path), "", i.Why
		}
		var err error
		if d.Before, err = l.contentOf(from, i.Path, files); err != nil {
			d.Note = message(err)
		} else if d.After, err = l.contentOf(to, i.Path, files); err != nil {
			d.Note = message(err)
		}
		if err != nil {
			d.Before, d.After = nil, nil
		}
		out = append(out, d)
	}
	return out
}

// first is the hash of what was there before the first change of a file.
func (t Turn) first(path string) string {
	for _, e := range t.Edits {
		if e.Path == path {
			return e.Before
		}
	}
	return Absent
}

// contentOf is what is kept under a hash, or what is there if it is that, or if
// the hash is empty.
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

// Commands sums up what is known of the commands of a turn: the files they have
// changed beside those of the file tools, and what is not known.
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
