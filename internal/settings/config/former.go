package config

import (
	"fmt"
	"strings"

	"fika/internal/settings/toml"
)

// formerNames returns the names that keys had before, with the present ones. They are
// read as before, in any table.
func formerNames() map[string]string {
	return map[string]string{
		"lock_heartbeat_seconds": "lock_heartbeat", "turn_timeout_seconds": "turn_timeout", "timeout_ms": "timeout", "timeout_seconds": "timeout",
		"reconnect_delay_ms": "reconnect_delay", "max_idle_seconds": "max_idle", "delegate_deadline_seconds": "delegate_deadline",
		"max_silent_seconds": "max_silent", "max_seconds": "max_time",
	}
}

// goneKeys returns the keys that are still read and do nothing, with the version since
// which that is so.
func goneKeys() map[string]string {
	return map[string]string{"max_delegate_deadline_seconds": "0.1", "max_spool_bytes": "0.1"}
}

// takeFormer gives the keys of a file their present names, and takes those out that do
// nothing, of which it returns a line each.
func takeFormer(s *toml.Source) []string {
	var gone []string
	var walk func(t *table)
	walk = func(t *table) {
		if t == nil {
			return
		}
		kept := t.Entries[:0]
		for _, e := range t.Entries {
			if since := goneKeys()[e.Name]; since != "" {
				gone = append(gone, fmt.Sprintf("%s: %s does nothing since version %s: remove it", s.Place(e.At), e.Name, since))
				continue
			}
			if now := formerNames()[e.Name]; now != "" {
				if t.Get(now) != nil {
					s.Problem(e.At, "%s is the former name of %s, which is set here, too", e.Name, now)
					continue
				}
				if strings.HasSuffix(e.Name, "_ms") && e.Value.Kind == toml.KindInt {
					e.Value.Kind, e.Value.Text = toml.KindText, strings.ReplaceAll(e.Value.Text, "_", "")+"ms"
				}
				e.Name = now
			}
			if e.Name != "env" && e.Name != "headers" { // their names are the person's own
				walk(e.Value.Table)
				for i := range e.Value.Items {
					walk(e.Value.Items[i].Table)
				}
			}
			kept = append(kept, e)
		}
		t.Entries = kept
	}
	walk(s.Root)
	return gone
}

// Notes returns a line for each key in the files that does nothing.
func (c *Config) Notes() []string { return c.gone }
