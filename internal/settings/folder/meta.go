package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"fika"
)

// The mirror's files.
const (
	metaName       = "context_meta.json"
	contextName    = "context.jsonl"
	archiveName    = "transcript_archive.jsonl"
	transcriptName = "transcript.md"
)

// meta is context_meta.json: when the context was made, and what the mirror last wrote.
// Everything except created_at can be made again.
type meta struct {
	CreatedAt time.Time
	Active    fika.ConversationID           // the conversation whose window is in context.jsonl
	Seen      map[fika.ConversationID]int64 // seq up to which all files are complete
	Files     map[string]fileMark
	From      map[fika.ConversationID]int64 // seq up to which all files lack what was archived

	rest   map[string]json.RawMessage // fields of other programs
	broken bool                       // it existed but could not be read
}

// fileMark describes a mirror file as the mirror last wrote it.
type fileMark struct {
	LastSeq  int64  `json:"last_seq"`
	Size     int64  `json:"size"`
	MTime    int64  `json:"mtime_ns"`
	LastLine string `json:"last_line"` // hash of the last entry, as written
	LastSize int64  `json:"last_size"` // size of that entry in bytes
}

type metaJSON struct {
	Active fika.ConversationID           `json:"active,omitempty"`
	Seen   map[fika.ConversationID]int64 `json:"seen,omitempty"`
	Files  map[string]fileMark           `json:"files,omitempty"`
	From   map[fika.ConversationID]int64 `json:"from,omitempty"`
	Sum    string                        `json:"sum,omitempty"` // of those above
}

// checksum detects a meta of which a part was lost or changed: with marks that do not
// belong together, entries would be written twice.
func (j metaJSON) checksum() string {
	j.Sum = ""
	data, _ := json.Marshal(j) // it was JSON, or becomes it next
	return hashOf(data)
}

func newMeta(now time.Time) *meta {
	return &meta{
		CreatedAt: now.UTC().Truncate(time.Second),
		Seen:      map[fika.ConversationID]int64{}, Files: map[string]fileMark{}, From: map[fika.ConversationID]int64{},
		rest: map[string]json.RawMessage{},
	}
}

// readMeta reads context_meta.json. If it is missing or unreadable, an empty meta is
// returned, with the best known created_at.
func (f Folder) readMeta() (*meta, error) {
	m := newMeta(time.Now())
	data, err := readCapped(f.path(metaName), 8<<20)
	if fika.IsKind(err, fika.Storage) {
		return m, err
	}
	if err != nil || !m.parseMeta(data) {
		m = newMeta(time.Now())
		m.broken = err != nil || data != nil
		if at, ok := salvageCreatedAt(data); ok {
			m.CreatedAt = at
		} else if st, err := os.Stat(f.Path()); err == nil {
			m.CreatedAt = st.ModTime().UTC().Truncate(time.Second)
		}
	}
	return m, nil
}

// parseMeta fills m and reports whether data is a complete meta.
func (m *meta) parseMeta(data []byte) bool {
	var j metaJSON
	if json.Unmarshal(data, &m.rest) != nil || m.rest == nil || json.Unmarshal(data, &j) != nil {
		return false
	}
	at, ok := parseTime(m.rest["created_at"])
	if !ok {
		return false
	}
	m.CreatedAt = at
	if j.Sum != j.checksum() { // the contents of the files are determined anew
		return true
	}
	m.Active = j.Active
	if j.Seen != nil {
		m.Seen = j.Seen
	}
	if j.Files != nil {
		m.Files = j.Files
	}
	if j.From != nil {
		m.From = j.From
	}
	return true
}

// writeMeta records what the mirror wrote. Every one-shot prompt does this, and
// creating a file is by far the most expensive part: while the content fits into one
// page, which is written completely or not at all, it is written in place, padded with
// spaces so that it never shrinks.
func (f Folder) writeMeta(m *meta) error {
	data, err := m.encodeMeta()
	if err != nil {
		return err
	}
	path := f.path(metaName)
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && max(int64(len(data)), st.Size()) <= metaPage {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fileError("write "+metaName, path, err)
		}
		data = append(data, bytes.Repeat([]byte{' '}, max(0, int(st.Size())-len(data)))...)
		_, err = file.WriteAt(data, 0)
		return fileError("write "+metaName, path, errors.Join(err, file.Close()))
	}
	return writeMetaIn(f.Path(), m)
}

