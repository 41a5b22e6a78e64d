package folder

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
)

const seed = `{"id":"uuid1","timestamp":1234567890,"from":"alice","to":"default","content":"Hello","entry_type":"message"}
{"id":"uuid2","timestamp":1234567891,"from":"default","to":"read_file","content":"{\"path\":\"Cargo.toml\"}","entry_type":"tool_call"}
{"id":"uuid3","timestamp":1234567892,"from":"read_file","to":"default","content":"[package]...","entry_type":"tool_result"}
{"id":"uuid4","timestamp":1234567893,"from":"default","to":"user","content":"Here's the file...","entry_type":"message"}
`

func TestReadEntriesUnderstandsForeignLines(t *testing.T) {
	in := "\ufeff" + strings.ReplaceAll(seed, "\n", "\r\n") +
		`{"id":"n","timestamp":1.5,"from":"a","to":"b","content":"c","entry_type":"archival","role":"agent","metadata":"odd"}` + "\n\n" +
		"nonsense\n" + `"text"` + "\n" + `{}` + "\n" + `{"content":"only words"}` + "\n" +
		`{"id":"torn","timesta` + "\x00\x00\x00"
	entries, problems, err := ReadEntries(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 6 || entries[0].From != "alice" || entries[4].ID != "n" || entries[5].ID == "" || entries[5].Type != fika.Message {
		t.Fatalf("%+v", entries)
	}
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if d := cmp.Diff([]int{7, 8, 9, 11}, lines); d != "" {
		t.Fatal(d, problems)
	}
}

func TestReadEntriesSurvivesHugeLines(t *testing.T) {
	if testing.Short() {
		t.Skip("64 MiB")
	}
	huge := bytes.Repeat([]byte("x"), maxLine+10)
	entries, problems, err := ReadEntries(bytes.NewReader(append(append(huge, '\n'), seed...)))
	if err != nil || len(entries) != 4 || len(problems) != 1 || problems[0].Line != 1 || len(problems[0].Raw) > 64<<10 {
		t.Fatal(len(entries), len(problems), err)
	}
}

func TestExportWorksElsewhere(t *testing.T) {
	f := testFolder(t)
	s := newSource("c1", "c2")
	s.active = "c1"
	s.say(2)
	s.active = "c2"
	s.say(6)
	s.compact(4, 2)
	write(t, f.TextPath(SystemPrompt), "be brief")
	write(t, f.LocalConfig(), "model = \"x\"\n")
	all := append(append([]fika.Entry{}, s.entries["c1"]...), s.entries["c2"]...)
	dst := filepath.Join(t.TempDir(), "deep", "copy")
	each := func(do func(fika.Entry) error) error {
		for _, e := range all {
			if err := do(e); err != nil {
				return err
			}
		}
		return nil
	}
	if n, err := f.Export(dst, each); err != nil || n != len(all) {
		t.Fatal(n, err)
	}
	if _, err := f.Export(dst, each); !fika.IsKind(err, fika.Conflict) {
		t.Fatalf("got %v", err)
	}
	c, err := ReadFolder(dst)
	if err != nil {
		t.Fatal(err)
	}
	window := collect(t, c, false)
	if len(window) != 4 || c.CountArchived() != 5 || c.Texts[SystemPrompt] != "be brief" || c.Local == nil || len(c.Problems) != 0 {
		t.Fatalf("%+v", c)
	}
	if made, _ := f.CreatedAt(); !c.CreatedAt.Equal(made) {
		t.Error(c.CreatedAt, made)
	}
	want := s.entries["c2"][6]
	want.Conversation = ""
	if d := cmp.Diff(want, window[3]); d != "" {
		t.Error(d)
	}
}

func collect(t *testing.T, c Content, archived bool) (all []fika.Entry) {
	t.Helper()
	if err := c.EachOf(archived, func(e fika.Entry) error { all = append(all, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestReadFolderUnderstandsOtherForms(t *testing.T) {
	t.Run("partitions and repeats", func(t *testing.T) {
		dir := t.TempDir()
		_ = os.MkdirAll(filepath.Join(dir, "transcript", "partitions"), 0o700)
		rows := strings.SplitAfter(seed, "\n")
		write(t, filepath.Join(dir, "transcript", "partitions", "1-2.jsonl"), rows[0]+rows[1])
		write(t, filepath.Join(dir, "transcript", "active.jsonl"), rows[2]+rows[3])
		write(t, filepath.Join(dir, "context.jsonl"), rows[2]+rows[3])
		c, err := ReadFolder(dir)
		older := collect(t, c, true)
		if err != nil || len(older) != 2 || older[0].ID != "uuid1" || c.CountWindow() != 2 {
			t.Fatalf("%+v %v", c, err)
		}
	})
	t.Run("plain transcript", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "transcript.txt"), "[USER]: hello\nthere\n\n[ASSISTANT]: hi [x]: y\n")
		c, err := ReadFolder(dir)
		older := collect(t, c, true)
		if err != nil || len(older) != 2 || older[0].Content != "hello\nthere" || older[1].From != "assistant" || older[1].Content != "hi [x]: y" {
			t.Fatalf("%+v %v", c, err)
		}
	})
	t.Run("links that lead out", func(t *testing.T) {
		dir := t.TempDir()
		_ = os.Symlink("/etc/passwd", filepath.Join(dir, "system_prompt.md"))
		if c, err := ReadFolder(dir); err == nil {
			t.Fatalf("%+v", c)
		}
	})
	if _, err := ReadFolder(filepath.Join(t.TempDir(), "none")); !fika.IsKind(err, fika.NotFound) {
		t.Fatalf("got %v", err)
	}
}

func TestAdoptableIsAFolderFromElsewhere(t *testing.T) {
	ctx := context.Background()
	f := testFolder(t)
	s := newSource("c1")
	check := func(want bool) {
		t.Helper()
		if got, err := f.Adoptable(ctx, s); err != nil || got != want {
			t.Fatal(got, err)
		}
	}
	check(false)
	write(t, f.path(contextName), seed)
	check(true)
	c, err := ReadFolder(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(collect(t, c, true), collect(t, c, false)...) {
		s.add(e)
	}
	m := openMirror(t, testLock(t, f), s)
	wantEqual(t, f, s)
	wantNotes(t, m, "context.jsonl.edited-") // the foreign original is kept
	check(false)
}

func TestTranscriptIsForPeople(t *testing.T) {
	var b strings.Builder
	entries, _, _ := ReadEntries(strings.NewReader(seed))
	entries = append(entries,
		fika.Entry{From: "e\x1b[31mve", Content: "\x1b]0;x\x07a\r\nb\u202e", Type: fika.Message},
		fika.Entry{From: "bash", Content: "```\n" + strings.Repeat("é", longResult), Type: fika.ToolResult},
		fika.Entry{From: "system", Content: "limit\nreached", Type: fika.Notice})
	if err := WriteTranscript(&b, entries); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"## [alice] · 2009-02-13 23:31:30Z\n\nHello\n\n", "### [default] → read_file", "````\n", "more bytes in the JSON transcript",
		"## [eve] · ", "\n\na\nb\n", "> **[system]** limit\n> reached",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("misses %q in\n%s", want, got)
		}
	}
	if strings.ContainsAny(got, "\x1b\x07\r") {
		t.Error("control characters")
	}
}
