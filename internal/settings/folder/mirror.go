package folder

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"fika"
	"fika/internal/system/crash"
)

// EntrySource reads the entries that the mirror copies. The store implements it through
// a small adapter in internal/worker.
type EntrySource interface {
	// Asks returns the agent's ask conversations, oldest first.
	Asks(context.Context) ([]AskHead, error)
	// EntriesAfter returns the entries of one conversation with seq > since, in order;
	// at most limit (0: no limit).
	EntriesAfter(ctx context.Context, c fika.ConversationID, since int64, limit int) ([]fika.Entry, error)
	// Compactions returns those of one conversation with seq <= upto, in order.
	Compactions(ctx context.Context, c fika.ConversationID, upto int64) ([]fika.Entry, error)
}

// AskHead is the state of an ask conversation.
type AskHead struct {
	ID      fika.ConversationID
	LastSeq int64
	Active  bool // true for at most one
	// ArchivedTo is the seq up to which entries may have been archived and removed.
	ArchivedTo int64
}

// Mirror keeps the plain-text copy of an agent's ask conversations in its folder:
// context.jsonl (the active one's window), transcript_archive.jsonl (everything else)
// and transcript.md (everything, for people). It is never the truth: its writes are not
// synced, and the next [OpenMirror] repairs whatever happens to them; so an error of a
// Mirror is a warning to a person and no reason to end a turn. It is safe for
// concurrent use.
type Mirror struct {
	mu     sync.Mutex
	lock   *Lock
	source EntrySource
	meta   *meta
	notes  []string
	dirty  bool // a write failed: the contents of the files are unknown
}

