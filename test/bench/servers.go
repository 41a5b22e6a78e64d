package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	first := srv.Requests()
	way, err := l.longerWay(ctx, srv.URL()+"/chat/completions", first[0].Body, first[1].Body)
	if err != nil {
		return nil, err
	}
	whole := compare("one-shot with ten MCP servers, none called", &servers, "one-shot without them", &plain, 0)
	for i := range plain.all {
		plain.all[i] += way
	}
	own := compare("the same, without the way of the longer request", &servers, "one-shot without them, and that way", &plain, 1.05)
	own.note("a request of %d bytes instead of %d is %.2f ms longer on its way to the model and read there, whoever sends it", len(first[1].Body), len(first[0].Body), way)
	return []result{whole, own}, nil
}

// longerWay is how many milliseconds longer a server takes to be sent and to read
// the longer of two requests.
func (l *lab) longerWay(ctx context.Context, url string, short, long []byte) (float64, error) {
	var took [2]series
	for range l.rounds() {
		for i, body := range [][]byte{short, long} {
			started := time.Now()
			if err := post(ctx, url, body); err != nil {
				return 0, err
			}
			took[i].took(time.Since(started))
		}
	}
	return max(took[1].median()-took[0].median(), 0), nil
}

// post sends a request on a connection of its own, as a process does that sends one.
func post(ctx context.Context, url string, body []byte) error {
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
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
