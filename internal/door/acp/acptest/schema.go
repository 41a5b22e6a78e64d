package acptest

import (
	_ "embed"
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// published is schema/v1/schema.json of the npm package @agentclientprotocol/sdk 2.4.0,
// unchanged; its licence, Apache 2.0, is schema.LICENSE.
//
//go:embed schema.json
var published []byte

// Schema is the published schema of the protocol. It is safe for concurrent use.
type Schema struct {
	defs map[string]json.RawMessage

	mu    sync.Mutex
	known map[string]*jsonschema.Resolved
}

// ReadSchema returns the schema.
func ReadSchema(t testing.TB) *Schema {
	t.Helper()
	var all struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(published, &all); err != nil {
		t.Fatal(err)
	}
	return &Schema{defs: all.Defs, known: map[string]*jsonschema.Resolved{}}
}

// Check returns what is wrong with a value that should be of a type of the protocol.
func (s *Schema) Check(name string, value json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[name] == nil {
		root, err := json.Marshal(map[string]any{"$ref": "#/$defs/" + name, "$defs": s.defs})
		if err != nil {
			return err
		}
		var one jsonschema.Schema
		if err := json.Unmarshal(root, &one); err != nil {
			return err
		}
		if s.known[name], err = one.Resolve(nil); err != nil {
			return err
		}
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	return s.known[name].Validate(v)
}

// asked are the types of what the door sends by itself, and answers those of its answers.
func asked() map[string]string {
	return map[string]string{
		"session/update": "SessionNotification", "session/request_permission": "RequestPermissionRequest", "$/cancel_request": "CancelRequestNotification",
	}
}

func answers() map[string]string {
	return map[string]string{
		"initialize": "InitializeResponse", "session/new": "NewSessionResponse", "session/load": "LoadSessionResponse", "session/resume": "ResumeSessionResponse",
		"session/list": "ListSessionsResponse", "session/prompt": "PromptResponse", "session/set_config_option": "SetSessionConfigOptionResponse", "session/close": "CloseSessionResponse",
	}
}
