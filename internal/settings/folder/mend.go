package folder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"

	"fika"
)

// page is how many entries are fetched at once.
const page = 500

// openRegular returns a function that opens a file for reading, and returns nil, nil if
// it is missing. It refuses anything but a regular file, so that a fifo cannot hang a
// prompt.
func openRegular(path string) func() (*os.File, error) {
	return func() (*os.File, error) {
		st, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fileError("read", path, err)
		}
		if !st.Mode().IsRegular() {
			return nil, fika.Errorf(fika.Invalid, "read", "%s is not a regular file: move it away", path)
		}
		file, err := os.Open(path)
		return file, fileError("read", path, err)
	}
}

// repairFiles works in two steps. First, every file that differs from what the mirror
// left is restored to the state that Seen describes; then the later entries of the
// source are appended. Either step may be interrupted anywhere.
func (m *Mirror) repairFiles(ctx context.Context, f Folder) error {
	heads, err := m.source.Asks(ctx)
	if err != nil {
		return err
	}
	if !m.knowsAll(heads) {
		m.meta.Seen, m.meta.Files, m.meta.From = map[fika.ConversationID]int64{}, map[string]fileMark{}, map[fika.ConversationID]int64{}
	}
	changed, err := m.restoreSeen(ctx, f, heads)
	if err != nil {
		return err
	}
	for _, h := range heads {
		more, err := m.catchUp(ctx, f, h)
		if err != nil {
			return err
		}
		changed = changed || more
	}
	if changed || m.meta.broken {
		m.meta.broken = false
		return f.writeMeta(m.meta)
	}
	return nil
}

// knowsAll reports whether the source still has everything that was seen: if not, the
// folder is from elsewhere, or the database was replaced.
func (m *Mirror) knowsAll(heads []AskHead) bool {
	last := make(map[fika.ConversationID]int64, len(heads))
	for _, h := range heads {
		last[h.ID] = h.LastSeq
	}
	for id, seq := range m.meta.Seen {
		if have, ok := last[id]; !ok || have < seq {
			return false
		}
	}
	return true
}

// restoreSeen restores the files to the state that Seen describes: a torn end of the
// transcript is cut off; a file that differs in another way is made anew, and set aside
// before if it holds what the source does not have.
func (m *Mirror) restoreSeen(ctx context.Context, f Folder, heads []AskHead) (changed bool, err error) {
	active := activeOf(heads)
	changed = active != m.meta.Active
	moved := changed && len(m.meta.Seen) > 0
	m.meta.Active = active
	lighter := m.meta.noteArchived(heads)
	changed = changed || lighter
	for _, name := range []string{transcriptName, contextName, archiveName} {
		right, err := m.isIntact(f, name)
		if err == nil && !right {
			changed = true
			right, err = m.makeRoom(ctx, f, name, heads)
		}
		if err != nil {
			return false, err
		}
		if right && !lighter && (!moved || name == transcriptName) {
			continue
		}
		if err := m.rewriteFile(ctx, f, name, heads); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// noteArchived notes up to where entries were archived, and reports whether the files still
// have some of them.
func (m *meta) noteArchived(heads []AskHead) (more bool) {
	for _, h := range heads {
		if h.ArchivedTo > m.From[h.ID] {
			m.From[h.ID] = h.ArchivedTo
			more = more || m.Seen[h.ID] > 0
		}
	}
	return more
}

// HasArchived reports whether the files of a context still have entries that were archived
// and removed from the source; the next [OpenMirror] writes them without.
func (f Folder) HasArchived(ctx context.Context, source EntrySource) (bool, error) {
	m, err := f.readMeta()
	if err != nil {
		return false, err
	}
	heads, err := source.Asks(ctx)
	return m.noteArchived(heads), err
}

// makeRoom handles a file that differs from what the mirror left. After it, either the
// file is right, or nothing is lost by rewriting it.
func (m *Mirror) makeRoom(ctx context.Context, f Folder, name string, heads []AskHead) (right bool, err error) {
	ours := false
	if name == transcriptName {
		if right, err = m.cutTornEnd(ctx, f, heads); right || err != nil {
			return right, err
		}
		ours, err = m.isOwnTranscript(ctx, f, heads)
	} else {
		ours, err = m.onlyOurs(ctx, f, name, heads)
	}
	if ours || err != nil {
		return false, err
	}
	return false, m.setFileAside(f, name)
}

// isIntact compares a file with its mark. Only the archive may be missing although
// entries have been seen.
func (m *Mirror) isIntact(f Folder, name string) (bool, error) {
	now, err := f.markOf(name)
	if err != nil {
		return false, err
	}
	mark, marked := m.meta.Files[name]
	if !marked && len(m.meta.Seen) > 0 && name != archiveName {
		return false, nil
	}
	return mark.isSame(now), nil
}

// catchUp appends the entries of the source after Seen.
func (m *Mirror) catchUp(ctx context.Context, f Folder, h AskHead) (changed bool, err error) {
	for m.meta.Seen[h.ID] < h.LastSeq {
		changed = true
		fresh, err := m.source.EntriesAfter(ctx, h.ID, m.meta.Seen[h.ID], page)
		if err != nil {
			return changed, err
		}
		if len(fresh) == 0 { // the last seqs have no entries
			m.meta.Seen[h.ID] = h.LastSeq
			break
		}
		if err := m.extendFiles(ctx, f, h.ID, fresh); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// onlyOurs reports whether every line of a JSON file is also in the source, complete or
// cut off at the end, so that replacing the file loses nothing.
func (m *Mirror) onlyOurs(ctx context.Context, f Folder, name string, heads []AskHead) (bool, error) {
	file, err := openRegular(f.path(name))()
	if file == nil || err != nil {
		return true, err
	}
	defer file.Close()
	strange := map[idKey]bool{}
	var tail []byte
	lines := newLineReader(file)
	for {
		l, err := lines.nextLine()
		if err == io.EOF {
			break
		}
		switch {
		case err != nil:
			return false, fileError("read "+name, f.path(name), err)
		case l.torn:
			tail = bytes.Clone(l.data)
		default:
			strange[lineKey(l)] = true
		}
	}
	tailKnown := tail == nil
	for _, h := range heads {
		err := eachEntry(ctx, m.source, h.ID, 0, h.LastSeq, func(e fika.Entry) error {
			own, err := entryLine(e)
			delete(strange, keyOfLine(bytes.TrimSpace(own)))
			tailKnown = tailKnown || bytes.HasPrefix(own, tail)
			return err
		})
		if err != nil {
			return false, err
		}
	}
	return tailKnown && len(strange) == 0, nil
}

// lineKey identifies a line by its bytes as fika writes them now, so that lines written
// by older versions are recognised.
func lineKey(l line) idKey {
	if e, reason := parseEntry(l); reason == "" && e.Seq > 0 {
		if own, err := entryLine(e); err == nil {
			return keyOfLine(bytes.TrimSpace(own))
		}
	}
	return keyOfLine(l.data)
}

func keyOfLine(data []byte) idKey {
	sum := sha256.Sum256(data)
	return idKey(sum[:16])
}
