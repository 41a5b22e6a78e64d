package worker

import (
	"fmt"
	"testing"

	"fika/internal/settings/config"
	"fika/internal/tool"
)

// TestManyServerToolsAreDeferred: above the number that the settings name, the tools of
// servers are deferred and found by a search; tools that the agent may not use do not count
// and are not found.
func TestManyServerToolsAreDeferred(t *testing.T) {
	var served []tool.Tool
	var allow []string
	for i := range 30 {
		name := fmt.Sprintf("srv%d__do", i)
		served = append(served, tool.Func[struct{}]{About: tool.Spec{Name: name}})
		allow = append(allow, name)
	}
	for _, x := range []struct {
		above    int
		p        tool.Permissions
		deferred bool
	}{
		{20, tool.Permissions{Allow: allow}, true},
		{29, tool.Permissions{Allow: allow}, true},
		{29, tool.Permissions{}, true}, // those of an editor need not be named
		{30, tool.Permissions{Allow: allow}, false},
		{0, tool.Permissions{Allow: allow}, false},
		{20, tool.Permissions{Allow: allow[:20]}, false},
		{20, tool.Permissions{Allow: allow, Off: allow[:10]}, false},
		{20, tool.Permissions{Allow: allow, Off: []string{tool.SearchName}}, false},
	} {
		r := &Runtime{settings: config.Settings{Tools: config.Tools{SearchAbove: x.above}}}
		set, err := tool.NewSet(r.deferMany(served, x.p), x.p)
		if err != nil {
			t.Fatal(err)
		}
		if searches := set.Check(tool.SearchName) == nil; searches != x.deferred {
			t.Errorf("above %d, %d allowed, without %q: searched for: %v", x.above, len(x.p.Allow), x.p.Off, searches)
		}
		for _, s := range set.OfferedSpecs() {
			if s.Name != tool.SearchName && s.Deferred != x.deferred {
				t.Errorf("%s is deferred: %v", s.Name, s.Deferred)
			}
		}
	}
}
