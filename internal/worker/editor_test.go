package worker

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"fika"
	"fika/internal/extension/editor"
	"fika/internal/store"
)

// TestEditorOfAnAgent: what a command of an agent brings into a session is refused, though it
// reaches the socket, as it does without a sandbox. A person's editor has no agent above it.
func TestEditorOfAnAgent(t *testing.T) {
	x := sit(t, "")
	child := exec.Command("sleep", "1000") // of this process, which holds the context of an agent
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	if h := x.worker.Folder.Home; isOfPerson(h, child.Process.Pid) || isOfPerson(h, os.Getpid()) || !isOfPerson(h, os.Getppid()) || !isOfPerson(h, 0) {
		t.Errorf("child: %t, itself: %t, above: %t", isOfPerson(h, child.Process.Pid), isOfPerson(h, os.Getpid()), isOfPerson(h, os.Getppid()))
	}
	l, err := editor.Lend(x.worker.Folder.Home.EditorSocket("s-1"), []editor.Server{{Name: "files", Command: "/bin/true"}}, func(string) {})
	x.must(err)
	defer l.Close()
	live, err := x.worker.LiveRuntime(t.Context(), RuntimeOptions{Dir: x.app.Dir(), Warn: x.warn}, nil, false)
	x.must(err)
	c := store.Claimed{Conversation: fika.Conversation{Kind: fika.Chat, Name: "s-1"}}
	if got := live.last().lentTo(t.Context(), c); got != nil || len(x.warns) != 1 || !strings.Contains(x.warns[0], "only the editor of a person brings any") {
		t.Errorf("lent %v, told %q", got.names(), x.warns)
	}
}
