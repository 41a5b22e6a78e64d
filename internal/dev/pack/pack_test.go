package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestArchive: times, owners and rights of the files that are there leave no trace but
// whether a file can be run, and what is no file is refused.
func TestArchive(t *testing.T) {
	var archives [][]byte
	for i, mode := range []os.FileMode{0o700, 0o775} {
		dir := filepath.Join(t.TempDir(), "files")
		for _, err := range []error{
			os.MkdirAll(filepath.Join(dir, "sub"), mode),
			os.WriteFile(filepath.Join(dir, "sub", "run"), []byte("text"), mode),
			os.WriteFile(filepath.Join(dir, "a"), nil, 0o600+os.FileMode(i)*0o44),
			os.Chtimes(filepath.Join(dir, "a"), time.Unix(int64(i), 0), time.Unix(int64(i), 0)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(t.TempDir(), "x.tar.gz")
		if err := pack([]string{"archive", file, "top", dir}, "1700000000", io.Discard); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
		if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if err := pack([]string{"archive", file, "top", dir}, "1700000000", io.Discard); err == nil {
			t.Error("a link was packed")
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of the same files differ")
	}
	zip, err := gzip.NewReader(bytes.NewReader(archives[0]))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.FileInfo().Mode().String()+" "+h.Name)
	}
	want := []string{"drwxr-xr-x top/", "-rw-r--r-- top/a", "drwxr-xr-x top/sub/", "-rwxr-xr-x top/sub/run"}
	if !slices.Equal(names, want) {
		t.Errorf("it holds %q instead of %q", names, want)
	}
}

// TestBill: what this test is made of, as the compiler wrote it into it.
func TestBill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := pack([]string{"sbom", self, "1.2.3"}, "1700000000", &out); err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(out.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	if b.Metadata.Component.Version != "1.2.3" || b.Metadata.Timestamp != "2023-11-14T22:13:20Z" || b.Components[0].Name != "std" {
		t.Errorf("%s", out.String())
	}
	if err := pack([]string{"sbom", self, "1.2.3"}, "", io.Discard); err == nil {
		t.Error("a bill without a time was written")
	}
}
