package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fika/internal/mcp/mcptest"
)

// serveVariable makes the bench the MCP server that its value describes.
const serveVariable = "BENCH_MCP_SERVER"

// tenServers compares one-shots with and without ten MCP servers whose tools the
// agent may use and does not.
func tenServers(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	program, err := l.serverProgram()
	if err != nil {
		return nil, err
	}
	defer os.Remove(program)
	const n = 10
	var permitted, entries strings.Builder
	for i := range n {
		fmt.Fprintf(&permitted, ", \"mcp:srv%d\"", i)
		fmt.Fprintf(&entries, "[[mcp]]\nname = \"srv%d\"\ncommand = %q\nenv = [\"%s=typical\"]\n", i, program, serveVariable)
	}
	with, err := l.home("with-servers", srv.URL(), "tool_permissions = [\"read\", \"list\""+permitted.String()+"]\n"+entries.String())
	if err != nil {
		return nil, err
	}
	without, err := l.home("without-servers", srv.URL(), "tool_permissions = [\"read\", \"list\"]")
	if err != nil {
		return nil, err
	}
	var servers, plain series
	for i := range l.rounds() {
		order := []struct {
			h *home
			s *series
		}{{without, &plain}, {with, &servers}}
		if i%2 == 1 { // so that neither always comes after the other
			order[0], order[1] = order[1], order[0]
		}
		for _, x := range order {
			_, took, err := x.h.run(ctx, "run", "-c", contextOf(i), "hi")
			if err != nil {
				return nil, err
			}
			x.s.took(took)
		}
	}
	if got := len(srv.Requests()[1].Tools) - len(srv.Requests()[0].Tools); got != 9*n {
		return nil, fmt.Errorf("%d tools of servers were offered instead of %d", got, 9*n)
	}
	servers.skip(max(l.warm, 1)) // the first starts all servers
	plain.skip(max(l.warm, 1))
	return []result{compare("one-shot with ten MCP servers, none called", &servers, "one-shot without them", &plain, 1.05)}, nil
}

// serverProgram copies the bench beside fika, where the sandbox shows it: the
// temporary folder is a private one in there.
func (l *lab) serverProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(l.fika), fmt.Sprintf("bench-mcp-server-%d", os.Getpid()))
	return path, os.WriteFile(path, data, 0o700)
}

// serveIfAsked is the server where the bench was started as one.
func serveIfAsked() {
	if how := os.Getenv(serveVariable); how != "" {
		os.Exit(mcptest.Serve(how))
	}
}