// OpenMirror brings the mirror of the locked folder up to date. If nothing has changed
// since it was last written, that takes one small read and three stats. Files that were
// cut off or lag behind are repaired; files that somebody edited are set aside and
// reported by [Mirror.TakeNotes].
func OpenMirror(ctx context.Context, lock *Lock, source EntrySource) (*Mirror, error) {
	m := &Mirror{lock: lock, source: source}
	f := lock.Folder()
	var err error
	if m.meta, err = f.readMeta(); err != nil {
		return nil, err
	}
	if err := m.Sync(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// MadeAt records when the context was made, if that was earlier than is known: a
// context from elsewhere keeps its age.
func (m *Mirror) MadeAt(at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.IsZero() || !at.Before(m.meta.CreatedAt) {
		return nil
	}
	if err := m.lock.Check(); err != nil {
		return err
	}
	m.meta.CreatedAt = at.UTC().Truncate(time.Second)
	return m.lock.Folder().writeMeta(m.meta)
}

// TakeNotes returns and clears what a person should know: which file was set aside, and
// why.
func (m *Mirror) TakeNotes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := m.notes
	m.notes = nil
	return notes
}

// Append adds entries that were just committed, including compactions. Entries that the
// mirror already has are skipped; if others are missing before them, or one belongs to
// a conversation that the mirror does not know, everything is fetched from the source,
// so the order and completeness of calls do not matter. Entries of chats and tasks are
// ignored.
func (m *Mirror) Append(ctx context.Context, entries ...fika.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var fresh []fika.Entry
	next := m.meta.Seen[m.meta.Active]
	for _, e := range entries {
		if e.Conversation != m.meta.Active || e.Seq > next+1 {
			return m.syncLocked(ctx)
		}
		if e.Seq == next+1 {
			fresh = append(fresh, e)
			next++
		}
	}
	if m.dirty || m.meta.Active == "" {
		return m.syncLocked(ctx)
	}
	if len(fresh) == 0 {
		return nil
	}
	err := m.guardChange(ctx, func(f Folder) error { return m.extendFiles(ctx, f, m.meta.Active, fresh) })
	if fika.IsKind(err, fika.Conflict) { // somebody is editing a file at this moment
		return m.syncLocked(ctx)
	}
	return err
}

// Sync compares the mirror's marks with the files and the source, and repairs what
// differs.
func (m *Mirror) Sync(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.syncLocked(ctx)
}

func (m *Mirror) syncLocked(ctx context.Context) error {
	return m.guardChange(ctx, func(f Folder) error { return m.repairFiles(ctx, f) })
}

// guardChange runs a change after checking the lock. After a failure only the files on
// disk are trusted, and the next change checks all of them.
func (m *Mirror) guardChange(ctx context.Context, change func(Folder) error) error {
	if err := ctx.Err(); err != nil {
		return fika.Wrap(fika.Interrupted, "write mirror", err)
	}
	if err := m.lock.Check(); err != nil {
		return err
	}
	f := m.lock.Folder()
	if m.dirty {
		var err error
		if m.meta, err = f.readMeta(); err != nil {
			return err
		}
	}
	err := change(f)
	m.dirty = err != nil
	return err
}

// extendFiles appends fresh entries of one conversation, which directly follow what was
// seen of it, to the files, then records that in the meta.
func (m *Mirror) extendFiles(ctx context.Context, f Folder, conv fika.ConversationID, fresh []fika.Entry) error {
	if err := m.appendEntries(f, transcriptName, fresh); err != nil {
		return err
	}
	name := contextName
	if conv != m.meta.Active {
		name = archiveName
	}
	for len(fresh) > 0 {
		n := 0
		for n < len(fresh) && !(fresh[n].Type == fika.Compaction && name == contextName) {
			n++
		}
		plain := fresh[:min(n+1, len(fresh))]
		if err := m.appendEntries(f, name, plain); err != nil {
			return err
		}
		m.meta.Seen[conv] = plain[len(plain)-1].Seq
		if n < len(fresh) {
			if err := m.compactFiles(ctx, f, fresh[n]); err != nil {
				return err
			}
		}
		fresh = fresh[len(plain):]
	}
	return f.writeMeta(m.meta)
}

// appendEntries appends entries to a mirror file.
func (m *Mirror) appendEntries(f Folder, name string, entries []fika.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var b bytes.Buffer
	var last []byte
	for _, e := range entries {
		var err error
		if last, err = pieceOf(name, e); err != nil {
			return err
		}
		b.Write(last)
	}
	return m.appendBytes(f, name, b.Bytes(), last, entries[len(entries)-1].Seq)
}

// appendBytes appends data to the file in one write, if the file ends where the mirror
// left it.
func (m *Mirror) appendBytes(f Folder, name string, data, last []byte, seq int64) error {
	op := "append to " + name
	file, err := os.OpenFile(f.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return fileError(op, f.path(name), err)
	}
	defer file.Close()
	before, err := file.Stat()
	if err != nil {
		return fileError(op, f.path(name), err)
	}
	if mark := m.meta.Files[name]; before.Size() != mark.Size {
		return fika.Errorf(fika.Conflict, op, "somebody changed the file meanwhile")
	}
	crash.Torn("mirror append", file, data)
	if _, err := file.Write(data); err != nil {
		return fileError(op, f.path(name), err)
	}
	st, err := file.Stat()
	if err != nil {
		return fileError(op, f.path(name), err)
	}
	m.meta.Files[name] = fileMark{
		LastSeq: seq, Size: st.Size(), MTime: st.ModTime().UnixNano(),
		LastLine: hashOf(last), LastSize: int64(len(last)),
	}
	return nil
}

// compactFiles moves what a compaction puts out of the window: the archive is appended
// first, then context.jsonl is replaced. If the compaction keeps entries that were
// archived before, or undoes another, both files are made anew from the source.
func (m *Mirror) compactFiles(ctx context.Context, f Folder, c fika.Entry) error {
	if c.Meta.Undo > 0 {
		return m.rewriteJSON(ctx, f)
	}
	if c.Meta.UpTo <= 0 {
		return nil
	}
	stay, kept := keptBy(c), 0
	each := func(stays bool, do func(fika.Entry) error) (bad int, err error) {
		return eachInFile(f.path(contextName), func(e fika.Entry) error {
			if stay(e.Seq) != stays {
				return nil
			}
			return do(e)
		})
	}
	bad, err := each(true, func(e fika.Entry) error {
		if e.Seq <= c.Meta.UpTo {
			kept++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if bad > 0 || kept < len(c.Meta.Kept) {
		return m.rewriteJSON(ctx, f)
	}
	var gone []fika.Entry
	if _, err := each(false, func(e fika.Entry) error {
		if gone = append(gone, e); len(gone) < page {
			return nil
		}
		err := m.appendEntries(f, archiveName, gone)
		gone = gone[:0]
		return err
	}); err != nil {
		return err
	}
	if err := m.appendEntries(f, archiveName, gone); err != nil {
		return err
	}
	return m.replaceFile(f, contextName, func(put func(fika.Entry, []byte) error) error {
		_, err := each(true, func(e fika.Entry) error {
			piece, err := entryLine(e)
			if err != nil {
				return err
			}
			return put(e, piece)
		})
		return err
	})
}

// rewriteJSON makes both JSON files anew from the source.
func (m *Mirror) rewriteJSON(ctx context.Context, f Folder) error {
	heads, err := m.source.Asks(ctx)
	if err != nil {
		return err
	}
	if err := m.rewriteFile(ctx, f, archiveName, heads); err != nil {
		return err
	}
	return m.rewriteFile(ctx, f, contextName, heads)
}

// rewriteFile makes a mirror file anew from the source, up to Seen.
func (m *Mirror) rewriteFile(ctx context.Context, f Folder, name string, heads []AskHead) error {
	r := rendering{source: m.source, heads: heads, active: m.meta.Active, upto: m.meta.Seen}
	return m.replaceFile(f, name, func(put func(fika.Entry, []byte) error) error { return r.eachPiece(ctx, name, put) })
}

// replaceFile replaces a mirror file by what each puts, and marks it.
func (m *Mirror) replaceFile(f Folder, name string, each func(put func(fika.Entry, []byte) error) error) error {
	var last []byte
	var seq int64
	err := swapFile(f.path(name), func(w io.Writer) error {
		buf := bufio.NewWriterSize(w, 64<<10)
		err := each(func(e fika.Entry, piece []byte) error {
			last, seq = piece, e.Seq
			_, err := buf.Write(piece)
			return err
		})
		return errors.Join(err, buf.Flush())
	})
	if err != nil {
		return err
	}
	mark, err := f.markOf(name)
	if err != nil {
		return err
	}
	mark.LastSeq, mark.LastLine, mark.LastSize = seq, hashOf(last), int64(len(last))
	m.meta.Files[name] = mark
	return nil
}

// setFileAside renames a file that was changed by others, and adds a note for the
// person.
func (m *Mirror) setFileAside(f Folder, name string) error {
	free, err := setAside(f.path(name), "edited", time.Now())
	if err != nil {
		return err
	}
	delete(m.meta.Files, name)
	m.notes = append(m.notes, name+" of context "+string(f.Name)+" holds what fika did not write: it is kept as "+free+", and written again")
	return nil
}
