package file_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"fika"
	"fika/internal/tool"
	"fika/internal/tool/file"
	"fika/internal/tool/tooltest"
)

// kit is the four tools over one workspace.
type kit struct {
	t     testing.TB
	dir   string
	tools map[string]tool.Tool
}

func newKit(t testing.TB) kit {
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k := kit{t: t, dir: dir, tools: map[string]tool.Tool{}}
	for _, one := range file.Tools(file.Options{}) {
		k.tools[one.Spec().Name] = one
	}
	return k
}

func (k kit) write(name, content string) {
	k.t.Helper()
	path := filepath.Join(k.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k kit) content(name string) string {
	k.t.Helper()
	raw, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil {
		k.t.Fatal(err)
	}
	return string(raw)
}

func (k kit) call(name string, args map[string]any) (tool.Tool, tool.Call) {
	k.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		k.t.Fatal(err)
	}
	return k.tools[name], tool.Call{Step: "req/1", Name: name, Args: raw, Workspace: k.dir}
}

func (k kit) do(name string, args map[string]any) tool.Result {
	k.t.Helper()
	one, c := k.call(name, args)
	r, err := one.Call(k.t.Context(), c)
	if err != nil {
		k.t.Fatalf("%s %v: %v", name, args, err)
	}
	if !utf8.ValidString(r.Text) {
		k.t.Errorf("%s %v: not UTF-8", name, args)
	}
	return r
}

func (k kit) ok(name string, args map[string]any) string {
	k.t.Helper()
	r := k.do(name, args)
	if r.IsError {
		k.t.Errorf("%s %v: %s", name, args, r.Text)
	}
	return r.Text
}

func (k kit) fails(name string, args map[string]any, want string) tool.Result {
	k.t.Helper()
	r := k.do(name, args)
	if !r.IsError || !strings.Contains(r.Text, want) {
		k.t.Errorf("%s %v: want an error with %q, got %+v", name, args, want, r)
	}
	return r
}

type m = map[string]any

func TestConformance(t *testing.T) {
	k := newKit(t)
	k.write("a.txt", "one\ntwo\n")
	for name, c := range map[string]tooltest.Case{
		"read":   {Good: []string{`{"path":"a.txt"}`, `{"path":"a.txt","offset":2,"limit":1,"numbers":true}`}, Bad: []string{`{"path":""}`, `{"path":"none"}`, `{"path":".."}`}},
		"list":   {Good: []string{`{}`, `{"path":"*.txt"}`, `{"path":"."}`}, Bad: []string{`{"path":"none"}`, `{"path":"/etc"}`, `{"path":"[a"}`}},
		"edit":   {Good: []string{`{"path":"a.txt","old":"one","new":"1"}`}, Bad: []string{`{"path":"a.txt","old":"","new":"x"}`, `{"path":"a.txt","old":"zzz","new":"x"}`}},
		"create": {Good: []string{`{"path":"d/e/f.txt","content":"x"}`}, Bad: []string{`{"path":"a.txt","content":"x"}`, `{"path":"d/","content":"x"}`, `{"path":"a.txt/b","content":"x"}`}},
	} {
		c.Tool, c.Workspace = k.tools[name], k.dir
		t.Run(name, func(t *testing.T) { tooltest.Run(t, c) })
	}
}

func TestReadRanges(t *testing.T) {
	k := newKit(t)
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	k.write("long", b.String())
	if got := k.ok("read", m{"path": "long", "offset": 10, "limit": 2}); got != "line 10\nline 11\n[lines 10-11 of 5000; continue with offset 12]" {
		t.Errorf("got %q", got)
	}
	if got := k.ok("read", m{"path": "long", "offset": 4999, "numbers": true}); got != "4999\tline 4999\n5000\tline 5000\n[lines 4999-5000, the end]" {
		t.Errorf("got %q", got)
	}
	if got := k.ok("read", m{"path": "long"}); !strings.HasSuffix(got, "[lines 1-2000 of 5000; continue with offset 2001]") {
		t.Errorf("got %q", got[len(got)-100:])
	}
	if got := k.ok("read", m{"path": "long", "offset": 1, "limit": 5000}); len(got) > 30<<10 || !strings.Contains(got, "of 5000; continue with offset ") {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-100:])
	}
	k.fails("read", m{"path": "long", "offset": 5001}, "has 5000 lines")
	k.fails("read", m{"path": "long", "offset": -1}, "at least 1")
	k.write("empty", "")
	k.write("noend", "a\nb")
	k.write("wide", strings.Repeat("ä", 50_000)+"\nnext")
	k.write("crlf", "a\r\nb\r\n")
	k.write("latin", "caf\xe9\x1b[31m\n")
	for name, want := range map[string]string{"empty": "(empty file)", "noend": "a\nb\n", "crlf": "a\nb\n", "latin": "caf\uFFFD␛[31m\n"} {
		if got := k.ok("read", m{"path": name}); got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
	if got := k.ok("read", m{"path": "wide"}); len(got) > 3000 || !strings.HasSuffix(got, "[100001 bytes in this line]\nnext\n") {
		t.Errorf("got %d bytes: %q", len(got), got[max(0, len(got)-80):])
	}
}

