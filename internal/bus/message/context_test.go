package message

import (
	"encoding/json"
	"strings"
	"testing"

	"fika"
)

func TestParseContextRequest(t *testing.T) {
	for body, last := range map[string]int{
		"": 10, "{}": 10, `{"type":"context_request","last":3,"unknown":1}`: 3,
		"nonsense": -1, `{"type":"ask_request"}`: -1, `{"last":201}`: -1, `{"v":9}`: -1,
	} {
		r, err := ParseContextRequest([]byte(body))
		if last < 0 && !fika.IsKind(err, fika.Invalid) || last >= 0 && (err != nil || r.Last != last) {
			t.Errorf("%s: got %+v, %v", body, r, err)
		}
	}
}

func TestContextResponsesFit(t *testing.T) {
	r := ContextResponse{Type: TypeContextResponse}
	for _, name := range []string{"first", "second", "third"} {
		r.Messages = append(r.Messages, ContextPart{From: name, Content: strings.Repeat("x", 1000)})
		r.Tasks = append(r.Tasks, ContextTask{From: name, Content: strings.Repeat("x", 1000)})
	}
	data, err := r.EncodeWithin(3000)
	var got ContextResponse
	if err != nil || len(data) > 3000 || json.Unmarshal(data, &got) != nil {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if !got.Truncated || len(got.Messages) != 1 || got.Messages[0].From != "third" || len(got.Tasks) != 1 || got.Tasks[0].From != "third" {
		t.Errorf("got %.200s", data)
	}
}

// FuzzParseContextRequest: a body is refused in few words, or asks for a bounded
// number of messages and is read again as it was.
func FuzzParseContextRequest(f *testing.F) {
	for _, s := range []string{"", "{}", `{"type":"context_request","last":3,"unknown":1}`, `{"last":-1}`, `{"v":9}`, `{"type":"\xff"}`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ParseContextRequest(body)
		if err != nil {
			if !fika.IsKind(err, fika.Invalid) || len(err.Error()) > 1000 {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseContextRequest(data); err != nil || again != r || r.Last < 1 || r.Last > maxContext {
			t.Fatalf("%q: %+v, then %+v, %v", body, r, again, err)
		}
	})
}
