package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine describes the machine that produced the numbers.
type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	FS     string `json:"fs"` // of the homes
	Go     string `json:"go"`
	Load   string `json:"load"` // at the start: other work disturbs
}

func (m machine) String() string {
	return fmt.Sprintf("machine: %s, %d cores, %s, homes on %s, %s, load %s", m.CPU, m.Cores, m.Kernel, m.FS, m.Go, m.Load)
}

func describe(dir string) machine {
	m := machine{CPU: "unknown", Cores: runtime.NumCPU(), Kernel: runtime.GOOS, FS: "unknown", Go: runtime.Version(), Load: "unknown"}
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if data, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + strings.TrimSpace(string(data))
	}
	if out, err := exec.Command("stat", "-f", "-c", "%T", dir).Output(); err == nil {
		m.FS = strings.TrimSpace(string(out))
	}
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(data), " ")
	}
	return m
}
