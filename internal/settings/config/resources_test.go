package config

import (
	"strings"
	"testing"
)

// What is no limit is refused where it stands, and says what would be one.
func TestLimitsOfAgents(t *testing.T) {
	for _, c := range []struct{ limits, wrong string }{
		{`memory = "2GiB", cpu = 1.5, pids = 200, required = true`, ""},
		{`memory = 1073741824`, ""},
		{`memory = "1.5 GiB"`, ""},
		{`memory = 0`, "at least 16MiB"},
		{`memory = "0"`, "unit"},
		{`memory = "4KiB"`, "at least 16MiB"},
		{`memory = "much"`, "512MiB"},
		{`memory = "-2GiB"`, "at least 16MiB"},
		{`memory = "9999999TiB"`, "512MiB"},
		{`memory = true`, "must be a number of bytes"},
		{`cpu = 0`, "from 0.01"},
		{`cpu = -1`, "from 0.01"},
		{`pids = 0`, "from 8"},
		{`pids = 2.5`, "whole number"},
		{`required = "yes"`, "true or false"},
		{`swap = "1GiB"`, "unknown key"},
	} {
		got, err := Parse("config.toml", []byte("[[agents]]\nid = \"a\"\n[agents.limits]\n"+strings.ReplaceAll(c.limits, ", ", "\n")+"\n"))
		switch {
		case c.wrong == "" && (err != nil || !got.Agents[0].Resources.AnySet()):
			t.Errorf("%s: %+v, %v", c.limits, got, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), "config.toml:4:")):
			t.Errorf("%s: %v instead of %q", c.limits, err, c.wrong)
		}
	}
	if got := (Resources{Memory: 2 << 30, CPU: 1.5, PIDs: 200, Required: true}).encode(); got != `{memory = "2GiB", cpu = 1.5, pids = 200, required = true}` {
		t.Error(got)
	}
}

// FuzzBytes: an amount of memory is refused, or is one that can be written and read
// again.
func FuzzBytes(f *testing.F) {
	for _, s := range []string{"512MiB", "1.5G", "2 TB", "-1KiB", "1e300T", "nanB", "0x10K", "1_000", "infB", "1048576"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseBytes(text)
		if !ok || n <= 0 {
			return
		}
		if again, ok := parseBytes(strings.Trim(encodeBytes(Bytes(n)), `"`)); !ok || again != n && n < 1<<53 || n >= 1<<60 {
			t.Fatalf("%q is %d, and that is %d, %t", text, n, again, ok)
		}
	})
}
