package chatfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/store"
	"fika/internal/text/hint"
	"fika/internal/text/safetext"
)

// Source is where chats are read from.
type Source interface {
	ListConversations(context.Context, store.ConversationFilter) ([]store.ConversationInfo, error)
	Entries(context.Context, store.EntryQuery) ([]fika.Entry, error)
	DeletedChat(context.Context, fika.ConversationID) (fika.ConversationName, error)
}

// Keeper writes the files of all chats into one folder.
type Keeper struct {
	dir    string
	source Source
	now    func() time.Time
	state  map[fika.ConversationID]written // nil: not yet read
}

// written records how far the file of a chat has been written.
type written struct {
	Name     fika.ConversationName `json:"name"`
	Seq      int64                 `json:"seq"`
	Size     int64                 `json:"size"`
	Messages int                   `json:"messages"` // that had not expired
}

// readAtOnce is the most entries read at a time.
const readAtOnce = 500

// New returns a Keeper of the files in dir; Sync creates the folder.
func New(dir string, source Source, now func() time.Time) *Keeper {
	return &Keeper{dir: dir, source: source, now: now}
}

func (k *Keeper) stateFile() string { return filepath.Join(k.dir, "written.json") }

func (k *Keeper) path(name fika.ConversationName) string {
	return filepath.Join(k.dir, string(name)+".md")
}

// Sync writes everything that has been said since the last call.
func (k *Keeper) Sync(ctx context.Context) error {
	chats, err := k.source.ListConversations(ctx, store.ConversationFilter{Kind: fika.Chat})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return fika.Wrap(fika.Storage, "chats", err)
	}
	if k.state == nil {
		k.state = k.readState()
	}
	var errs []error
	changed := k.removeUnused(ctx, chats, &errs)
	for _, c := range chats {
		if w, known := k.state[c.ID]; known && c.LastSeq < w.Seq {
			changed = true
			if err := k.setAside(w.Name); err != nil {
				errs = append(errs, err)
				continue
			}
			delete(k.state, c.ID)
		}
		if k.upToDate(c) {
			continue
		}
		changed = true
		if err := k.write(ctx, c); err != nil {
			errs = append(errs, fika.Wrap(fika.Storage, "write "+k.path(c.Name), err))
		}
	}
	if changed {
		errs = append(errs, k.keepState())
	}
	return errors.Join(errs...)
}

// removeUnused removes the files of chats that were deleted or renamed. It runs before any
// file is written, because another chat may have taken the name. The file of a chat that
// nobody has deleted, and that the database has lost, is the last copy: it is set aside.
func (k *Keeper) removeUnused(ctx context.Context, chats []store.ConversationInfo, errs *[]error) (changed bool) {
	names := map[fika.ConversationID]fika.ConversationName{}
	for _, c := range chats {
		names[c.ID] = c.Name
	}
	for id, w := range k.state {
		if names[id] == w.Name {
			continue
		}
		wanted := names[id] != ""
		if !wanted && w.Size > 0 {
			name, err := k.source.DeletedChat(ctx, id)
			if err != nil {
				*errs = append(*errs, err)
				continue
			}
			wanted = name != ""
		}
		var err error
		if wanted || w.Size == 0 {
			err = fika.Wrap(fika.Storage, "remove "+k.path(w.Name), withoutMissing(os.Remove(k.path(w.Name))))
		} else {
			err = k.setAside(w.Name)
		}
		if err != nil {
			*errs = append(*errs, err)
			continue
		}
		changed = true
		delete(k.state, id)
	}
	return changed
}

func withoutMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lostMark is in the names of files with messages that the database does not have.
const lostMark = ".lost-"

// setAside gives the file of a chat a name under which it stays.
func (k *Keeper) setAside(name fika.ConversationName) error {
	to := filepath.Join(k.dir, string(name)+lostMark+k.now().UTC().Format("20060102-150405.000")+".md")
	return fika.Wrap(fika.Storage, "set chat aside", withoutMissing(os.Rename(k.path(name), to)))
}

// LostWarnings says, for each file in dir with messages that the database has lost, what a
// person can do; a file is reported until it is removed.
func LostWarnings(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "*"+lostMark+"*.md"))
	var out []string
	for _, path := range found {
		name, _, _ := strings.Cut(filepath.Base(path), lostMark)
		out = append(out, fmt.Sprintf("the database is older than its files: it lacks messages of the chat %s, which %s has "+
			"(an older copy was put back, or fika.db-wal was removed: %s brings back a backup; remove the file once you do not need it)", name, path, hint.Restore))
	}
	return out
}

