// Package strict has servers that refuse what the real ones refuse: they are written from the
// published shapes of OpenAI's responses API (openai-go v3.96.0, responses/response.go) and of
// Google's generateContent (google.golang.org/genai v1.77.0, types.go), know nothing of the
// packages they test, and answer from what they receive.
//
// Each thinks and makes two parallel calls of the first tool when the last message of the user
// begins with "use", and then wants its thoughts back, unchanged, with both results. Otherwise
// it says what it was shown.
//
// Read first: [Responses], [Gemini].
package strict

import (
	"encoding/json"
	"fmt"
	"net/http"
)

type object = map[string]any

// refuse answers 400 as both providers do.
func refuse(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req_strict")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(object{"error": object{"code": "invalid_request", "message": fmt.Sprintf(format, args...)}})
}

// send writes one event.
func send(w http.ResponseWriter, v object) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	name := ""
	if t, ok := v["type"].(string); ok {
		name = "event: " + t + "\n"
	}
	fmt.Fprintf(w, "%sdata: %s\n\n", name, raw)
}

// onlyKeys returns a key that is not among the allowed ones; "" if there is none.
func onlyKeys(o object, allowed ...string) string {
	known := map[string]bool{}
	for _, k := range allowed {
		known[k] = true
	}
	for k := range o {
		if !known[k] {
			return k
		}
	}
	return ""
}

func list(v any) []any     { l, _ := v.([]any); return l }
func fields(v any) object  { o, _ := v.(object); return o }
func word(v any) string    { s, _ := v.(string); return s }
func isText(v any) bool    { s, ok := v.(string); return ok && s != "" }
func anyObject(v any) bool { _, ok := v.(object); return ok }
func decode(r *http.Request) (object, error) {
	var body object
	err := json.NewDecoder(r.Body).Decode(&body)
	return body, err
}
