package attachment

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fika"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pictures are small ones of each kind that can be sent.
func pictures(t *testing.T) map[string][]byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 64, 48), color.Palette{color.Black, color.White})
	var p, j, g bytes.Buffer
	must(t, png.Encode(&p, img))
	must(t, jpeg.Encode(&j, img, nil))
	must(t, gif.Encode(&g, img, nil))
	webp := append([]byte("RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00"), 63, 0, 0, 47, 0, 0)
	return map[string][]byte{"image/png": p.Bytes(), "image/jpeg": j.Bytes(), "image/gif": g.Bytes(), "image/webp": webp}
}

// TestPut stores each kind of picture once, under its hash, and reads it back; a
// file that has become another is not taken for it.
func TestPut(t *testing.T) {
	s := StoreIn(t.TempDir())
	for mime, data := range pictures(t) {
		a, err := s.Put("cat", data)
		if err != nil || a.MIME != mime || a.Width != 64 || a.Height != 48 || a.Bytes != int64(len(data)) {
			t.Errorf("%s: %+v, %v", mime, a, err)
			continue
		}
		again, err := s.Put("cat", data)
		got, readErr := s.Read(a)
		if err != nil || again != a || readErr != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %+v, %v, %v", mime, again, err, readErr)
		}
		must(t, os.WriteFile(s.path(a.SHA256), []byte("other"), 0o600))
		if _, err := s.Read(a); !fika.IsKind(err, fika.Storage) {
			t.Errorf("damaged: %v", err)
		}
		if _, err := s.Put("cat", data); err != nil {
			t.Errorf("mended: %v", err)
		}
		if _, err := s.Read(a); err != nil {
			t.Errorf("mended: %v", err)
		}
	}
	for _, data := range [][]byte{nil, []byte("text"), []byte("\x89PNG\r\n\x1a\ncut"), append(pictures(t)["image/png"], make([]byte, MaxBytes)...)} {
		if _, err := s.Put("x", data); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%.10q: %v", data, err)
		}
	}
	for _, hash := range []string{"", "..", "../../etc/passwd", strings.Repeat("0", 64)} {
		if _, err := s.Read(fika.Attachment{SHA256: hash}); !fika.IsKind(err, fika.NotFound) {
			t.Errorf("%s: %v", hash, err)
		}
	}
}

// TestCopyTo takes pictures to another home, and names those that are missing.
func TestCopyTo(t *testing.T) {
	from, to := StoreIn(t.TempDir()), StoreIn(t.TempDir())
	a, err := from.Put("cat.png", pictures(t)["image/png"])
	must(t, err)
	gone := fika.Attachment{SHA256: strings.Repeat("a", 64)}
	missing, err := from.CopyTo(to, []fika.Attachment{gone, a})
	if err != nil || len(missing) != 1 || missing[0] != gone {
		t.Errorf("%v, %v", missing, err)
	}
	if _, err := to.Read(a); err != nil {
		t.Error(err)
	}
}

// TestLoad reads texts and pictures, and says what is wrong with other files
// without waiting for any of them.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	f, err := Load(file("a.md", "one\n````\ntwo"))
	if err != nil || f.Picture || f.Lines() != 3 || !strings.HasPrefix(f.Text(), "file `"+f.Path+"`:\n`````\none") || !strings.HasSuffix(f.Text(), "two\n`````") {
		t.Errorf("%+v, %v", f.Text(), err)
	}
	if f, err := Load(file("b", string(pictures(t)["image/png"]))); err != nil || !f.Picture {
		t.Errorf("%+v, %v", f, err)
	}
	pipe := filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	for path, word := range map[string]string{
		dir: "is a folder", pipe: "is a pipe", "/dev/zero": "is a device", filepath.Join(dir, "none"): "not found",
		file("binary", "\x7fELF\x00\x01"): "neither text", file("large", strings.Repeat("x", 20<<20)): "too large", file("largish", strings.Repeat("x", MaxText+1)): "too large",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestFolded shows a message without the texts of its files, and one that only
// looks like such a message as it is.
func TestFolded(t *testing.T) {
	one, two := File{Path: "a`b.go", Data: []byte("x\n```\ny\n")}, File{Path: "c.go", Data: []byte("z")}
	whole := "look\n\n" + one.Text() + "\n\n" + two.Text()
	if got, want := FoldFiles(whole), "look\n\n[file `` a`b.go ``: 3 lines]\n\n[file `c.go`: 1 line]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{"", "file `x`:", "file `x`:\n```\nopen", "file `x`:\n``\na\n``", "file x:\n```\na\n```", strings.TrimSuffix(one.Text(), "`")} {
		if got := FoldFiles(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
