package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/extension/mcp"
)

// TestServersFromNPM speaks to three servers that others wrote. FULL=1 runs it where
// there are node and npm and the registry answers.
func TestServersFromNPM(t *testing.T) {
	if os.Getenv("FULL") == "" {
		t.Skip("FULL=1 runs it: it fetches packages")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, "%s is not installed", program)
		}
	}
	b := newBench(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // 40 MB from a registry
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", b.dir,
		"@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31", "@modelcontextprotocol/server-memory@2026.8.31")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("the registry does not give them: %v: %.300s", err, out) // which is nobody's mistake here
	}
	server := func(name string, args ...string) mcp.Server {
		s := b.server("")
		s.Name, s.Command = "srv", "node"
		s.Args = append([]string{filepath.Join(b.dir, "node_modules", ".bin", "mcp-server-"+name)}, args...)
		s.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "MEMORY_FILE_PATH=" + filepath.Join(b.dir, "memory.jsonl")}
		return s
	}
	every, files, memory := server("everything"), server("filesystem", b.dir), server("memory")
	if n := len(b.pinned(every).Tools) + len(b.pinned(files).Tools) + len(b.pinned(memory).Tools); n < 20 {
		t.Errorf("%d tools in all", n)
	}
	for _, c := range []struct {
		on               mcp.Server
		tool, args, want string
	}{
		{every, "echo", `{"message":"hello"}`, "Echo: hello"},
		{every, "get-tiny-image", `{}`, "(image, image/png, "},
		{every, "get-structured-content", `{"location":"New York"}`, `"temperature"`},
		{every, "get-resource-links", `{"count":2}`, "(resource demo://resource/"},
		{files, "write_file", `{"path":"` + b.dir + `/new.txt","content":"one"}`, "Successfully wrote"},
		{files, "read_text_file", `{"path":"` + b.dir + `/new.txt"}`, "one"},
		{files, "read_text_file", `{"path":"/etc/passwd"}`, "Access denied"},
		{memory, "create_entities", `{"entities":[{"name":"ada","entityType":"person","observations":["counts"]}]}`, "ada"},
		{memory, "search_nodes", `{"query":"ada"}`, "counts"},
	} {
		if r := b.must(c.on, c.tool, c.args); !strings.Contains(r.Text, c.want) {
			t.Errorf("%s %s: %+v, want %q", c.tool, c.args, r, c.want)
		}
	}
	ctx, cancel = context.WithCancel(t.Context())
	if _, err := b.call(ctx, every, "trigger-long-running-operation", `{"duration":30,"steps":300}`, func([]byte) { cancel() }); !fika.IsKind(err, fika.Interrupted) {
		t.Errorf("cancelled: %v", err)
	}
	if r := b.must(every, "echo", `{"message":"on"}`); !strings.Contains(r.Text, "on") {
		t.Errorf("after that: %+v", r)
	}
}

// missing skips a test for which something is not here; where everything is meant to
// be tried, that is a failure.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
