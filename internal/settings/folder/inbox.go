package folder

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fika"
)

const (
	inboxName = "inbox.jsonl"
	// inboxBatch and inboxBytes bound one batch; the rest comes with the next.
	inboxBatch = 1000
	inboxBytes = 16 << 20
	// lateAppend is how long a file stays after it was taken, because a program that
	// opened inbox.jsonl before may still write into it.
	lateAppend = 10 * time.Second
)

// InboxMessage is a message that another program left in inbox.jsonl.
type InboxMessage struct {
	ID      fika.EntryID // as given, else derived from file, offset and content
	At      time.Time    // zero if the line has no timestamp
	From    string
	To      string // as given; may be empty
	Content string
}

// Batch is the result of [Lock.TakeInbox]. The caller stores the messages under their
// ids (a repeat is then harmless) and calls MarkStored; otherwise the next TakeInbox
// returns them again.
type Batch struct {
	Messages []InboxMessage
	Problems []Problem // invalid lines; MarkStored keeps them in inbox.rejected.jsonl
	More     bool      // there is more than fits into one batch

	folder Folder
	now    time.Time
	files  []takenFile
}

// takenFile is an inbox file that was taken. Its name is its state:
//
//	inbox.taken.ID.jsonl         renamed; nothing of it is known to be stored
//	inbox.heard.ID.BYTES.jsonl   stored up to BYTES; read again for late lines
type takenFile struct {
	name  string
	id    string // Unix milliseconds of the taking, dash, random
	from  int64  // where reading began
	upto  int64  // where reading ended: after the last whole line
	size  int64
	mtime time.Time
	bad   [][2]int64 // begin and end of invalid lines
}

// TakeInbox moves inbox.jsonl aside and reads it, together with what earlier calls
// left. Writers need no lock: they append a line. An empty batch costs one directory
// listing. A later call deletes a moved file, once writers had time to finish and a
// second reading found nothing new.
func (l *Lock) TakeInbox() (*Batch, error) { return l.takeInbox(time.Now()) }

func (l *Lock) takeInbox(now time.Time) (*Batch, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	f := l.Folder()
	b := &Batch{folder: f, now: now}
	if err := f.claimInbox(now); err != nil {
		return nil, err
	}
	dir, err := os.ReadDir(f.Path())
	if err != nil {
		return nil, fileError("read inbox", f.Path(), err)
	}
	room := inboxBytes
	for _, d := range dir {
		t, ok := parseTaken(d.Name())
		if !ok || !d.Type().IsRegular() {
			continue
		}
		if err := b.readTaken(t, &room); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// claimInbox renames inbox.jsonl if it is not empty.
func (f Folder) claimInbox(now time.Time) error {
	path := f.path(inboxName)
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fileError("read inbox", path, err)
	case !st.Mode().IsRegular():
		return fika.Errorf(fika.Invalid, "read inbox", "%s is not a regular file: move it away", path)
	case st.Size() == 0:
		return nil
	}
	var random [6]byte
	_, _ = rand.Read(random[:])
	id := fmt.Sprintf("%d-%s", now.UnixMilli(), hex.EncodeToString(random[:]))
	return fileError("take inbox", path, os.Rename(path, f.path("inbox.taken."+id+".jsonl")))
}

// parseTaken reads the state of a taken file from its name.
func parseTaken(name string) (takenFile, bool) {
	part := strings.Split(name, ".")
	if len(part) < 4 || part[0] != "inbox" || part[len(part)-1] != "jsonl" || !strings.Contains(part[2], "-") {
		return takenFile{}, false
	}
	t := takenFile{name: name, id: part[2]}
	switch {
	case part[1] == "taken" && len(part) == 4:
		return t, true
	case part[1] == "heard" && len(part) == 5:
		n, err := strconv.ParseInt(part[3], 10, 64)
		t.from = n
		return t, err == nil && n >= 0
	}
	return takenFile{}, false
}

// readTaken adds the messages of one taken file, from where it was last read.
func (b *Batch) readTaken(t takenFile, room *int) error {
	path := b.folder.path(t.name)
	file, err := openRegular(path)()
	if file == nil || err != nil {
		return err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return fileError("read inbox", path, err)
	}
	t.size, t.mtime, t.upto = st.Size(), st.ModTime(), min(t.from, st.Size())
	t.from = t.upto
	lines := newLineReader(io.NewSectionReader(file, t.from, st.Size()-t.from))
	for {
		if len(b.Messages) >= inboxBatch || *room <= 0 {
			b.More = true
			break
		}
		l, err := lines.nextLine()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fileError("read inbox", path, err)
		}
		*room -= len(l.data)
		msg, reason := parseInbox(l, t.id, t.from)
		switch {
		case reason == "":
			b.Messages = append(b.Messages, msg)
		case l.torn && !t.isLate(b.now):
			l.end = l.offset // being written just now: the next call reads it
		default:
			p := l.problemWith(reason)
			p.File, p.Offset = inboxName, p.Offset+t.from
			p.Line += countLines(file, t.from)
			b.Problems = append(b.Problems, p)
			t.bad = append(t.bad, [2]int64{p.Offset, t.from + l.end})
		}
		t.upto = t.from + l.end
	}
	b.files = append(b.files, t)
	return nil
}

