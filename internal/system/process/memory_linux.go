package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// MarkedMemory returns how much memory the processes of this user whose marks begin with a
// prefix use, in bytes and by mark. What several processes share counts for each with its
// part. It reads all of /proc.
func MarkedMemory(prefix string) map[string]int64 {
	out := map[string]int64{}
	for _, pid := range listPIDs() {
		if mark := markOf(pid); strings.HasPrefix(mark, prefix) {
			out[mark] += memoryOf(pid)
		}
	}
	return out
}

// memoryOf returns the memory of a process, in bytes; 0: that is not told.
func memoryOf(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(raw) {
		if words := bytes.Fields(line); len(words) == 3 && string(words[0]) == "Pss:" {
			kib, _ := strconv.ParseInt(string(words[1]), 10, 64)
			return kib << 10
		}
	}
	return 0
}
