package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memoryOf returns a line of /proc/PID/status (RssAnon, VmHWM) in MiB.
func memoryOf(pid int, key string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name != key {
			continue
		}
		kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		return kb / 1024, err
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, key)
}
