package folder

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
)

// memorySource is an EntrySource in memory.
type memorySource struct {
	order   []fika.ConversationID
	active  fika.ConversationID
	entries map[fika.ConversationID][]fika.Entry
	reads   int
}

func newSource(convs ...fika.ConversationID) *memorySource {
	s := &memorySource{entries: map[fika.ConversationID][]fika.Entry{}}
	for _, c := range convs {
		s.order, s.active = append(s.order, c), c
	}
	return s
}

func (s *memorySource) Compactions(_ context.Context, c fika.ConversationID, upto int64) (out []fika.Entry, err error) {
	for _, e := range s.entries[c] {
		if e.Type == fika.Compaction && e.Seq <= upto {
			out = append(out, e)
		}
	}
	return out, nil
}

func (s *memorySource) Asks(context.Context) ([]AskHead, error) {
	var heads []AskHead
	for _, id := range s.order {
		h := AskHead{ID: id, Active: id == s.active}
		if es := s.entries[id]; len(es) > 0 {
			h.LastSeq = es[len(es)-1].Seq
		}
		heads = append(heads, h)
	}
	return heads, nil
}

func (s *memorySource) EntriesAfter(_ context.Context, c fika.ConversationID, since int64, limit int) ([]fika.Entry, error) {
	s.reads++
	var out []fika.Entry
	for _, e := range s.entries[c] {
		if e.Seq > since && (limit == 0 || len(out) < limit) {
			out = append(out, e)
		}
	}
	return out, nil
}

// add appends an entry to the active conversation.
func (s *memorySource) add(e fika.Entry) fika.Entry { return s.addTo(s.active, e) }

func (s *memorySource) addTo(c fika.ConversationID, e fika.Entry) fika.Entry {
	e.Conversation, e.Seq = c, int64(len(s.entries[c])+1)
	if e.ID == "" {
		e.ID = fika.EntryID(fmt.Sprintf("%s-%d", c, e.Seq))
	}
	if e.At.IsZero() {
		e.At = time.UnixMilli(1_700_000_000_000 + 1001*e.Seq).UTC()
	}
	if e.Type == "" {
		e.Type = fika.Message
	}
	s.entries[c] = append(s.entries[c], e)
	return e
}

func (s *memorySource) say(n int) []fika.Entry {
	var out []fika.Entry
	for range n {
		out = append(out, s.add(fika.Entry{From: "alice", To: "coder", Content: fmt.Sprintf("words %d\nand more", len(s.entries[s.active]))}))
	}
	return out
}

func (s *memorySource) compact(upto int64, kept ...int64) fika.Entry {
	return s.add(fika.Entry{From: "system", To: "coder", Content: "compacted", Type: fika.Compaction, Meta: fika.EntryMeta{UpTo: upto, Kept: kept, Summary: "s"}})
}

func testFolder(t testing.TB) Folder {
	t.Helper()
	h, err := OpenHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.Create("coder")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func testLock(t testing.TB, f Folder) *Lock {
	t.Helper()
	l, err := TryLock(context.Background(), f, LockOptions{Kind: LockRun})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func openMirror(t testing.TB, l *Lock, s EntrySource) *Mirror {
	t.Helper()
	m, err := OpenMirror(context.Background(), l, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func wantEqual(t testing.TB, f Folder, s EntrySource) {
	t.Helper()
	diff, err := Compare(context.Background(), f, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diff {
		t.Error(d)
	}
}

func wantNotes(t testing.TB, m *Mirror, parts ...string) {
	t.Helper()
	notes := m.TakeNotes()
	if len(notes) != len(parts) {
		t.Fatalf("notes %q, want %d", notes, len(parts))
	}
	for i, p := range parts {
		if !strings.Contains(notes[i], p) {
			t.Errorf("note %q does not tell of %q", notes[i], p)
		}
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func lineCount(t testing.TB, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte{'\n'})
}
