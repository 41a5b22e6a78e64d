package chatfile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/chat/chatfile"
	"fika/internal/store"
)

type desk struct {
	t     *testing.T
	dir   string
	store *store.Store
	room  fika.Conversation
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "fika.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	d := &desk{t: t, dir: filepath.Join(t.TempDir(), "chats"), store: s}
	if d.room, err = s.CreateChat(context.Background(), "design"); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) say(text string) {
	d.t.Helper()
	if _, err := d.store.Post(context.Background(), store.Post{Conversation: d.room.ID, From: "bob", Writer: fika.ByHuman, WriterName: "bob", Content: text}); err != nil {
		d.t.Fatal(err)
	}
}

// sync lets a Keeper that knows nothing but its files bring them up to date.
func (d *desk) sync() {
	d.t.Helper()
	if err := chatfile.New(d.dir, d.store, time.Now).Sync(context.Background()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) file() string { return filepath.Join(d.dir, "design.md") }

// holds fails unless the file holds each of n messages once, in their order.
func (d *desk) holds(n int) {
	d.t.Helper()
	data, err := os.ReadFile(d.file())
	if err != nil {
		d.t.Fatal(err)
	}
	if got := strings.Count(string(data), "## bob, "); got != n {
		d.t.Errorf("%d messages are in the file, not %d:\n%s", got, n, data)
	}
	at := 0
	for i := range n {
		mark := fmt.Sprintf("\n\nmessage %d.\n\n", i)
		next := strings.Index(string(data)[at:], mark)
		if next < 0 || strings.Count(string(data), mark) != 1 {
			d.t.Fatalf("%q is not in its place, once:\n%s", mark, data)
		}
		at += next
	}
}

// TestA14Torn: whatever a crash leaves of the file and of the note about it, each
// message is in it once.
func TestA14Torn(t *testing.T) {
	d := newDesk(t)
	for i := range 3 {
		d.say(fmt.Sprintf("message %d.", i))
	}
	d.sync()
	d.holds(3)
	note := filepath.Join(d.dir, "written.json")
	before, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(d.file())
	if err != nil {
		t.Fatal(err)
	}
	d.say("message 3.")
	d.sync()
	d.holds(4)
	whole, err := os.ReadFile(d.file())
	if err != nil {
		t.Fatal(err)
	}
	for end := len(old); end <= len(whole); end++ { // killed within the write, before the note
		write(t, d.file(), whole[:end])
		write(t, note, before)
		d.sync()
		d.holds(4)
	}
	if found, _ := filepath.Glob(filepath.Join(d.dir, "*.changed-*")); len(found) > 0 {
		t.Errorf("set aside: %v", found)
	}
}

// TestA14Changed: what somebody has written into the file is set aside, and the
// text of a message can drive no terminal.
func TestA14Changed(t *testing.T) {
	d := newDesk(t)
	d.say("message 0.")
	d.sync()
	write(t, d.file(), []byte("my own notes, which are longer than what was there before: "+strings.Repeat("x", 200)))
	d.say("message 1.")
	d.sync()
	d.holds(2)
	found, _ := filepath.Glob(filepath.Join(d.dir, "design.changed-*.md"))
	if len(found) != 1 {
		t.Fatalf("set aside: %v", found)
	}
	if data, _ := os.ReadFile(found[0]); !strings.HasPrefix(string(data), "my own notes") {
		t.Errorf("aside is %q", data)
	}
	d.say("red \x1b[31m\x1b]0;title\a")
	d.sync()
	if data, _ := os.ReadFile(d.file()); strings.ContainsAny(string(data), "\x1b\a") {
		t.Errorf("the file holds escapes: %q", data)
	}
}

// TestA14Renamed: the file of a chat follows its name, also where two chats change
// theirs for each other's between two looks.
func TestA14Renamed(t *testing.T) {
	d := newDesk(t)
	ctx := context.Background()
	d.say("message 0.")
	other, err := d.store.CreateChat(ctx, "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.store.Post(ctx, store.Post{Conversation: other.ID, From: "eve", Writer: fika.ByHuman, Content: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	d.sync()
	for _, c := range []struct {
		id   fika.ConversationID
		name fika.ConversationName
	}{{d.room.ID, "between"}, {other.ID, "design"}, {d.room.ID, "other"}} {
		if _, _, err := d.store.RenameChat(ctx, c.id, c.name, "bob"); err != nil {
			t.Fatal(err)
		}
	}
	d.sync()
	for name, want := range map[string]string{"design": "elsewhere", "other": "message 0."} {
		data, err := os.ReadFile(filepath.Join(d.dir, name+".md"))
		if err != nil || strings.Count(string(data), want) != 1 || !strings.Contains(string(data), "bob renamed this chat") {
			t.Errorf("%s.md has\n%s (%v)", name, data, err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(d.dir, "*.md")); len(found) != 2 {
		t.Errorf("the files are %v", found)
	}
}

// TestA14Many: a chat longer than one read is written whole, and its file is
// gone with it.
func TestA14Many(t *testing.T) {
	d := newDesk(t)
	const n = 1203
	for i := range n {
		d.say(fmt.Sprintf("message %d.", i))
	}
	d.sync()
	d.holds(n)
	if err := d.store.DeleteConversation(context.Background(), d.room.ID); err != nil {
		t.Fatal(err)
	}
	d.sync()
	if _, err := os.Stat(d.file()); !os.IsNotExist(err) {
		t.Errorf("the file of a deleted chat is still there (%v)", err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheLastCopyOfAChatIsNotRemoved: the files of a chat that the database has lost, or
// has less of, are set aside and named; that of a chat that was deleted goes with it (row
// F4).
func TestTheLastCopyOfAChatIsNotRemoved(t *testing.T) {
	d := newDesk(t)
	ctx := context.Background()
	d.say("message 0.")
	before := filepath.Join(t.TempDir(), "fika.db")
	if err := d.store.Backup(ctx, before); err != nil {
		t.Fatal(err)
	}
	d.say("message 1.")
	for _, name := range []fika.ConversationName{"accepted", "deleted"} {
		c, err := d.store.CreateChat(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.store.Post(ctx, store.Post{Conversation: c.ID, From: "eve", Writer: fika.ByHuman, Content: "in " + string(name)}); err != nil {
			t.Fatal(err)
		}
		d.sync()
		if name == "deleted" {
			if err := d.store.DeleteConversation(ctx, c.ID); err != nil {
				t.Fatal(err)
			}
			d.sync()
		}
	}
	if lost := chatfile.LostWarnings(d.dir); len(lost) > 0 {
		t.Errorf("a chat that was deleted is lost: %q", lost)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "deleted.md")); err == nil {
		t.Error("the file of a deleted chat is there")
	}
	older, err := store.Open(ctx, store.Options{Path: before})
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close()
	d.store = older
	for range 2 {
		d.sync()
		d.holds(1)
		lost := strings.Join(chatfile.LostWarnings(d.dir), "\n")
		if strings.Count(lost, "older than its files") != 2 || !strings.Contains(lost, "chat accepted") || !strings.Contains(lost, "chat design") {
			t.Fatalf("it says %q", lost)
		}
	}
	for pattern, text := range map[string]string{"accepted.lost-*.md": "in accepted", "design.lost-*.md": "message 1."} {
		found, _ := filepath.Glob(filepath.Join(d.dir, pattern))
		if len(found) != 1 {
			t.Fatalf("%s: %q", pattern, found)
		}
		if data, err := os.ReadFile(found[0]); err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s: %q, %v", pattern, data, err)
		}
	}
}
