package folder

import (
	"math"
	"strings"
	"testing"
)

// TestFullDisk: a home on a disk without room says so, and one with room says nothing.
func TestFullDisk(t *testing.T) {
	home := t.TempDir()
	if _, _, ok := FreeSpace(home); !ok {
		t.Skip("how much room a disk has is not known here")
	}
	if got := FullDisk(home, math.MaxInt64); !strings.Contains(got, "the disk of "+home+" is full") {
		t.Errorf("without room: %q", got)
	}
	if got := FullDisk(home, 0); got != "" {
		t.Errorf("with room: %q", got)
	}
	if got := FullDisk(home+"/missing", math.MaxInt64); got != "" {
		t.Errorf("a home that is missing: %q", got)
	}
}
