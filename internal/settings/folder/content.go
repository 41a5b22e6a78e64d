package folder

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"fika"
)

// Content is the content of a context folder from anywhere: enough to make the context
// again. Only the positions of its entries are in memory; [Content.Each] reads them
// again, one at a time.
type Content struct {
	CreatedAt time.Time
	Texts     map[TextKind]string
	Local     []byte         // local.toml unchanged; nil: none
	Inbox     []InboxMessage // unread messages
	Problems  []Problem      // invalid lines, at most [maxProblems]
	More      int            // number of problems beyond those
	Sources   []string       // files that entries were read from

	path  string
	files []string // files that items refer to by index
	older []item   // compacted away, in order
	now   []item   // still in the conversation, in order
	said  []fika.Entry
	ids   map[idKey]bool // of all entries; the value says whether it is compacted away
}

// item is the position of one entry.
type item struct {
	offset, seq int64
	size        int32
	file        uint16 // of Content.files; [inMemory]: Content.said[offset]
	archived    bool
}

const (
	inMemory = math.MaxUint16
	// maxProblems bounds how many invalid lines are reported.
	maxProblems = 1000
)

// idKey stands for an id in little memory.
type idKey [16]byte

func keyOf(id fika.EntryID) idKey {
	sum := sha256.Sum256([]byte(id))
	return idKey(sum[:16])
}

// Path returns the folder that the content is in.
func (c *Content) Path() string { return c.path }

// CountArchived returns how many entries were compacted away.
func (c *Content) CountArchived() int { return len(c.older) }

// CountWindow returns how many entries are still in the conversation.
func (c *Content) CountWindow() int { return len(c.now) }

// HasEntry reports whether the folder has an entry, and whether it is compacted away.
func (c *Content) HasEntry(id fika.EntryID) (has, archived bool) {
	archived, has = c.ids[keyOf(id)]
	return has, archived
}

// Each calls fn for the entries in the order they were said: by seq if they are of one
// conversation, so that compactions still refer to the right entries; otherwise those
// that were compacted away first. It returns Conflict if a file has changed since it
// was scanned.
func (c *Content) Each(fn func(e fika.Entry, archived bool) error) error {
	for _, list := range c.inOrder() {
		if err := c.readItems(list, fn); err != nil {
			return err
		}
	}
	return nil
}

// EachOf calls fn for the entries that were compacted away, or for those that are still
// in the conversation, in order.
func (c *Content) EachOf(archived bool, fn func(fika.Entry) error) error {
	list := c.now
	if archived {
		list = c.older
	}
	return c.readItems(list, func(e fika.Entry, _ bool) error { return fn(e) })
}

func (c *Content) inOrder() [][]item {
	asTheyAre := [][]item{c.older, c.now}
	sorted, last := true, int64(0)
	for _, list := range asTheyAre {
		for _, it := range list {
			if it.seq <= 0 {
				return asTheyAre
			}
			sorted = sorted && it.seq > last
			last = it.seq
		}
	}
	if sorted {
		return asTheyAre
	}
	all := slices.Concat(c.older, c.now)
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.seq, b.seq) })
	for i := 1; i < len(all); i++ {
		if all[i].seq == all[i-1].seq {
			return asTheyAre
		}
	}
	return [][]item{all}
}

// maxOpen is how many files are open at once while entries are read.
const maxOpen = 16

