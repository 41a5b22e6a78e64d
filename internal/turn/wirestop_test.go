package turn_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"fika"
	"fika/internal/turn"
)

// stopBodies are answers of half a text that end with a word, on each wire.
var stopBodies = map[string]func(word string) string{
	"chat completions": func(word string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":"half"},"finish_reason":%q}]}`+"\n\ndata: [DONE]\n\n", word)
	},
	"responses": func(word string) string {
		status, reason := word, "null"
		switch word {
		case "completed", "failed", "cancelled", "queued", "in_progress":
		default:
			status, reason = "incomplete", fmt.Sprintf(`{"reason":%q}`, word)
		}
		return fmt.Sprintf(`data: {"type":"response.output_text.delta","output_index":0,"delta":"half"}`+"\n\n"+
			`data: {"type":"response.completed","response":{"status":%q,"incomplete_details":%s}}`+"\n\n", status, reason)
	},
	"Anthropic": func(word string) string {
		return `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"half"}}` + "\n\n" +
			fmt.Sprintf(`data: {"type":"message_delta","delta":{"stop_reason":%q}}`, word) + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	},
	"Gemini": func(word string) string {
		return fmt.Sprintf(`data: {"candidates":[{"content":{"parts":[{"text":"half"}]},"finishReason":%q}]}`+"\n\n", word)
	},
}

// TestEveryStopOfEveryWire: each word of a provider that the table in docs/internals/failures.md has in
// backquotes ends a turn as its row says: outcome, exit status and stop.
func TestEveryStopOfEveryWire(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	wires := map[string]string{"chat completions": "openai", "responses": "responses", "Anthropic": "anthropic", "Gemini": "gemini"}
	_, table, _ := strings.Cut(string(page), "| stop | outcome |")
	table, _, _ = strings.Cut("| stop | outcome |"+table, "\n\n")
	rows := strings.Split(table, "\n")
	columns := strings.Split(rows[0], " | ")
	tried := map[string]int{}
	for _, row := range rows[2:] {
		cells := strings.Split(row, "|")[1:]
		stop, outcome, exit := strings.Trim(cells[0], " `"), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		if strings.HasPrefix(stop, "(") {
			stop = ""
		}
		for i, column := range columns {
			column = strings.Trim(column, " |")
			if wires[column] == "" || strings.HasPrefix(strings.TrimSpace(cells[i]), "an `error`") {
				continue
			}
			for _, m := range regexp.MustCompile("`([A-Za-z_-]+)`").FindAllStringSubmatch(cells[i], -1) {
				if strings.Contains(cells[i], "with a `refusal`") && (m[1] == "completed" || m[1] == "refusal" && wires[column] != "openai") {
					continue // in the message, and not the word
				}
				tried[column]++
				wire := plainWires()[wires[column]]
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, stopBodies[column](m[1]))
				}))
				w := newWorld(t)
				cfg := w.config()
				cfg.Model = wire.open(s.URL)
				res, err := turn.New(cfg).Run(t.Context(), w.ask("go"))
				s.Close()
				w.ok(err)
				state, status := "failed", map[fika.Kind]string{fika.Provider: "5", fika.Limit: "8"}[res.Kind]
				if res.State == fika.Done {
					state, status = "done", "0"
				}
				want := stop
				if stop == "malformed_call" {
					want = "" // the last of three answers says nothing
				}
				if state != outcome || status != exit || res.Outcome.Stop != want || outcome == "failed" && res.Reason == "" {
					t.Errorf("%s %s: %s, exit %s, stop %q: %s", column, m[1], state, status, res.Outcome.Stop, res.Reason)
				}
			}
		}
	}
	for column, least := range map[string]int{"chat completions": 30, "responses": 8, "Anthropic": 7, "Gemini": 17} {
		if tried[column] < least {
			t.Errorf("%s: %d words in the table", column, tried[column])
		}
	}
}
