package folder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fika/internal/settings/folder"
)

// TestD18Outputs: what tools printed does not fill the disk for ever.
func TestD18Outputs(t *testing.T) {
	h, err := folder.OpenHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.Create("notes")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	age := func(want ...string) {
		t.Helper()
		before, _ := filepath.Glob(filepath.Join(f.OutputDir(), "*"))
		n, err := f.AgeOutput(now)
		if err != nil || n != len(before)-len(want) {
			t.Errorf("removed %d of %d: %v", n, len(before), err)
		}
		var left []string
		for _, path := range before {
			if _, err := os.Lstat(path); err == nil {
				left = append(left, filepath.Base(path))
			}
		}
		slices.Sort(want)
		if !slices.Equal(left, want) {
			t.Errorf("left: %q, want %q", left, want)
		}
	}
	age() // there is nothing yet
	if err := os.MkdirAll(filepath.Join(f.OutputDir(), "dir.out"), 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name string, size int64, old time.Duration) {
		t.Helper()
		path := filepath.Join(f.OutputDir(), name)
		err := os.WriteFile(path, nil, 0o600)
		if err == nil {
			err = os.Truncate(path, size) // sparse: no disk is needed
		}
		if err == nil {
			err = os.Chtimes(path, now.Add(-old), now.Add(-old))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * time.Hour
	put("old.out", 10, 31*day)
	put("mine.txt", 10, 31*day)
	put("young.out", 10, 29*day)
	if err := os.Symlink(filepath.Join(f.OutputDir(), "mine.txt"), filepath.Join(f.OutputDir(), "link.out")); err != nil {
		t.Fatal(err)
	}
	age("dir.out", "mine.txt", "young.out", "link.out")

	for n := range 5 { // five quarters of a gibibyte, and one that was made just now
		put(fmt.Sprintf("%d.out", n), 256<<20, time.Duration(10-n)*day)
	}
	put("now.out", 256<<20, time.Minute)
	age("dir.out", "mine.txt", "link.out", "2.out", "3.out", "4.out", "now.out")
	for n := range 8 {
		put(fmt.Sprintf("now%d.out", n), 256<<20, time.Minute)
	}
	age("dir.out", "mine.txt", "link.out", "now.out", "now0.out", "now1.out", "now2.out", "now3.out", "now4.out", "now5.out", "now6.out", "now7.out")
}
