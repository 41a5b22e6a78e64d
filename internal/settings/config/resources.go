package config

import (
	"math"
	"strconv"
	"strings"

	"fika/internal/settings/toml"
)

// minMemory is less than any command needs to start.
const minMemory = 16 << 20

// resourceKeys are the keys of a table of limits. None of them may be 0: a missing key
// means no limit.
func resourceKeys() []key[Resources] {
	return []key[Resources]{
		{name: "memory", at: func(r *Resources) any { return &r.Memory }, min: minMemory, example: `"2GiB"`,
			doc: "Memory, at least 16MiB. A call that reaches the limit is ended, with everything it has started; nothing is swapped out instead."},
		{name: "cpu", at: func(r *Resources) any { return &r.CPU }, min: 0.01, max: 10000, example: "1.5",
			doc: "Processors; 0.5 is half of one. Processes that reach the limit are slowed down."},
		{name: "pids", at: func(r *Resources) any { return &r.PIDs }, min: 8, max: 4 << 20, example: "200",
			doc: "Processes and threads, at least 8. A call that reaches the limit cannot start another."},
		{name: "required", at: func(r *Resources) any { return &r.Required },
			doc: "Runs nothing where these limits cannot be enforced. Without required, calls run there without limits, and fika agent health, status and doctor report it."},
	}
}

// byteUnits returns the units of amounts, longest first.
func byteUnits() []struct {
	name  string
	bytes int64
} {
	return []struct {
		name  string
		bytes int64
	}{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
		{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
	}
}

// assignBytes reads an amount of memory: a number of bytes, or a text with a unit.
func assignBytes(p *Bytes, v value, l toml.Limits) string {
	text := strings.TrimSpace(v.Text)
	switch v.Kind {
	case toml.KindInt:
	case toml.KindText:
		if onlyDigits(text) {
			return "needs a unit, as in \"512MiB\"; bytes are written without quotes"
		}
	default:
		return "must be a number of bytes or a text like \"512MiB\"; this is " + v.Kind.String()
	}
	n, ok := parseBytes(text)
	if !ok {
		return "must be a number of bytes or a text like \"512MiB\" or \"2GiB\"; this is " + toml.Quote(text)
	}
	if n < int64(l.Min) {
		return "must be at least " + strings.Trim(encodeBytes(Bytes(l.Min)), `"`) + "; this is " + v.Text
	}
	*p = Bytes(n)
	return ""
}

// parseBytes parses an amount, and returns false if it is invalid.
func parseBytes(text string) (int64, bool) {
	unit := int64(1)
	for _, u := range byteUnits() {
		if head, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = strings.TrimSpace(head), u.bytes
			break
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsNaN(f) || f*float64(unit) >= 1<<60 {
		return 0, false
	}
	return int64(f * float64(unit)), true
}

// encodeBytes returns an amount as TOML.
func encodeBytes(n Bytes) string {
	if n == 0 {
		return ""
	}
	for _, u := range []struct {
		name  string
		bytes Bytes
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n%u.bytes == 0 {
			return `"` + strconv.FormatInt(int64(n/u.bytes), 10) + u.name + `"`
		}
	}
	return strconv.FormatInt(int64(n), 10)
}

// AnySet reports whether any resource is limited.
func (r Resources) AnySet() bool { return r.Memory > 0 || r.CPU > 0 || r.PIDs > 0 }

// encode returns limits as TOML; "" if there are none.
func (r Resources) encode() string {
	var list []string
	if r.Memory > 0 {
		list = append(list, "memory = "+encodeBytes(r.Memory))
	}
	if r.CPU > 0 {
		list = append(list, "cpu = "+toml.NumberText(r.CPU))
	}
	if r.PIDs > 0 {
		list = append(list, "pids = "+strconv.FormatInt(r.PIDs, 10))
	}
	if r.Required {
		list = append(list, "required = true")
	}
	if len(list) == 0 {
		return ""
	}
	return "{" + strings.Join(list, ", ") + "}"
}
