package undo

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"fika"
	"fika/internal/system/process"
	"fika/internal/text/hint"
)

// Apply carries out what [Log.Plan] now says about a turn, and returns the plan with
// the result for every file. A file that changes in the meantime is left as it is, and
// so is one whose change fails. Apply fails with Conflict while another process runs
// it.
func (l *Log) Apply(id fika.RequestID, files Files) (Plan, error) {
	lock, err := l.lock()
	if err != nil {
		return Plan{}, err
	}
	defer lock.Close()
	t, err := l.ReadTurn(id)
	if err != nil {
		return Plan{}, err
	}
	p := l.Plan(t, files)
	var op operation
	if p.Again {
		op = t.operations[len(t.operations)-1]
	} else if op, err = l.begin(&p, files); err != nil {
		return p, err
	}
	done := ending{ID: op.ID}
	for n := range p.Items {
		i := &p.Items[n]
		if i.Do != Leave && i.Do != Done {
			done.Failed = fika.IsKind(l.apply(op.ID, i, files), fika.Storage) || done.Failed
		}
		if i.Do != Leave {
			done.Done = append(done.Done, i.Path)
		}
	}
	if op.ID == "" {
		return p, nil
	}
	return p, storage("undo", l.note(t, line{End: &done}))
}

// lock takes the lock of the log, which is held until the file is closed.
func (l *Log) lock() (*os.File, error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, fika.Wrap(fika.Storage, "undo", err)
	}
	f, err := os.OpenFile(filepath.Join(l.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "undo", err)
	}
	if err := process.LockFile(f); err != nil {
		f.Close()
		if errors.Is(err, process.ErrHeld) {
			return nil, fika.Errorf(fika.Conflict, "undo", "another %s is at work: wait for it", hint.Undo)
		}
		return nil, fika.Wrap(fika.Storage, "undo", err)
	}
	return f, nil
}

// begin stores the present contents, so that they can be restored, and records the
// operation. If there is nothing to do it records nothing and returns an operation
// without an id.
func (l *Log) begin(p *Plan, files Files) (operation, error) {
	op := operation{ID: rand.Text(), Redo: p.Redo}
	for n := range p.Items {
		i := &p.Items[n]
		if i.Do == Leave {
			continue
		}
		o := operand{Path: i.Path, From: i.From, To: i.To, Mode: i.mode, Made: i.made}
		if i.From != Absent {
			content, mode, err := files.Read(i.Path)
			switch {
			case err != nil:
				i.Do, i.Why = Leave, fika.ReasonOf(err)
				continue
			case sum(content) != i.From:
				i.Do, i.Why = Leave, "it has been changed since"
				continue
			}
			if _, err := l.put(bytes.NewReader(content)); err != nil {
				return op, storage("undo: keep what is there; nothing was changed", err)
			}
			if o.Was = mode.Perm(); i.Do == Restore && i.mode == 0 {
				o.Mode = o.Was
			}
		}
		op.Files = append(op.Files, o)
	}
	if len(op.Files) == 0 {
		return operation{}, nil
	}
	return op, storage("undo: note what will be done; nothing was changed", l.note(p.Turn, line{Begin: &op}))
}

// apply carries out one item; on an error it turns the item into one that is left and
// returns the error.
func (l *Log) apply(attempt string, i *Item, files Files) error {
	now, err := files.Hash(i.Path)
	switch {
	case err != nil:
	case now != i.From:
		err = fika.Errorf(fika.Conflict, "undo", "it has been changed since")
	case i.Do == Delete:
		err = files.Remove(i.Path, slices.Clone(i.made))
	default:
		var content []byte
		if content, err = l.Content(i.To); err == nil {
			err = files.Write(attempt, i.Path, content, i.mode)
		}
	}
	if err != nil {
		i.Do, i.Why = Leave, fika.ReasonOf(err)
	}
	return err
}