func (c *Content) readItems(list []item, fn func(fika.Entry, bool) error) error {
	if len(list) == 0 {
		return nil
	}
	root, err := os.OpenRoot(c.path)
	if err != nil {
		return fileError("read context folder", c.path, err)
	}
	defer root.Close()
	open := map[uint16]*os.File{}
	closeAll := func() {
		for n, f := range open {
			_ = f.Close()
			delete(open, n)
		}
	}
	defer closeAll()
	var buf []byte
	for _, it := range list {
		if it.file == inMemory {
			if err := fn(c.said[it.offset], it.archived); err != nil {
				return err
			}
			continue
		}
		if open[it.file] == nil {
			if len(open) == maxOpen {
				closeAll()
			}
			if open[it.file], err = openInRoot(root, c.files[it.file]); err != nil {
				return err
			}
		}
		e, err := c.entryAt(open[it.file], it, &buf)
		if err == nil {
			err = fn(e, it.archived)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Content) entryAt(file *os.File, it item, buf *[]byte) (fika.Entry, error) {
	name := c.files[it.file]
	changed := fika.Errorf(fika.Conflict, "read context folder", "%s was changed while it was read: try again", name)
	if file == nil {
		return fika.Entry{}, changed
	}
	*buf = slices.Grow((*buf)[:0], int(it.size))[:it.size]
	if _, err := file.ReadAt(*buf, it.offset); err == io.EOF {
		return fika.Entry{}, changed
	} else if err != nil {
		return fika.Entry{}, fileError("read "+name, name, err)
	}
	if name == plainName {
		st, err := file.Stat()
		return plainEntry(*buf, it.offset, st), fileError("read "+name, name, err)
	}
	data := bytes.Trim(bytes.TrimPrefix(*buf, []byte("\ufeff")), " \t\r\n\x00")
	if len(data) == 0 {
		return fika.Entry{}, changed
	}
	e, reason := parseEntry(line{data: data})
	if _, known := c.ids[keyOf(e.ID)]; reason != "" || !known {
		return e, changed
	}
	return e, nil
}

// noteProblem records an invalid line.
func (c *Content) noteProblem(name string, p Problem) {
	if len(c.Problems) == maxProblems {
		c.More++
		return
	}
	p.File, p.Raw = name, nil
	c.Problems = append(c.Problems, p)
}

// beginSource starts a file of entries, and returns its index.
func (c *Content) beginSource(name string) (uint16, error) {
	if len(c.files) == inMemory {
		return 0, fika.Errorf(fika.Invalid, "read context folder", "%s has more than %d files of entries", c.path, inMemory)
	}
	c.Sources = append(c.Sources, name)
	c.files = append(c.files, name)
	return uint16(len(c.files) - 1), nil
}

// entriesOf returns list with the entries of one JSON Lines file appended, except for
// ids that were found already.
func (c *Content) entriesOf(root *os.Root, name string, archived bool, list []item) ([]item, error) {
	file, err := openInRoot(root, name)
	if file == nil || err != nil {
		return list, err
	}
	defer file.Close()
	n, err := c.beginSource(name)
	if err != nil {
		return list, err
	}
	for lines := newLineReader(file); ; {
		l, err := lines.nextLine()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, fika.Wrap(fika.Storage, "read entries", err)
		}
		e, reason := parseEntry(l)
		if reason != "" {
			c.noteProblem(name, l.problemWith(reason))
			continue
		}
		if c.noteFound(e.ID, archived) {
			list = append(list, item{offset: l.offset, size: int32(l.end - l.offset), seq: e.Seq, file: n, archived: archived})
		}
	}
}

// noteFound records an id, and reports whether it is new.
func (c *Content) noteFound(id fika.EntryID, archived bool) bool {
	key := keyOf(id)
	if _, known := c.ids[key]; known {
		return false
	}
	c.ids[key] = archived
	return true
}

const plainName = "transcript.txt"

// plainTranscript reads transcript.txt, whose entries begin with "[SPEAKER]: ", if
// there is nothing better.
func (c *Content) plainTranscript(root *os.Root) error {
	file, err := openInRoot(root, plainName)
	if file == nil || err != nil {
		return err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return fileError("read "+plainName, plainName, err)
	}
	n, err := c.beginSource(plainName)
	if err != nil {
		return err
	}
	var head []byte // of the entry being read
	begin := int64(0)
	for lines := newLineReader(file); ; {
		l, err := lines.rawLine()
		if err != nil && err != io.EOF {
			return fileError("read "+plainName, plainName, err)
		}
		_, _, headed := plainHead(l.data)
		if (err == io.EOF || headed) && head != nil {
			size := min(l.offset-begin, maxLine)
			if c.noteFound(plainEntry(head, begin, st).ID, true) {
				c.older = append(c.older, item{offset: begin, size: int32(size), file: n, archived: true})
			}
			head = nil
		}
		if err == io.EOF {
			return nil
		}
		if headed {
			head, begin = bytes.Clone(l.data), l.offset
		}
	}
}

// plainHead splits the line that begins an entry of a plain transcript.
func plainHead(data []byte) (speaker, text string, ok bool) {
	speaker, text, ok = strings.Cut(string(data[:min(len(data), 1<<10)]), "]: ")
	return strings.TrimPrefix(speaker, "["), text, ok && strings.HasPrefix(speaker, "[") && len(speaker) < 64
}

// plainEntry returns the entry in data, which begins at an offset.
func plainEntry(data []byte, offset int64, st os.FileInfo) fika.Entry {
	first := data
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		first = data[:i+1]
	}
	speaker, _, _ := plainHead(first)
	_, text, _ := bytes.Cut(data, []byte("]: "))
	id := "line-" + hashOf(fmt.Appendf(nil, "%d:%s", offset, first))
	return fika.Entry{ID: fika.EntryID(id), At: st.ModTime().UTC(), From: strings.ToLower(speaker), Type: fika.Message, Content: strings.Trim(string(text), "\r\n")}
}
