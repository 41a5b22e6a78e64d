package cli_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestD13ReadOnlyDisk: on a disk that cannot be written, commands that look show
// what is there, and all others name the reason. Neither leaves anything behind.
func TestD13ReadOnlyDisk(t *testing.T) {
	if exec.Command("unshare", "-rm", "true").Run() != nil {
		t.Skip("needs a mount namespace")
	}
	h := newHome(t, "model = \"script\"\n[hub]\nautostart = false\n[[models]]\nid = \"script\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"coder\"\n")
	h.write("rules.toml", "fallback = \"<{{.Last}}>\"\n")
	h.env = append(h.env, "TMPDIR="+t.TempDir())
	h.run(0, "run", "hello")
	h.run(0, "chat", "create", "design")
	h.run(0, "chat", "send", "design", "said before")
	script := `mount --bind "$FIKA_HOME" "$FIKA_HOME" && mount -o remount,ro,bind "$FIKA_HOME" || exit 99
for c in "chat view design" "chat list" "context log" "context list" "agent list" "request list" "usage" "config show" "model list" "conversation list" "status" "doctor" \
	"run hello" "chat send design x" "chat pause design" "up" "request cancel x"; do
	out=$(fika $c 2>&1); echo "$? $c: $out" | tr '\n' ' '; echo
done; ls -A "$TMPDIR"`
	cmd := exec.Command("unshare", "-rm", "sh", "-c", script)
	cmd.Env, cmd.Dir = h.env, h.work
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]string{
		"chat view design": "0 said before", "chat list": "0 design", "context log": "0 <hello>", "context list": "0 default", "agent list": "0 coder",
		"request list": "0 done", "usage": "0 script", "config show": "0 model", "model list": "0 script", "conversation list": "0 design",
		"status": "3 " + h.dir + "/fika.db", "doctor": "1 cannot be written",
		"run hello": "1 is on a read-only disk", "chat send design x": "1 is on a read-only disk", "chat pause design": "1 is on a read-only disk",
		"up": "1 is on a read-only disk", "request cancel x": "1 is on a read-only disk",
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, l := range lines {
		head, said, _ := strings.Cut(l, ": ")
		status, command, _ := strings.Cut(head, " ")
		wantStatus, words, known := strings.Cut(want[command], " ")
		if !known || status != wantStatus || !strings.Contains(said, words) {
			t.Errorf("%s", l)
		}
		if status == "0" && !strings.Contains(said, "cannot be written") {
			t.Errorf("%s does not say what is wrong: %s", command, said)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines for %d commands:\n%s", len(lines), len(want), out)
	}
}
