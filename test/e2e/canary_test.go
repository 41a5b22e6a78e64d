package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCanaryKeys puts a key into each place where fika keeps one: the
// environment, the key file, the configuration, and the hub. A tool that knows
// them prints each whole, across the border of two chunks, in base64 and in
// hexadecimal, and the model repeats what it was told. Afterwards they are in no
// file of the home but those that people keep them in, nowhere on the bus, and not
// in what the tool got.
func TestCanaryKeys(t *testing.T) {
	t.Parallel()
	canaries := map[string]string{"environment": "canary-env-4a7d1c9e02b6", "key file": "canary-file-8e31f0c7d5a9", "configuration": "canary-conf-c05b7e2f914d"}
	h := scriptedHome(t, fmt.Sprintf("[nats]\nuser = \"me\"\npassword = %q\n", canaries["configuration"]), autoCoder)
	h.env = append(h.env, "OPENAI_API_KEY="+canaries["environment"])
	h.write("rules.toml", "[[rule]]\nmatch = \"leak\"\ntool_calls = [{name = \"bash\", args = {command = \"sh leak.sh; env > environment.txt\"}}]\n"+
		"[[rule]]\nafter_tool = \"bash\"\nreply = \"{{.Result}}\"\n[[rule]]\nmatch = \"(?s).*\"\nreply = \"yes\"\n")
	if r := h.runIn(canaries["key file"], "key", "set", "STORED_KEY"); r.code != 0 {
		t.Fatalf("key set: %+v", r)
	}
	h.must("up")
	h.must("ask", "coder", "one") // its workspace is there then
	address := h.must("status", "--show-bus")
	u, err := url.Parse(address)
	h.ok(err)
	canaries["hub"], _ = u.User.Password()
	if len(canaries["hub"]) < 16 {
		t.Fatalf("no password in %q", address)
	}

	work := filepath.Join(h.dir, "contexts", "coder", "workspace")
	h.ok(os.WriteFile(filepath.Join(work, "leak.sh"), []byte(leaking(canaries)), 0o600))
	f := h.foreign(address, "fika")
	f.publish("request", fmt.Sprintf(taskRequest, "leaks", "leak"))
	if w := f.response("leaks"); strings.Count(w.Result.Content, "[key ") < 4*len(canaries) {
		t.Errorf("it said %s", w.Result.Content)
	}
	h.must("down")
	for m, err := f.all.NextMsg(10 * time.Millisecond); err == nil; m, err = f.all.NextMsg(10 * time.Millisecond) {
		f.seen = append(f.seen, m)
	}
	for where, key := range canaries {
		for _, form := range formsOf(key) {
			for _, m := range f.seen {
				if bytes.Contains(m.Data, []byte(form)) {
					t.Errorf("the key of the %s is on the bus, %s: %s", where, m.Subject, m.Data)
				}
			}
			for _, path := range h.filesWith(form) {
				t.Errorf("the key of the %s is in %s, as %s", where, path, form)
			}
		}
	}
}

// leaking is a script that prints each key in many ways.
func leaking(keys map[string]string) string {
	var b strings.Builder
	for _, key := range keys {
		half := len(key) / 2
		fmt.Fprintf(&b, "echo %[1]s\nprintf '%[2]s'; sleep 0.05; printf '%[3]s\\n'\nprintf %%s %[1]s | base64 -w0; echo\nprintf %%s %[1]s | od -An -v -tx1 | tr -d ' \\n'; echo\n",
			key, key[:half], key[half:])
	}
	return b.String()
}

func formsOf(key string) []string {
	return []string{key, base64.StdEncoding.EncodeToString([]byte(key)), hex.EncodeToString([]byte(key))}
}

// filesWith are the files of the home that hold a text, but for those in which
// people and the hub keep their keys.
func (h *home) filesWith(text string) []string {
	h.Helper()
	var found []string
	h.ok(filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		switch rel, _ := filepath.Rel(h.dir, path); {
		case rel == "keys", rel == "config.toml", d.Name() == "config.last", d.Name() == "leak.sh", strings.HasPrefix(rel, filepath.Join("run", "credentials")):
			return nil
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, strings.TrimPrefix(path, h.dir))
		}
		return err
	}))
	return found
}
