package folder

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
)

func FuzzReadEntries(f *testing.F) {
	f.Add([]byte(seed))
	f.Add([]byte(`{"id":"a","timestamp":1e99,"from":"x","entry_type":"message","metadata":[]}` + "\n{\x00\n\n\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, problems, err := ReadEntries(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, row := range bytes.Split(data, []byte{'\n'}) {
			if n == 0 {
				row = bytes.TrimPrefix(row, []byte("\ufeff"))
			}
			n++
			if len(bytes.Trim(row, " \t\r\n\x00")) > 0 {
				n += 1 << 20
			}
		}
		if n>>20 != len(entries)+len(problems) {
			t.Fatalf("%d lines, %d entries, %d problems", n>>20, len(entries), len(problems))
		}
		// What was read can be written and is read again as it was.
		var once, twice bytes.Buffer
		if err := WriteEntries(&once, entries); err != nil {
			t.Skip() // a year beyond what JSON times can say
		}
		again, problems, err := ReadEntries(bytes.NewReader(once.Bytes()))
		if err != nil || len(problems) > 0 || len(again) != len(entries) {
			t.Fatal(err, problems, len(again), len(entries))
		}
		if err := WriteEntries(&twice, again); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("%v\n%s\n%s", err, once.Bytes(), twice.Bytes())
		}
		_ = WriteTranscript(&twice, entries)
	})
}

func FuzzInbox(f *testing.F) {
	f.Add([]byte(hello + "x\n" + hello[:9]))
	f.Add([]byte(`{"from":" ","content":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := testFolder(t)
		l := testLock(t, dir)
		write(t, dir.path(inboxName), string(data))
		heard, rejected := 0, 0
		for hour := range 4 {
			b, err := l.takeInbox(time.Now().Add(time.Duration(hour) * time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			heard, rejected = heard+len(b.Messages), rejected+len(b.Problems)
			if err := b.MarkStored(); err != nil {
				t.Fatal(err)
			}
		}
		if kept := lineCount(t, dir.path("inbox.rejected.jsonl")); kept != rejected {
			t.Fatalf("%d rejected, %d kept", rejected, kept)
		}
		lines := 0
		for _, row := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
			if strings.Trim(row, " \t\r\x00") != "" {
				lines++
			}
		}
		if heard+rejected != lines {
			t.Fatalf("%d lines, %d heard, %d rejected", lines, heard, rejected)
		}
	})
}

func FuzzLockContent(f *testing.F) {
	f.Add([]byte(`{"pid":1,"since":"2026-01-01T00:00:00Z","heartbeat_seconds":1e300}`))
	f.Add([]byte("17000"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, content := readLockInfo(bytes.NewReader(data))
		if info.PID > 0 && !content {
			t.Fatal("a holder without content")
		}
		if info.PID < 0 || info.silenceAllowed() <= 0 {
			t.Fatalf("%+v", info)
		}
		info.holderAlive()
	})
}

func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"created_at":1700000000,"seen":{"c1":3},"active":"c1","files":{"context.jsonl":{"size":1}}}`))
	f.Add([]byte(`{"created_at":"2026-01-01T00:00:00Z","seen":{"c1":9223372036854775807}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := testFolder(t)
		l := testLock(t, dir)
		s := newSource("c1")
		s.say(3)
		openMirror(t, l, s)
		write(t, dir.path(metaName), string(data))
		openMirror(t, l, s)
		wantEqual(t, dir, s)
	})
}

// FuzzMirror harms one of the mirror's files in the middle of a conversation:
// the next holder brings all of them in order, and what fika did not write is
// kept.
func FuzzMirror(f *testing.F) {
	f.Add(uint8(0), uint8(0), uint16(0), []byte("\x00\x00"))
	f.Add(uint8(1), uint8(1), uint16(40), []byte(nil))
	f.Add(uint8(2), uint8(7), uint16(9), []byte("~ mine\n"))
	f.Add(uint8(3), uint8(2), uint16(29), []byte("}}"))
	f.Fuzz(func(t *testing.T, file, ahead uint8, cut uint16, add []byte) {
		dir, ctx := testFolder(t), context.Background()
		l := testLock(t, dir)
		s := newSource("c1")
		m := openMirror(t, l, s)
		if err := m.Append(ctx, append(s.say(6), s.compact(3, 1))...); err != nil {
			t.Fatal(err)
		}
		s.order, s.active = append(s.order, "c2"), "c2"
		if err := m.Append(ctx, append(s.say(2), s.compact(1), s.addTo("c1", fika.Entry{Content: "late"}))...); err != nil {
			t.Fatal(err)
		}
		for range ahead % 4 { // committed, but not in the mirror
			s.say(1)
		}
		name := []string{transcriptName, contextName, archiveName, metaName}[file%4]
		was := read(t, dir.path(name))
		harmed := was[:len(was)-min(len(was), int(cut))] + string(add)
		write(t, dir.path(name), harmed)
		m = openMirror(t, l, s)
		wantEqual(t, dir, s)
		notes := m.TakeNotes()
		if kept, _ := filepath.Glob(dir.path(name + ".edited-*")); len(kept) == 1 && read(t, kept[0]) != harmed {
			t.Fatalf("%q was kept as %q", harmed, read(t, kept[0]))
		} else if strings.Contains(string(add), "~") && name != metaName && len(kept) != 1 {
			t.Fatalf("%q is lost; notes %q", add, notes)
		}
		if len(add) == 0 && len(notes) > 0 {
			t.Fatalf("set aside what was cut off: %q", notes)
		}
	})
}

// FuzzReadFolder reads a foreign folder: each of its lines is an entry, a message
// or a problem, each entry is given once, and reading twice gives the same.
func FuzzReadFolder(f *testing.F) {
	f.Add([]byte(seed), []byte("[USER]: hi\nthere\n[BOT]: yes"), []byte(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[1]}],"created_at":1}`))
	f.Add([]byte("{\"id\":\"a\",\"from\":\"x\"}\n{\"id\":\"a\",\"from\":\"y\"}\n\xff"), []byte(nil), []byte(`{"messages":null}`))
	f.Add([]byte(nil), []byte("[A]: \n[A]: \n"), []byte("["))
	f.Fuzz(func(t *testing.T, lines, plain, past []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"transcript.jsonl": lines, plainName: plain, historyName: past, inboxName: lines} {
			if len(data) > 0 {
				write(t, filepath.Join(dir, name), string(data))
			}
		}
		entries := func() (list []fika.Entry) {
			c, err := ReadFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			once := map[fika.EntryID]bool{}
			err = c.Each(func(e fika.Entry, archived bool) error {
				has, older := c.HasEntry(e.ID)
				if once[e.ID] || !has || older != archived {
					t.Fatalf("%q: twice %t, known %t, archived %t and %t", e.ID, once[e.ID], has, archived, older)
				}
				once[e.ID] = true
				list = append(list, e)
				return nil
			})
			if err != nil || len(list) != c.CountArchived()+c.CountWindow() {
				t.Fatalf("%d of %d and %d entries, %v", len(list), c.CountArchived(), c.CountWindow(), err)
			}
			return list
		}
		if first, again := entries(), entries(); !cmp.Equal(first, again) {
			t.Fatal(cmp.Diff(first, again))
		}
	})
}
