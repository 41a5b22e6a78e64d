package llmtest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/bound"
)

// Arguments of a tool call that never end are ended by the bound of an answer, which the error
// names, long before they fill the memory; the server sees the end of the connection.
func TestEndlessArgumentsEnd(t *testing.T) {
	bits := strings.Repeat("x", 1000)
	streams := map[string]struct{ first, piece string }{
		"openai": {
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"write","arguments":"{\"text\":\""}}]}}]}`,
			fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}}]}`, bits),
		},
		"anthropic": {
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"write","input":{}}}`,
			fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`, bits),
		},
		"responses": {
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"write","arguments":"","status":"in_progress"}}`,
			fmt.Sprintf(`{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":%q}`, bits),
		},
		"gemini": { // whose calls come whole
			`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":""}]}}]}`,
			fmt.Sprintf(`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"name":"write","args":{"text":%q}}}]}}]}`, bits),
		},
	}
	const most = 200_000
	for name, open := range makers() {
		t.Run(name, func(t *testing.T) {
			sent := make(chan int, 1)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, err := fmt.Fprintf(w, "data: %s\n\n", streams[name].first)
				n := 0
				for ; err == nil; n++ {
					_, err = io.WriteString(w, "data: "+streams[name].piece+"\n\n")
				}
				sent <- n
			}))
			defer srv.Close()
			m := bound.Model(open(srv.URL+"/v1", "", false), bound.Limits{Calls: 1000, Bytes: most, Silent: time.Hour, Total: time.Hour})
			arrived := 0
			_, err := m.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "go"}}}, func(e llm.Event) error {
				arrived += e.Size
				return nil
			})
			if !fika.IsKind(err, fika.Limit) || !strings.Contains(err.Error(), "[answer] max_bytes") {
				t.Errorf("it ended with %v", err)
			}
			if <-sent == 0 || arrived > most || arrived < most/2 {
				t.Errorf("%d bytes were taken", arrived)
			}
		})
	}
}
