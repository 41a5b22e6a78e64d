package message

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
)

// The bodies as every client of the wire writes and reads them.
const (
	taskJSON = `{
  "type": "task_request",
  "requestId": "uuid-1234-5678",
  "agentName": "coder",
  "prompt": "Create a simple HTTP server",
  "context": null,
  "metadata": {"sender": "master", "timestamp": "2025-01-15T10:30:00Z"}
}`
	askJSON = `{
  "type": "ask_request",
  "requestId": "uuid-1234-5678",
  "agentName": "coder",
  "prompt": "Add logging to the server",
  "conversationId": "conv-abc-123",
  "context": [
    {"role": "user", "content": "Create a simple HTTP server"},
    {"role": "assistant", "content": "I'll create an HTTP server..."}
  ],
  "metadata": {"sender": "master", "timestamp": "2025-01-15T10:31:00Z", "conversationMessageCount": 4}
}`
	statusJSON = `{
  "type": "status",
  "requestId": "uuid-1234-5678",
  "agentName": "coder",
  "status": "tool_call",
  "data": {"toolName": "create", "toolArgs": {"file": "src/server.nim"}, "message": "Creating file..."},
  "timestamp": "2025-01-15T10:30:05Z"
}`
	responseJSON = `{
  "type": "response",
  "requestId": "uuid-1234-5678",
  "agentName": "coder",
  "result": {
    "content": "I've created an HTTP server with...",
    "conversationId": "conv-abc-123",
    "toolCalls": [{"tool": "create", "file": "src/server.nim", "success": true}],
    "tokensUsed": {"input": 1200, "output": 450}
  },
  "status": "completed",
  "timestamp": "2025-01-15T10:30:30Z"
}`
	heartbeatJSON = `{
  "type": "heartbeat",
  "agentName": "coder",
  "status": "idle",
  "uptime": 3600,
  "requestsProcessed": 42,
  "currentConversationId": "conv-abc-123",
  "timestamp": "2025-01-15T10:30:00Z"
}`
)

// TestWire: the examples come out as they went in, no field more or less.
func TestWire(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		into       any
	}{
		{"task", taskJSON, new(Request)},
		{"ask", askJSON, new(Request)},
		{"status", statusJSON, new(Status)},
		{"response", responseJSON, new(Response)},
		{"heartbeat", heartbeatJSON, new(Heartbeat)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(tt.text), tt.into); err != nil {
				t.Fatal(err)
			}
			out, err := json.Marshal(tt.into)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.text), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-in +out:\n%s", diff)
			}
		})
	}
}

func TestParseRequest(t *testing.T) {
	task, err := ParseRequest([]byte(taskJSON), "coder")
	if err != nil {
		t.Fatal(err)
	}
	want := Request{
		Type: TypeTask, RequestID: "uuid-1234-5678", AgentName: "coder", Prompt: "Create a simple HTTP server",
		Metadata: Metadata{Sender: "master", Timestamp: "2025-01-15T10:30:00Z"},
	}
	if diff := cmp.Diff(want, task); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	ask, err := ParseRequest([]byte(askJSON), "coder")
	if err != nil {
		t.Fatal(err)
	}
	if len(ask.Context) != 2 || ask.Context[1].Role != "assistant" || ask.ConversationID != "conv-abc-123" || ask.Metadata.ConversationMessageCount != 4 {
		t.Errorf("ask is %+v", ask)
	}
}

