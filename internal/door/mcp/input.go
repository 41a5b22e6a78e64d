package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fika/internal/extension/jsonrpc"
)

// input passes on the lines that are messages. The library ends a session at anything
// else: here the client is told, and the session goes on.
type input struct {
	lines *jsonrpc.Lines
	ended func() // called when nothing more comes
	to    *output
	rest  []byte
}

func (in *input) Read(p []byte) (int, error) {
	for len(in.rest) == 0 {
		line, err := in.lines.Next()
		var bad *refusal
		switch {
		case errors.Is(err, jsonrpc.ErrTooLong):
			bad = &refusal{code: -32600, why: fmt.Sprintf("a message has at most %d bytes", jsonrpc.MaxLine)}
		case err != nil:
			in.ended()
			in.to.settle(lastAnswers)
			return 0, err
		default:
			bad = check(line)
		}
		if bad == nil {
			in.rest = append(line[:len(line):len(line)], '\n')
			in.count(line)
			break
		}
		in.to.asked() // it is answered here
		if _, err := in.to.Write(bad.line()); err != nil {
			return 0, err
		}
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// lastAnswers is how long a server whose input has ended waits for its answers.
const lastAnswers = 900 * time.Millisecond

// count counts a message if it is a request.
func (in *input) count(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) == nil && m.Method != "" && m.ID != nil {
		in.to.asked()
	}
}

func (in *input) Close() error { return nil }

// refusal is the answer to what is no message.
type refusal struct {
	id   json.RawMessage // nil: null
	code int
	why  string
}

func (r *refusal) line() []byte {
	if r.id == nil {
		r.id = json.RawMessage("null")
	}
	out, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.id, "error": map[string]any{"code": r.code, "message": r.why}})
	if err != nil {
		out = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return append(out, '\n')
}

// check refuses what is no message of JSON-RPC.
func check(line []byte) *refusal {
	if !json.Valid(line) {
		return &refusal{code: -32700, why: "this is not JSON"}
	}
	if line[0] != '{' {
		return &refusal{code: -32600, why: "this is not one message: batches are not supported"}
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	bad := &refusal{code: -32600, why: "this is not a message of JSON-RPC 2.0"}
	if json.Unmarshal(line, &m) != nil || m.Version != "2.0" {
		return bad
	}
	if m.ID != nil && !bytes.Equal(m.ID, []byte("null")) {
		var text string
		var number int64
		if json.Unmarshal(m.ID, &text) != nil && json.Unmarshal(m.ID, &number) != nil {
			return bad
		}
		bad.id = m.ID
	}
	if m.Method != nil {
		var method string
		if json.Unmarshal(m.Method, &method) != nil || method == "" {
			return bad
		}
		if p := bytes.TrimSpace(m.Params); m.Params != nil && !bytes.Equal(p, []byte("null")) && p[0] != '{' {
			bad.code, bad.why = -32602, "the parameters are not an object"
			return bad
		}
		return nil
	}
	if bad.id == nil {
		return bad
	}
	return nil // an answer
}