// upToDate reports whether the file of a chat is complete and still has the size it
// was left with.
func (k *Keeper) upToDate(c store.ConversationInfo) bool {
	w, known := k.state[c.ID]
	if !known {
		return c.LastSeq == 0
	}
	info, err := os.Stat(k.path(w.Name))
	return err == nil && info.Size() == w.Size && w.Name == c.Name && w.Seq >= c.LastSeq && c.Messages >= w.Messages
}

// write brings the file of one chat up to date.
func (k *Keeper) write(ctx context.Context, c store.ConversationInfo) error {
	w, known := k.state[c.ID]
	if known && c.Messages < w.Messages {
		// Some messages are gone: write the rest anew.
		if err := os.Remove(k.path(w.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		w, known = written{}, false
	}
	f, err := os.OpenFile(k.path(c.Name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the next Sync checks the size again
	if ours, err := k.repairFile(ctx, f, c, w); err != nil {
		return err
	} else if !ours {
		_ = f.Close()
		aside := fmt.Sprintf("%s.changed-%s.md", strings.TrimSuffix(k.path(c.Name), ".md"), k.now().Format("20060102-150405"))
		if err := os.Rename(k.path(c.Name), aside); err != nil {
			return err
		}
		if f, err = os.OpenFile(k.path(c.Name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
		w = written{}
	}
	w.Name, w.Messages = c.Name, c.Messages
	for {
		text, last, n, err := k.render(ctx, c.ID, w.Seq)
		if err != nil {
			return err
		}
		if _, err := f.WriteAt([]byte(text), w.Size); err != nil {
			return err
		}
		w.Size += int64(len(text))
		w.Seq = max(w.Seq, last)
		if n < readAtOnce {
			break
		}
	}
	w.Seq = max(w.Seq, c.LastSeq)
	k.state[c.ID] = w
	return f.Close()
}

// repairFile cuts the file back to where it was left. It returns false if somebody
// else has changed the file.
func (k *Keeper) repairFile(ctx context.Context, f *os.File, c store.ConversationInfo, w written) (ours bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	switch more := info.Size() - w.Size; {
	case more == 0:
		return true, nil
	case more < 0:
		return false, nil
	default: // perhaps a write that was not recorded: a prefix of the next text
		text, _, _, err := k.render(ctx, c.ID, w.Seq)
		if err != nil || more > int64(len(text)) {
			return false, err
		}
		tail := make([]byte, more)
		if _, err := f.ReadAt(tail, w.Size); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if !strings.HasPrefix(text, string(tail)) {
			return false, nil
		}
		return true, f.Truncate(w.Size)
	}
}

// render returns the text of the next entries after since, the number of the last one,
// and how many there were.
func (k *Keeper) render(ctx context.Context, id fika.ConversationID, since int64) (text string, last int64, n int, err error) {
	entries, err := k.source.Entries(ctx, store.EntryQuery{Conversation: id, Types: []fika.EntryType{fika.Message, fika.Notice}, Since: since, First: readAtOnce})
	if err != nil {
		return "", 0, 0, err
	}
	var b strings.Builder
	for _, x := range entries {
		b.WriteString(heading(x))
		last = x.Seq
	}
	return b.String(), last, len(entries), nil
}

// heading returns one entry with its sender and time.
func heading(x fika.Entry) string {
	text := strings.TrimRight(safetext.Clean(x.Content), "\n")
	if x.Type == fika.Notice {
		return fmt.Sprintf("— %s (#%d, %s)\n\n", safetext.Line(text), x.Seq, x.At.UTC().Format(time.DateTime))
	}
	return fmt.Sprintf("## %s, %s UTC (#%d)\n\n%s\n\n", safetext.Line(x.From), x.At.UTC().Format(time.DateTime), x.Seq, text)
}

// readState reads how far the files were written; it is empty if that cannot be known.
func (k *Keeper) readState() map[fika.ConversationID]written {
	state := map[fika.ConversationID]written{}
	data, err := os.ReadFile(k.stateFile())
	if err != nil || json.Unmarshal(data, &state) != nil || state == nil {
		return map[fika.ConversationID]written{}
	}
	for id, w := range state {
		if _, err := fika.ParseChatName(string(w.Name)); err != nil { // the name becomes a path
			delete(state, id)
		}
	}
	return state
}

func (k *Keeper) keepState() error {
	data, err := json.Marshal(k.state)
	if err == nil {
		err = renameio.WriteFile(k.stateFile(), append(data, '\n'), 0o600)
	}
	return fika.Wrap(fika.Storage, "chats", err)
}
