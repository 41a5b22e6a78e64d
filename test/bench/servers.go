package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"fika/internal/extension/mcp/mcptest"
)

// serveVariable turns the bench into the MCP server that its value describes.
const serveVariable = "BENCH_MCP_SERVER"

// tenServers compares one-shots with and without ten MCP servers whose tools the
// agent is offered and does not call.
func tenServers(ctx context.Context, l *lab) ([]result, error) {
	model := new(quickModel)
	srv := httptest.NewServer(model)
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
	with, err := l.home("with-servers", srv.URL, "tool_permissions = [\"read\", \"list\""+permitted.String()+"]\n"+entries.String())
	if err != nil {
		return nil, err
	}
	without, err := l.home("without-servers", srv.URL, "tool_permissions = [\"read\", \"list\"]")
	if err != nil {
		return nil, err
	}
	var servers, plain series
	for i := range l.rounds() {
		order := []struct {
			h *home
			s *series
		}{{without, &plain}, {with, &servers}}
		if i%2 == 1 { // so that neither always comes second
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
	if got := offered(model.asked[1]) - offered(model.asked[0]); got != 1 {
		return nil, fmt.Errorf("%d more tools were offered instead of the one that finds those of the servers", got)
	}
	servers.skip(max(l.warm, 1)) // the first starts all servers
	plain.skip(max(l.warm, 1))
	r := compare("one-shot with ten MCP servers, none called", &servers, "one-shot without them", &plain, 1.05)
	r.note("with them the request has %d bytes instead of %d", len(model.asked[1]), len(model.asked[0]))
	return []result{r}, nil
}

// quickModel answers hello as soon as it has a whole request, without parsing it,
// because the time that a model's server needs for 90 tools is not fika's. It handles
// one request at a time.
type quickModel struct{ asked [][]byte }

// ServeHTTP implements [http.Handler].
func (m *quickModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.asked = append(m.asked, body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}

data: [DONE]

`)
}

// offered returns how many tools a request offers.
func offered(request []byte) int {
	var r struct{ Tools []json.RawMessage }
	if json.Unmarshal(request, &r) != nil {
		return -1
	}
	return len(r.Tools)
}

// serverProgram copies the bench beside fika, where the sandbox shows it: inside, the
// temporary folder is a private one.
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

// serveIfAsked runs the MCP server if the bench was started as one.
func serveIfAsked() {
	if how := os.Getenv(serveVariable); how != "" {
		os.Exit(mcptest.Serve(how))
	}
}
