package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"fika/internal/bus/bustest"
)

// TestD3ForeignClient: a program on a server of the person's own, where nobody can
// tell who publishes, has an agent read and list, and starts nothing with it.
func TestD3ForeignClient(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t, -1, "")
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

// TestD3MemberClient: programs that are members of the hub's own bus have done what
// they were given, whatever they say of themselves; a hub that runs hears of members
// that come and go.
func TestD3MemberClient(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "[[bus_members]]\nname = \"looks\"\n", autoCoder)
	h.write("rules.toml", `
[[rule]]
match = "work"
tool_calls = [{name = "bash", args = {command = "echo worked"}}]
[[rule]]
after_tool = "bash"
reply = "{{.Result}}"
`)
	h.must("up")
	h.must("bus", "add", "works", "--tools", "bash", "--agents", "coder")
	all := h.foreign(h.must("status", "--show-bus"), "fika")
	ask := func(member, id string) wireMessage {
		t.Helper()
		nc, err := nats.Connect(h.must("bus", "show", member))
		h.ok(err)
		defer nc.Close()
		said, err := nc.SubscribeSync("fika.member." + member + ".agent.coder.response")
		h.ok(err)
		body := fmt.Sprintf(`{"type": "task_request", "requestId": %q, "prompt": "work", "metadata": {"sender": "coder"}}`, id)
		h.ok(nc.Publish("fika.member."+member+".agent.coder.request", []byte(body)))
		h.ok(nc.Flush())
		m, err := said.NextMsg(patience)
		h.ok(err)
		w := all.response(id)
		if !strings.Contains(string(m.Data), id) || !strings.Contains(string(m.Data), w.Result.ConversationID) {
			t.Errorf("%s hears %s", member, m.Data)
		}
		return w
	}
	if w := ask("looks", "r-1"); !strings.Contains(w.Result.Content, "not permitted") {
		t.Errorf("one that may look: %+v", w)
	}
	w := ask("works", "r-2")
	if !strings.Contains(w.Result.Content, "worked") {
		t.Errorf("one that may work: %+v", w)
	}
	if out := h.must("conversation", "show", w.Result.ConversationID, "--json"); !strings.Contains(out, `"from":"works"`) {
		t.Errorf("who asked is not told: %s", out)
	}
	url := h.must("bus", "show", "works")
	h.must("bus", "remove", "works")
	waitFor(patience, func() bool {
		nc, err := nats.Connect(url)
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	if r := h.run("bus", "show", "works"); r.code != 3 {
		t.Errorf("a member that is gone: %+v", r)
	}
}
