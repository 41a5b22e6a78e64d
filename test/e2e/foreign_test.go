package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestD3ForeignClient: a program on a server of the person's own, where nobody can
// tell who publishes, has an agent read and list, and starts nothing with it.
func TestD3ForeignClient(t *testing.T) {
	t.Parallel()
	s := natsServer(t, -1, "")
	h := scriptedHome(t, fmt.Sprintf("[nats]\nserver = %q\nsubject_prefix = \"niffler\"\n", s.ClientURL()), autoCoder)
	h.write("rules.toml", `
[[rule]]
match = "touch"
tool_calls = [{name = "bash", args = {command = "touch here"}}]
[[rule]]
match = "look"
tool_calls = [{name = "list", args = {path = "."}}]
[[rule]]
after_tool = "bash|list"
reply = "{{.Result}}"
`)
	h.must("up")
	f := h.foreign(s.ClientURL(), "niffler")
	f.publish("request", fmt.Sprintf(taskRequest, "writes", "touch"))
	if w := f.response("writes"); !strings.Contains(w.Result.Content, "not permitted") || len(w.Result.ToolCalls) != 1 || w.Result.ToolCalls[0]["success"] != false {
		t.Errorf("bash: %+v", w)
	}
	f.publish("request", fmt.Sprintf(taskRequest, "reads", "look"))
	if w := f.response("reads"); w.Status != "completed" || len(w.Result.ToolCalls) != 1 || w.Result.ToolCalls[0]["success"] != true {
		t.Errorf("list: %+v", w)
	}
	_ = filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "here" {
			t.Errorf("%s is there", path)
		}
		return nil
	})
}