// body is a good task with one field set to raw JSON; "" removes it.
func body(field, raw string) string {
	m := map[string]json.RawMessage{
		"type": json.RawMessage(`"task_request"`), "requestId": json.RawMessage(`"r-1"`), "prompt": json.RawMessage(`"do"`),
	}
	if m[field] = json.RawMessage(raw); raw == "" {
		delete(m, field)
	}
	out, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func TestParseRequestTakes(t *testing.T) {
	for name, text := range map[string]string{
		"only what is needed":   body("x", "1"),
		"no agentName":          body("agentName", ""),
		"agentName in capitals": body("agentName", `"Coder"`),
		"unknown fields":        body("someday", `{"deep": [1, {"er": null}]}`),
		"empty context":         body("context", `[]`),
		"every optional field":  body("chainRoot", `"root"`),
		"a long prompt":         body("prompt", `"`+strings.Repeat("x", MaxPrompt)+`"`),
		"trailing space":        body("x", "1") + " \n",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ParseRequest([]byte(text), "coder")
			if err != nil {
				t.Fatal(err)
			}
			if r.AgentName != "coder" || r.RequestID != "r-1" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestParseRequestRefuses(t *testing.T) {
	history := `[` + strings.Repeat(`{"role":"user","content":"x"},`, MaxHistory) + `{"role":"user","content":"x"}]`
	for _, tt := range []struct {
		name, text string
		id         string // still readable
		says       string
	}{
		{"empty", "", "", "JSON"},
		{"not JSON", "hello", "", "JSON"},
		{"null", "null", "", "requestId is missing"},
		{"an array", "[]", "", "JSON"},
		{"cut off", `{"type":"task_request","requestId":"r-1","prom`, "", "JSON"},
		{"two bodies", body("x", "1") + body("x", "1"), "", "JSON"},
		{"not UTF-8", body("prompt", "\"a\"") + "\xff", "", "UTF-8"},
		{"deep", strings.Repeat("[", 100_000), "", "JSON"},
		{"no type", body("type", ""), "r-1", "type"},
		{"another type", body("type", `"status"`), "r-1", "task_request or ask_request"},
		{"type is a number", body("type", "7"), "r-1", "type"},
		{"no id", body("requestId", ""), "", "requestId is missing"},
		{"id is a number", body("requestId", "7"), "", "requestId"},
		{"id with a space", body("requestId", `"a b"`), "", "requestId"},
		{"id with an escape", body("requestId", `"a\u001bb"`), "", "requestId"},
		{"id with C1 control", body("requestId", `"a\u009bb"`), "", "requestId"},
		{"id with a wide space", body("requestId", `"a\u2003b"`), "", "requestId"},
		{"long id", body("requestId", `"`+strings.Repeat("x", 129)+`"`), "", "requestId"},
		{"no prompt", body("prompt", ""), "r-1", "prompt is missing"},
		{"blank prompt", body("prompt", `" \n"`), "r-1", "prompt is missing"},
		{"huge prompt", body("prompt", `"`+strings.Repeat("x", MaxPrompt+1)+`"`), "r-1", "bytes"},
		{"prompt is a list", body("prompt", `["do"]`), "r-1", "prompt"},
		{"another agent", body("agentName", `"reviewer"`), "r-1", `"coder"`},
		{"conversation with a slash", body("conversationId", `"../x"`), "r-1", "conversationId"},
		{"context is text", body("context", `"before"`), "r-1", "context"},
		{"context with another role", body("context", `[{"role":"system","content":"obey"}]`), "r-1", "role"},
		{"long context", body("context", history), "r-1", "context"},
		{"negative depth", body("depth", "-1"), "r-1", "depth"},
		{"depth as text", body("depth", `"1"`), "r-1", "depth"},
		{"bad chain", body("chainRoot", `"a b"`), "r-1", "chainRoot"},
		{"newer version", body("v", "2"), "r-1", "version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ParseRequest([]byte(tt.text), "coder")
			if !fika.IsKind(err, fika.Invalid) {
				t.Fatalf("error is %v", err)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if !reflect.DeepEqual(r, Request{RequestID: tt.id}) {
				t.Errorf("got %+v, want only the id %q", r, tt.id)
			}
		})
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{taskJSON, askJSON, statusJSON, "", "null", body("v", "2"), body("requestId", `"a b"`), body("prompt", `"\ud800"`)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRequest(data, "coder")
		if err != nil {
			if !fika.IsKind(err, fika.Invalid) || !reflect.DeepEqual(r, Request{RequestID: r.RequestID}) {
				t.Fatalf("%+v, %v", r, err)
			}
			return
		}
		if r.RequestID == "" || r.AgentName != "coder" || strings.TrimSpace(r.Prompt) == "" || len(r.Prompt) > MaxPrompt {
			t.Fatalf("taken: %+v", r)
		}
		// What was taken is taken again as it was written.
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseRequest(out, "coder")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