func TestReadRefusesWhatIsNoText(t *testing.T) {
	k := newKit(t)
	k.write("bin", "\x7fELF\x00\x00")
	k.write("dir/x", "")
	if err := syscall.Mkfifo(filepath.Join(k.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.fails("read", m{"path": "bin"}, "binary file (6 bytes")
	k.fails("read", m{"path": "dir"}, "use list")
	k.fails("read", m{"path": "pipe"}, "not a regular file")
	k.fails("edit", m{"path": "pipe", "old": "a", "new": "b"}, "not a regular file")
	k.fails("create", m{"path": "pipe", "content": "a", "overwrite": true}, "not a regular file")
	k.fails("read", m{"path": "bin/x"}, "no directory")
}

func TestList(t *testing.T) {
	k := newKit(t)
	for _, name := range []string{"a.go", "b.txt", "sub/c.go", "sub/deep/d.go", ".git/config", "sub/.git/x", ".hidden/e.go", "odd\nname"} {
		k.write(name, "12345")
	}
	if err := os.Symlink("a.go", filepath.Join(k.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		".":          ".hidden/\na.go  5 B\nb.txt  5 B\nlink -> a.go\n\"odd\\nname\"  5 B\nsub/",
		"sub":        "c.go  5 B\ndeep/",
		"sub/":       "c.go  5 B\ndeep/",
		"*.go":       "a.go  5 B",
		"**/*.go":    "a.go  5 B\nsub/c.go  5 B\nsub/deep/d.go  5 B",
		"sub/**":     "sub/c.go  5 B\nsub/deep/\nsub/deep/d.go  5 B",
		"**/deep/**": "sub/deep/d.go  5 B",
		".hid*/*":    ".hidden/e.go  5 B",
		"*.nothing":  "(nothing)",
		"a.go":       "a.go  5 B",
		k.dir:        ".hidden/\na.go  5 B\nb.txt  5 B\nlink -> a.go\n\"odd\\nname\"  5 B\nsub/",
	} {
		if got := k.ok("list", m{"path": path}); got != want {
			t.Errorf("%s: want\n%s\ngot\n%s", path, want, got)
		}
	}
	k.fails("list", m{"path": "none"}, "does not exist")
	k.fails("list", m{"path": "none/*"}, "does not exist")
}

func TestListIsBounded(t *testing.T) {
	k := newKit(t)
	for i := range 30 {
		k.write(fmt.Sprintf("d%d/f%02d", i%3, i), "")
	}
	// A ring of links must not be walked.
	if err := os.Symlink("..", filepath.Join(k.dir, "d0", "up")); err != nil {
		t.Fatal(err)
	}
	small := file.Tools(file.Options{Entries: 5})[1]
	_, c := k.call("list", m{"path": "**/f*"})
	if r, err := small.Call(t.Context(), c); err != nil || strings.Count(r.Text, "\n") != 5 || !strings.Contains(r.Text, "only the first 5") {
		t.Errorf("got %+v, %v", r, err)
	}
	tight := file.Tools(file.Options{Visits: 7})[1]
	if r, err := tight.Call(t.Context(), c); err != nil || !strings.Contains(r.Text, "not everything was looked at") {
		t.Errorf("got %+v, %v", r, err)
	}
	if got := k.ok("list", m{"path": "**"}); strings.Count(got, "\n") != 33 {
		t.Errorf("got %d lines", strings.Count(got, "\n"))
	}
}

func TestEdit(t *testing.T) {
	k := newKit(t)
	k.write("f.go", "package x\n\nfunc a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n")
	if got := k.ok("edit", m{"path": "f.go", "old": "func a() {\n\treturn 1", "new": "func a() {\n\treturn 2"}); got != "edited f.go (line 3)" {
		t.Errorf("got %q", got)
	}
	k.fails("edit", m{"path": "f.go", "old": "return", "new": "x"}, "2 times in f.go (lines 4, 8)")
	k.fails("edit", m{"path": "f.go", "old": "    return 1", "new": "x"}, "line 8:\n\treturn 1\n")
	k.fails("edit", m{"path": "f.go", "old": "entirely different words here", "new": "x"}, "does not occur in f.go: read the file")
	k.fails("edit", m{"path": "f.go", "old": "a", "new": "a"}, "the same")
	k.fails("edit", m{"path": "gone", "old": "a", "new": "b"}, "does not exist")
	if got := k.ok("edit", m{"path": "f.go", "old": "return", "new": "yield", "replace_all": true}); got != "edited f.go (lines 4, 8)" {
		t.Errorf("got %q", got)
	}
	if got := k.content("f.go"); got != "package x\n\nfunc a() {\n\tyield 2\n}\n\nfunc b() {\n\tyield 1\n}\n" {
		t.Errorf("got %q", got)
	}
}

func TestEditKeepsLineEndsAndMode(t *testing.T) {
	k := newKit(t)
	k.write("dos", "a\r\nb\r\nc\r\n")
	k.ok("edit", m{"path": "dos", "old": "a\nb", "new": "1\n2\n3"})
	k.ok("edit", m{"path": "dos", "old": "c", "new": "x\ny"})
	if got := k.content("dos"); got != "1\r\n2\r\n3\r\nx\r\ny\r\n" {
		t.Errorf("got %q", got)
	}
	k.write("mixed", "a\r\nb\n")
	k.ok("edit", m{"path": "mixed", "old": "b\n", "new": "c\nd\n"})
	if got := k.content("mixed"); got != "a\r\nc\nd\n" {
		t.Errorf("got %q", got)
	}
	k.write("raw", "caf\xe9 x")
	k.ok("edit", m{"path": "raw", "old": "x", "new": "y"})
	if got := k.content("raw"); got != "caf\xe9 y" {
		t.Errorf("got %q", got)
	}
	script := filepath.Join(k.dir, "dos")
	if err := os.Chmod(script, 0o751); err != nil {
		t.Fatal(err)
	}
	k.ok("edit", m{"path": "dos", "old": "x", "new": "z"})
	k.ok("create", m{"path": "dos", "content": "new", "overwrite": true})
	if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(script, 0o444); err != nil {
		t.Fatal(err)
	}
	k.fails("edit", m{"path": "dos", "old": "n", "new": "m"}, "read-only")
	k.fails("create", m{"path": "dos", "content": "new", "overwrite": true}, "read-only")
}

func TestCreate(t *testing.T) {
	k := newKit(t)
	k.ok("create", m{"path": "deep/er/f", "content": "1"})
	k.fails("create", m{"path": "deep/er/f", "content": "2"}, "exists")
	k.fails("create", m{"path": "deep", "content": "2"}, "is a directory")
	if got := k.content("deep/er/f"); got != "1" {
		t.Errorf("got %q", got)
	}
	if got := k.ok("create", m{"path": filepath.Join(k.dir, "deep/er/f"), "content": "2", "overwrite": true}); !strings.HasPrefix(got, "replaced") {
		t.Errorf("got %q", got)
	}
	k.ok("create", m{"path": "empty", "content": ""})
	left, err := filepath.Glob(filepath.Join(k.dir, "*", "*", ".fika-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestWritingToALinkChangesWhatItMeans(t *testing.T) {
	k := newKit(t)
	k.write("sub/real", "old")
	if err := os.Symlink("sub/real", filepath.Join(k.dir, "link")); err != nil {
		t.Fatal(err)
	}
	k.ok("edit", m{"path": "link", "old": "old", "new": "new"})
	if got := k.content("sub/real"); got != "new" {
		t.Errorf("got %q", got)
	}
	if info, err := os.Lstat(filepath.Join(k.dir, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link has become a file")
	}
}

func TestOneOfManyCreatesWins(t *testing.T) {
	k := newKit(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 20 {
		wg.Go(func() {
			one, c := k.call("create", m{"path": "f", "content": strings.Repeat(fmt.Sprint(i%10), 1000)})
			c.Step = fmt.Sprintf("req/%d", i)
			if r, err := one.Call(t.Context(), c); err == nil && !r.IsError {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if got := k.content("f"); won != 1 || strings.Trim(got, got[:1]) != "" {
		t.Errorf("%d won, content %.20q", won, got)
	}
}

func TestHash(t *testing.T) {
	k := newKit(t)
	hash := func(name string, args m) string {
		t.Helper()
		one, c := k.call(name, args)
		v, ok := tool.VerifierOf(one)
		if !ok {
			t.Fatalf("%s does not verify", name)
		}
		h, err := v.Hash(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	args := m{"path": "d/f", "content": "hello"}
	if got := hash("create", args); got != "absent" {
		t.Errorf("got %q", got)
	}
	k.ok("create", args)
	sum := sha256.Sum256([]byte("hello"))
	if got := hash("create", args); got != hex.EncodeToString(sum[:]) {
		t.Errorf("got %q", got)
	}
	before := hash("edit", m{"path": "d/f", "old": "h", "new": "j"})
	k.ok("edit", m{"path": "d/f", "old": "h", "new": "j"})
	if after := hash("edit", m{"path": "d/f", "old": "h", "new": "j"}); after == before {
		t.Error("an edit did not change the hash")
	}
	if got := hash("create", m{"path": "d", "content": ""}); got != "irregular" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkEdit(b *testing.B) {
	k := newKit(b)
	k.write("f", strings.Repeat("some line of text\n", 1000)+"a")
	for i := 0; b.Loop(); i++ {
		from, to := "text\na", "text\nb"
		if i%2 == 1 {
			from, to = to, from
		}
		k.ok("edit", m{"path": "f", "old": from, "new": to})
	}
}

// shelf keeps what begins like a PNG or a PDF, up to 100 bytes.
type shelf struct{ kept map[string]string }

func (s shelf) Takes(begin []byte) bool {
	return bytes.HasPrefix(begin, []byte("\x89PNG")) || bytes.HasPrefix(begin, []byte("%PDF-"))
}

func (s shelf) Put(name string, data []byte) (fika.Attachment, error) {
	if len(data) > 100 {
		return fika.Attachment{}, fika.Errorf(fika.Invalid, "", "%s is too large", name)
	}
	s.kept[name] = string(data)
	mime := "image/png"
	if data[0] == '%' {
		mime = "application/pdf"
	}
	return fika.Attachment{SHA256: "hash", MIME: mime, Bytes: int64(len(data)), Name: name}, nil
}

// A picture or a document that is read is kept for the model to see; one that nobody can send
// is refused, and so is any where nothing keeps them.
func TestReadPictures(t *testing.T) {
	k := newKit(t)
	kept := shelf{map[string]string{}}
	seeing := newKit(t)
	for _, one := range file.Tools(file.Options{Pictures: kept}) {
		seeing.tools[one.Spec().Name] = one
	}
	seeing.dir = k.dir
	k.write("shot.png", "\x89PNG\r\n\x1a\n\x00\x00")
	k.write("a\x1b[2Jb.pdf", "%PDF-1.7 text")
	k.write("large.png", "\x89PNG"+strings.Repeat("x", 200))
	k.write("huge.pdf", "%PDF-"+strings.Repeat("x", 9<<20))
	k.write("program", "\x7fELF\x00")

	r := seeing.do("read", m{"path": "shot.png"})
	if r.IsError || r.Text != "[picture shot.png: image/png, 10 bytes]" || len(r.Attachments) != 1 || r.File != "shot.png" || kept.kept["shot.png"] != k.content("shot.png") {
		t.Errorf("%+v", r)
	}
	if r := seeing.do("read", m{"path": "a\x1b[2Jb.pdf"}); r.IsError || len(r.Attachments) != 1 || strings.ContainsRune(r.Text, '\x1b') || !strings.HasPrefix(r.Text, "[document ") {
		t.Errorf("%+v", r)
	}
	seeing.fails("read", m{"path": "large.png"}, "too large")
	seeing.fails("read", m{"path": "huge.pdf"}, "of 9437189 bytes")
	seeing.fails("read", m{"path": "program"}, "binary file")
	k.fails("read", m{"path": "shot.png"}, "binary file (10 bytes")
	if r := k.do("read", m{"path": "a\x1b[2Jb.pdf"}); r.IsError || len(r.Attachments) != 0 {
		t.Errorf("%+v", r)
	}
}