// isLate reports whether writers have had enough time.
func (t takenFile) isLate(now time.Time) bool {
	ms, _, _ := strings.Cut(t.id, "-")
	taken, err := strconv.ParseInt(ms, 10, 64)
	return err != nil || (now.Sub(time.UnixMilli(taken)) > lateAppend && now.Sub(t.mtime) > lateAppend)
}

// countLines counts the line ends before offset.
func countLines(file *os.File, offset int64) int {
	n, buf := 0, make([]byte, 32<<10)
	for r := io.NewSectionReader(file, 0, offset); ; {
		k, err := r.Read(buf)
		n += bytes.Count(buf[:k], []byte{'\n'})
		if err != nil {
			return n
		}
	}
}

// MarkStored records that the messages are stored.
func (b *Batch) MarkStored() error {
	var errs []error
	for _, t := range b.files {
		path := b.folder.path(t.name)
		if err := b.rejectLines(t); err != nil {
			errs = append(errs, err)
			continue
		}
		if t.upto == t.from && t.upto == t.size && t.isLate(b.now) {
			errs = append(errs, fileError("empty inbox", path, os.Remove(path)))
			continue
		}
		next := fmt.Sprintf("inbox.heard.%s.%d.jsonl", t.id, t.upto)
		if next != t.name {
			errs = append(errs, fileError("empty inbox", path, os.Rename(path, b.folder.path(next))))
		}
	}
	b.files = nil
	return errors.Join(errs...)
}

// rejectLines copies invalid lines into inbox.rejected.jsonl.
func (b *Batch) rejectLines(t takenFile) error {
	if len(t.bad) == 0 {
		return nil
	}
	const op = "keep rejected lines"
	in, err := os.Open(b.folder.path(t.name))
	if err != nil {
		return fileError(op, b.folder.path(t.name), err)
	}
	defer in.Close()
	path := b.folder.path("inbox.rejected.jsonl")
	out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, fileMode)
	if err != nil {
		return fileError(op, path, err)
	}
	for _, span := range t.bad {
		if err == nil {
			_, err = io.Copy(out, io.NewSectionReader(in, span[0], span[1]-span[0]))
		}
	}
	if end := t.bad[len(t.bad)-1][1]; err == nil && end == t.size && !endsLine(in, end) {
		_, err = out.WriteString("\n")
	}
	return fileError(op, path, errors.Join(err, out.Sync(), out.Close()))
}

func endsLine(file *os.File, end int64) bool {
	var c [1]byte
	_, err := file.ReadAt(c[:], end-1)
	return err == nil && c[0] == '\n'
}

// parseInbox returns the message of a line, or why the line is invalid.
func parseInbox(l line, fileID string, base int64) (InboxMessage, string) {
	var j struct {
		ID        *string         `json:"id"`
		Timestamp json.RawMessage `json:"timestamp"`
		From      string          `json:"from"`
		To        string          `json:"to"`
		Content   string          `json:"content"`
	}
	if l.long {
		return InboxMessage{}, fmt.Sprintf("longer than %d MiB", maxLine>>20)
	}
	if err := json.Unmarshal(l.data, &j); err != nil {
		if l.torn {
			return InboxMessage{}, "cut off in the middle"
		}
		return InboxMessage{}, "not a message: " + jsonReason(err)
	}
	m := InboxMessage{From: strings.TrimSpace(j.From), To: j.To, Content: j.Content}
	switch {
	case m.From == "":
		return m, "not a message: from is missing"
	case len(m.From) > 256 || len(m.To) > 256:
		return m, "not a message: from or to is too long"
	case strings.TrimSpace(m.Content) == "":
		return m, "not a message: content is missing"
	}
	if j.ID != nil && *j.ID != "" {
		m.ID = fika.EntryID(*j.ID)
		if len(m.ID) > 256 || !utf8.ValidString(*j.ID) {
			return m, "not a message: the id is too long"
		}
	} else {
		m.ID = fika.EntryID("inbox-" + hashOf(fmt.Appendf(nil, "%s/%d/%s", fileID, base+l.offset, l.data)))
	}
	if len(j.Timestamp) > 0 && string(j.Timestamp) != "null" {
		at, ok := parseTime(j.Timestamp)
		if !ok {
			return m, "not a message: the timestamp is neither Unix seconds nor RFC 3339"
		}
		m.At = at
	}
	return m, ""
}
