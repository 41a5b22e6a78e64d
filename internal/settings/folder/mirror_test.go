package folder

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
)

func TestMirrorFollowsAppends(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	s := newSource("c1")
	m := openMirror(t, l, s)
	ctx := context.Background()
	for range 5 {
		if err := m.Append(ctx, s.say(3)...); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, f, s)
	}
	if n := lineCount(t, f.path(contextName)); n != 15 {
		t.Fatalf("%d lines", n)
	}
	s.reads = 0
	openMirror(t, l, s)
	if s.reads != 0 {
		t.Fatalf("an unchanged mirror read the source %d times", s.reads)
	}
	wantNotes(t, m)
}

func TestMirrorHealsGapsRepeatsAndForeignConversations(t *testing.T) {
	f := testFolder(t)
	s := newSource("c1")
	m := openMirror(t, testLock(t, f), s)
	ctx := context.Background()
	first := s.say(2)
	s.say(1) // committed by another process
	last := s.say(1)
	for _, es := range [][]fika.Entry{first, last, first, {{Conversation: "chat", Seq: 1, Content: "not ours"}}} {
		if err := m.Append(ctx, es...); err != nil {
			t.Fatal(err)
		}
	}
	wantEqual(t, f, s)
}

func TestMirrorCompactsUndoesAndSwitches(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	s := newSource("c1")
	m := openMirror(t, l, s)
	ctx := context.Background()
	step := func(name string, es []fika.Entry, window, archive int) {
		t.Helper()
		if err := m.Append(ctx, es...); err != nil {
			t.Fatal(name, err)
		}
		wantEqual(t, f, s)
		if n := lineCount(t, f.path(contextName)); n != window {
			t.Errorf("%s: context has %d lines, want %d", name, n, window)
		}
		if n := lineCount(t, f.path(archiveName)); n != archive {
			t.Errorf("%s: archive has %d lines, want %d", name, n, archive)
		}
	}
	step("six", s.say(6), 6, 0)
	step("rolling", []fika.Entry{s.compact(4, 2)}, 4, 3)
	step("in one batch", append(append(s.say(2), s.compact(8)), s.say(1)...), 3, 8)
	step("keep what was archived", []fika.Entry{s.compact(10, 1, 2)}, 4, 8)
	undo := s.add(fika.Entry{From: "system", Type: fika.Compaction, Content: "undone", Meta: fika.EntryMeta{Undo: 12}})
	step("undo", []fika.Entry{undo}, 5, 8)

	s.order, s.active = append(s.order, "c2"), "c2"
	step("reset", s.say(2), 2, 13)
	late := s.addTo("c1", fika.Entry{From: "bob", Content: "to the old one"})
	step("old conversation", []fika.Entry{late}, 2, 14)
	s.active = "c1"
	step("switch back", s.say(1), 7, 10)
	wantNotes(t, m)
	m = openMirror(t, l, s)
	wantEqual(t, f, s)
	wantNotes(t, m)
}

