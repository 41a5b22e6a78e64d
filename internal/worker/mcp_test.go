package worker

import (
	"testing"

	"fika"
)

// TestServersOfOtherHomes holds that no process takes the servers of another home
// for its own that were left running, and ends them.
func TestServersOfOtherHomes(t *testing.T) {
	seen := map[string]bool{}
	for _, home := range []string{"/home/ada/one/.fika", "/home/ada/two/.fika", "/home/ada/.fika"} {
		for _, name := range []string{"default", "coder"} {
			seen[serverMark(home, fika.AgentName(name))] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d marks for 6 contexts: %v", len(seen), seen)
	}
	if !seen[serverMark("/home/ada/.fika", "coder")] {
		t.Error("the next process of a context does not find what was left")
	}
}
