package jsonrpc

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzParse: whatever a line holds, it is a message or refused with a code of JSON-RPC, and
// an id that is kept can be written again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"x","params":{}}`, `{"jsonrpc":"2.0","id":"a","error":7}`, `[]`, `{"jsonrpc":"2.0","id":1e9,"result":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			return
		}
		m, bad := parse(line)
		if bad != nil && bad.Code > CodeInvalidRequest {
			t.Errorf("%q: %+v", line, bad)
		}
		if bad == nil && m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil) {
			t.Errorf("%q is taken for an answer: %+v", line, m)
		}
		if m.ID != nil && !json.Valid(m.ID) {
			t.Errorf("%q has the id %q", line, m.ID)
		}
	})
}