func TestMirrorMendsWithoutLosingEdits(t *testing.T) {
	ctx := context.Background()
	cases := []struct {
		name  string
		harm  func(t *testing.T, f Folder, s *memorySource)
		notes []string
	}{
		{"nothing", func(*testing.T, Folder, *memorySource) {}, nil},
		{"database ahead", func(_ *testing.T, _ Folder, s *memorySource) { s.say(3) }, nil},
		{"meta gone", func(t *testing.T, f Folder, _ *memorySource) { _ = os.Remove(f.path(metaName)) }, nil},
		{"meta torn", func(t *testing.T, f Folder, _ *memorySource) { write(t, f.path(metaName), `{"created_at":`) }, nil},
		{"meta hostile", func(t *testing.T, f Folder, _ *memorySource) {
			write(t, f.path(metaName), `{"created_at":1,"seen":{"c1":6},"active":"c1","files":{"transcript.md":{"size":-5,"last_size":999999999999}}}`)
		}, nil},
		{"meta without what was seen", func(t *testing.T, f Folder, _ *memorySource) {
			head, _, _ := strings.Cut(read(t, f.path(metaName)), `,
  "seen"`)
			write(t, f.path(metaName), head+"\n}\n")
		}, nil},
		{"context torn", func(t *testing.T, f Folder, s *memorySource) {
			own, _ := entryLine(s.say(1)[0])
			appendTo(t, f.path(contextName), string(own[:20]))
		}, nil},
		{"context NULs", func(t *testing.T, f Folder, _ *memorySource) {
			appendTo(t, f.path(contextName), strings.Repeat("\x00", 500))
		}, nil},
		{"context cut", func(t *testing.T, f Folder, _ *memorySource) { _ = os.Truncate(f.path(contextName), 100) }, nil},
		{"context edited", func(t *testing.T, f Folder, _ *memorySource) {
			write(t, f.path(contextName), strings.ReplaceAll(read(t, f.path(contextName)), "words", "swords"))
		}, []string{"context.jsonl.edited-"}},
		{"context line added", func(t *testing.T, f Folder, _ *memorySource) {
			appendTo(t, f.path(contextName), `{"id":"x","timestamp":1,"from":"eve","to":"coder","content":"hi","entry_type":"message"}`+"\n")
		}, []string{"context.jsonl.edited-"}},
		{"archive gone", func(t *testing.T, f Folder, _ *memorySource) { _ = os.Remove(f.path(archiveName)) }, nil},
		{"archive torn", func(t *testing.T, f Folder, s *memorySource) {
			own, _ := entryLine(s.entries["c1"][4])
			appendTo(t, f.path(archiveName), string(own)+string(own[:9]))
		}, nil},
		{"archive edited", func(t *testing.T, f Folder, _ *memorySource) { appendTo(t, f.path(archiveName), "my notes\n") }, []string{"transcript_archive.jsonl.edited-"}},
		{"transcript gone", func(t *testing.T, f Folder, _ *memorySource) { _ = os.Remove(f.path(transcriptName)) }, nil},
		{"transcript torn", func(t *testing.T, f Folder, s *memorySource) {
			appendTo(t, f.path(transcriptName), string(renderEntry(s.say(1)[0])[:11]))
		}, nil},
		{"transcript torn with NULs", func(t *testing.T, f Folder, s *memorySource) {
			appendTo(t, f.path(transcriptName), string(renderEntry(s.say(2)[0])[:11])+"\x00\x00\x00")
		}, nil},
		{"transcript touched", func(t *testing.T, f Folder, s *memorySource) {
			_ = os.Chtimes(f.path(transcriptName), time.Unix(1, 0), time.Unix(1, 0))
		}, nil},
		{"transcript with notes", func(t *testing.T, f Folder, _ *memorySource) { appendTo(t, f.path(transcriptName), "I disagree.\n") }, []string{"transcript.md.edited-"}},
		{"transcript edited", func(t *testing.T, f Folder, _ *memorySource) {
			write(t, f.path(transcriptName), "# mine\n"+read(t, f.path(transcriptName)))
		}, []string{"transcript.md.edited-"}},
		{"everything gone", func(t *testing.T, f Folder, _ *memorySource) {
			for _, n := range []string{contextName, archiveName, transcriptName, metaName} {
				_ = os.Remove(f.path(n))
			}
		}, nil},
		{"another database", func(_ *testing.T, _ Folder, s *memorySource) {
			s.order, s.active, s.entries = []fika.ConversationID{"z"}, "z", map[fika.ConversationID][]fika.Entry{}
			s.say(1)
		}, []string{"transcript.md", "context.jsonl", "transcript_archive.jsonl"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := testFolder(t)
			l := testLock(t, f)
			s := newSource("c1")
			m := openMirror(t, l, s)
			if err := m.Append(ctx, append(s.say(6), s.compact(3))...); err != nil {
				t.Fatal(err)
			}
			c.harm(t, f, s)
			m = openMirror(t, l, s)
			wantEqual(t, f, s)
			wantNotes(t, m, c.notes...)
			if err := m.Append(ctx, s.say(2)...); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, f, s)
			s.reads = 0
			wantNotes(t, openMirror(t, l, s))
			if s.reads != 0 {
				t.Errorf("not settled: %d reads", s.reads)
			}
		})
	}
}

