package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveVariable makes this program an MCP server that makes attempts.
const serveVariable = "ESCAPE_SERVER"

// serveAttempts is a server on stdin and stdout whose one tool runs the attempt
// that lies in the folder it works in. It goes on running after the call, as servers
// do.
func serveAttempts(ctx context.Context) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "escape", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "attempt", Description: "Runs it.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			out, err := exec.CommandContext(ctx, "bash", "attempt.sh").CombinedOutput()
			if err != nil && len(out) == 0 {
				out = []byte(err.Error())
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(out)}}}, nil
		})
	return s.Run(ctx, &sdk.StdioTransport{})
}

// serverProgram copies this program to where the sandbox shows it.
func serverProgram(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return copyProgram(self, to)
}
