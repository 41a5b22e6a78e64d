package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves on stdin and stdout as the word how says, and returns an exit status.
//
//	ordinary   tools that work
//	described  as ordinary; the description of echo is what the file $MCPTEST holds
//	noisy      greets on stdout first
//	silent     never answers
//	broken     ends at once with status 3 and a message on stderr
//	many       300 more tools
//	liar       tools whose schemas, names and hints are wrong
//	typical    nine tools with parameters such as servers have
//	endless    sends one message without end
func Serve(how string) int {
	switch how {
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case "broken":
		fmt.Fprintln(os.Stderr, "no licence found")
		return 3
	case "liar":
		return raw([]any{
			tool("fine", map[string]any{"type": "object"}),
			tool("text", "a text"), tool("list", map[string]any{"type": "array"}),
			tool("typo", map[string]any{"properties": map[string]any{"a": map[string]any{"items": map[string]any{"type": []any{"null", "text"}}}}}), tool("odd.name/x", nil), tool("odd.name:x", nil),
			tool(strings.Repeat("long", 20), nil), tool("", nil), tool("huge", map[string]any{"type": "object", "description": strings.Repeat("x", 100<<10)}),
		})
	case "typical":
		return raw(typical())
	case "endless":
		return endless()
	case "noisy":
		fmt.Println("Welcome! Listening on stdio.\n{\"this\": is no message}")
	}
	s := ordinary(how)
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 0
}

// Handler serves over HTTP as [Serve] does on stdin. It knows only the well-behaved
// modes: described, many and, for every other word, ordinary.
func Handler(how string) http.Handler {
	s := ordinary(how)
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

func ordinary(how string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test-server", Version: "1.0"}, nil)
	add := func(name, about string, do func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error)) {
		t := &sdk.Tool{Name: name, Description: about, InputSchema: json.RawMessage(`{"type":"object"}`)}
		if name == "echo" || name == "where" {
			t.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true}
		}
		s.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			args := map[string]any{}
			_ = json.Unmarshal(r.Params.Arguments, &args)
			return do(ctx, r, args)
		})
	}
	about := "Says it again."
	if how == "described" {
		raw, _ := os.ReadFile(os.Getenv("MCPTEST"))
		about = strings.TrimSpace(string(raw))
	}
	add("echo", about, func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
		return text(fmt.Sprint(args["text"])), nil
	})
	addResults(add)
	addEffects(add)
	if how == "many" {
		for i := range 300 {
			add(fmt.Sprintf("tool%d", i), "One of many.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
				return text("one"), nil
			})
		}
	}
	return s
}

type adder func(name, about string, do func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error))

// addResults adds tools that return different kinds of results.
func addResults(add adder) {
	add("mixed", "Gives one of each.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1}, Content: []sdk.Content{
			&sdk.TextContent{Text: "a text"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG")},
			&sdk.ResourceLink{URI: "demo://x", Name: "x"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "demo://y", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "demo://z", MIMEType: "application/pdf", Blob: []byte("%PDF")}},
		}}, nil
	})
	add("album", "Gives twelve pictures.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		r := &sdk.CallToolResult{}
		for range 12 {
			r.Content = append(r.Content, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG")})
		}
		return r, nil
	})
	add("structured", "Says it twice.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"said": "twice"}, Content: []sdk.Content{&sdk.TextContent{Text: "twice"}}}, nil
	})
	add("big", "Gives ten megabytes.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return text("begin" + strings.Repeat("0123456789", 1<<20) + "end"), nil
	})
	add("crowd", "Gives n pieces.", func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
		n, _ := args["n"].(float64)
		return &sdk.CallToolResult{Content: slices.Repeat([]sdk.Content{&sdk.TextContent{Text: "x, y"}}, int(n))}, nil
	})
	add("binary", "Gives bytes.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return text("\x00\x1b[31m\x01red\x07"), nil
	})
	add("fail", "Fails.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		r := text("it did not work")
		r.IsError = true
		return r, nil
	})
}

// addEffects adds tools that have effects.
func addEffects(add adder) {
	add("where", "Says where it runs.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		dir, _ := os.Getwd()
		return text(fmt.Sprintf("%s %s pid %d", dir, os.Getenv("MCPTEST"), os.Getpid())), nil
	})
	add("write", "Writes a file.", func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
		if err := os.WriteFile(fmt.Sprint(args["path"]), []byte("written"), 0o600); err != nil {
			r := text(err.Error())
			r.IsError = true
			return r, nil
		}
		return text("written"), nil
	})
	add("crash", "Ends in the middle.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
		return nil, nil
	})
	add("slow", "Reports progress and waits until it is cancelled.", func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "slow was called")
		token := r.Params.GetProgressToken()
		if token != nil {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: "half"})
		}
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "slow was cancelled")
		return nil, ctx.Err()
	})
	add("ask", "Wants a person's answer before it continues.", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.ElicitParams{Message: "your password?", RequestedSchema: map[string]any{"type": "object"}}}}, nil
	})
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

func tool(name string, schema any) map[string]any {
	return map[string]any{"name": name, "description": "A tool.", "inputSchema": schema}
}

// raw answers without the library, which would refuse to send such tools.
func raw(tools []any) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &q) != nil || q.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": q.ID}
		switch q.Method {
		case "initialize":
			answer["result"] = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "raw", "version": "0"}}
		case "tools/list":
			answer["result"] = map[string]any{"tools": tools}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no such method"}
		}
		_ = out.Encode(answer)
	}
	return 0
}

// endless begins a message and never ends it.
func endless() int {
	piece := []byte(strings.Repeat("x", 1<<20))
	fmt.Print(`{"jsonrpc": "2.0", "id": 1, "result": "`)
	for range 40 {
		if _, err := os.Stdout.Write(piece); err != nil {
			return 1
		}
	}
	time.Sleep(time.Hour) // the message has no end
	return 0
}