// TestMirrorKnowsInterleavedConversations: a transcript in which conversations
// alternate is known again without the meta.
func TestMirrorKnowsInterleavedConversations(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	s := newSource("c1", "c2")
	m := openMirror(t, l, s)
	for i := range 6 {
		if err := m.Append(context.Background(), s.addTo(s.order[i%2], fika.Entry{From: "bob", Content: "in turn"})); err != nil {
			t.Fatal(err)
		}
	}
	wantEqual(t, f, s)
	_ = os.Remove(f.path(metaName))
	m = openMirror(t, l, s)
	wantEqual(t, f, s)
	wantNotes(t, m)
}

func TestMirrorNoticesEditsWhileItWorks(t *testing.T) {
	for _, name := range []string{transcriptName, contextName, archiveName} {
		t.Run(name, func(t *testing.T) {
			f := testFolder(t)
			s := newSource("c1")
			m := openMirror(t, testLock(t, f), s)
			ctx := context.Background()
			if err := m.Append(ctx, append(s.say(2), s.compact(1), s.compact(2))...); err != nil {
				t.Fatal(err)
			}
			appendTo(t, f.path(name), "mine\n")
			if err := m.Append(ctx, append(s.say(1), s.compact(4))...); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, f, s)
			wantNotes(t, m, name+".edited-")
			kept, _ := filepath.Glob(f.path(name + ".edited-*"))
			if len(kept) != 1 || !strings.HasSuffix(read(t, kept[0]), "mine\n") {
				t.Fatalf("kept %q", kept)
			}
		})
	}
}

func TestMirrorRefusesWithoutLock(t *testing.T) {
	f := testFolder(t)
	l := testLock(t, f)
	s := newSource("c1")
	m := openMirror(t, l, s)
	_ = l.Close()
	if err := m.Append(context.Background(), s.say(1)...); !fika.IsKind(err, fika.Lost) {
		t.Fatalf("got %v", err)
	}
}

func TestMetaKeepsWhatOthersWrote(t *testing.T) {
	f := testFolder(t)
	write(t, f.path(metaName), `{"created_at":1700000000,"system_prompt_md_mtime":5}`)
	s := newSource("c1")
	m := openMirror(t, testLock(t, f), s)
	if err := m.Append(context.Background(), s.say(1)...); err != nil {
		t.Fatal(err)
	}
	got := read(t, f.path(metaName))
	for _, want := range []string{`"created_at": "2023-11-14T22:13:20Z"`, `"system_prompt_md_mtime": 5`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nmisses %s", got, want)
		}
	}
}

func TestMetaDamagedKeepsCreatedAt(t *testing.T) {
	f := testFolder(t)
	s := newSource("c1")
	l := testLock(t, f)
	if err := openMirror(t, l, s).Append(context.Background(), s.say(1)...); err != nil {
		t.Fatal(err)
	}
	write(t, f.path(metaName), strings.Replace(read(t, f.path(metaName)), "20", "19", 1)[:60])
	want, err := f.CreatedAt()
	if err != nil || want.Year() > 1999 {
		t.Fatal(want, err)
	}
	m := openMirror(t, l, s)
	wantEqual(t, f, s)
	wantNotes(t, m)
	if got, err := f.CreatedAt(); err != nil || !got.Equal(want) {
		t.Fatal(got, err)
	}
}

// BenchmarkOneShot is what the mirror costs a one-shot prompt: open, one turn.
func BenchmarkOneShot(b *testing.B) {
	f := testFolder(b)
	l := testLock(b, f)
	s := newSource("c1")
	ctx := context.Background()
	if err := openMirror(b, l, s).Append(ctx, s.say(200)...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m, err := OpenMirror(ctx, l, s)
		if err == nil {
			err = m.Append(ctx, s.say(2)...)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