const metaPage = 4096

// writeMetaIn creates the file anew.
func writeMetaIn(dir string, m *meta) error {
	data, err := m.encodeMeta()
	if err != nil {
		return err
	}
	return swapFile(filepath.Join(dir, metaName), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// metaHead begins the file, so that created_at can be read even if the rest is damaged.
const metaHead = "{\n  \"created_at\": "

func (m *meta) encodeMeta() ([]byte, error) {
	out := make(map[string]any, len(m.rest)+4)
	for k, v := range m.rest {
		out[k] = v
	}
	for _, k := range []string{"created_at", "active", "seen", "files", "from", "sum"} {
		delete(out, k)
	}
	out["sum"] = metaJSON{Active: m.Active, Seen: m.Seen, Files: m.Files, From: m.From}.checksum()
	if m.Active != "" {
		out["active"] = m.Active
	}
	if len(m.Seen) > 0 {
		out["seen"] = m.Seen
	}
	if len(m.Files) > 0 {
		out["files"] = m.Files
	}
	if len(m.From) > 0 {
		out["from"] = m.From
	}
	body, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "write "+metaName, err)
	}
	data := fmt.Appendf(nil, "%s%q", metaHead, m.CreatedAt.UTC().Format(time.RFC3339))
	if len(out) > 0 {
		data = append(data, ',')
	} else {
		data = append(data, '\n')
	}
	return append(append(data, body[1:]...), '\n'), nil
}

// salvageCreatedAt reads created_at from a damaged meta.
func salvageCreatedAt(data []byte) (time.Time, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(metaHead))
	end := bytes.IndexAny(rest, ",\n")
	if !ok || end < 0 {
		return time.Time{}, false
	}
	return parseTime(rest[:end])
}

// CreatedAt returns when the context was made.
func (f Folder) CreatedAt() (time.Time, error) {
	m, err := f.readMeta()
	return m.CreatedAt, err
}

// parseTime parses RFC 3339 and Unix seconds.
func parseTime(raw json.RawMessage) (time.Time, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return time.Time{}, false
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		t, err := time.Parse(time.RFC3339, text)
		return t.UTC(), err == nil
	}
	var sec float64
	if json.Unmarshal(raw, &sec) != nil || sec < 0 {
		return time.Time{}, false
	}
	return secondsToTime(sec), true
}

// latest is the largest plausible time in seconds (the year 5138); beyond it a foreign
// program must have meant milliseconds.
const latest = 100_000_000_000

// secondsToTime converts a Unix time; implausible values become 1970.
func secondsToTime(sec float64) time.Time {
	if sec >= latest {
		sec /= 1000
	}
	if !(sec > -latest && sec < latest) {
		return time.Unix(0, 0).UTC()
	}
	whole := int64(sec)
	return time.Unix(whole, int64((sec-float64(whole))*1e9)).UTC().Truncate(time.Millisecond)
}

// markOf describes the present mirror file, and keeps what is known of its last line. A
// missing file has the zero mark.
func (f Folder) markOf(name string) (fileMark, error) {
	st, err := os.Lstat(f.path(name))
	if os.IsNotExist(err) {
		return fileMark{}, nil
	}
	if err != nil {
		return fileMark{}, fileError("read "+name, f.path(name), err)
	}
	if !st.Mode().IsRegular() {
		return fileMark{}, fika.Errorf(fika.Invalid, "read "+name, "%s is not a regular file: move it away", filepath.Join(f.Path(), name))
	}
	return fileMark{Size: st.Size(), MTime: st.ModTime().UnixNano()}, nil
}

// isSame reports whether the file is unchanged.
func (m fileMark) isSame(now fileMark) bool { return m.Size == now.Size && m.MTime == now.MTime }
