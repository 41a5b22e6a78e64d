package cgroup

import (
	"fmt"
	"strconv"
)

// Limits bound all processes of one agent's tools together. 0 means no limit.
type Limits struct {
	Memory int64   // bytes
	CPU    float64 // processors, as in 1.5
	PIDs   int64   // processes and threads
}

// AnySet reports whether any limit is set.
func (l Limits) AnySet() bool { return l != Limits{} }

// String returns the limits as they appear in a settings file.
func (l Limits) String() string {
	out := ""
	add := func(key, value string) {
		if out != "" {
			out += ", "
		}
		out += key + " " + value
	}
	if l.Memory > 0 {
		add("memory", SizeText(l.Memory))
	}
	if l.CPU > 0 {
		add("cpu", strconv.FormatFloat(l.CPU, 'g', -1, 64))
	}
	if l.PIDs > 0 {
		add("pids", strconv.FormatInt(l.PIDs, 10))
	}
	return out
}

// SizeText returns a number of bytes in the largest unit of which it is a whole number.
func SizeText(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// controllers returns the controllers that the limits need.
func (l Limits) controllers() (out []string) {
	if l.Memory > 0 {
		out = append(out, "memory")
	}
	if l.CPU > 0 {
		out = append(out, "cpu")
	}
	if l.PIDs > 0 {
		out = append(out, "pids")
	}
	return out
}
