package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// pinVersion changes when the meaning of what is kept does.
const pinVersion = 2

// pinHeader is the first line of the file of a server. The parameters of its
// tools follow, a line each, and are handed on as they stand there: a prompt with
// a hundred tools would otherwise take a third longer to begin. Sum shows that
// they are what was written, which were schemas of objects in one spelling.
type pinHeader struct {
	Version int          `json:"version"`
	Of      string       `json:"of"` // identity of the server
	Sum     string       `json:"sum"`
	At      time.Time    `json:"at,omitzero"`
	Says    string       `json:"says,omitempty"`
	Tools   []pinnedTool `json:"tools"`
	LeftOut []LeftOut    `json:"left_out,omitempty"`

	Failure  string    `json:"failure,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	Now      *Listing  `json:"now,omitempty"`
}

// pinnedTool is a tool without its parameters.
type pinnedTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ReadOnly    bool   `json:"read_only,omitempty"`
	Idempotent  bool   `json:"idempotent,omitempty"`
}

// encodePin writes what is kept of a server.
func encodePin(p Pin, of string) ([]byte, error) {
	h := pinHeader{
		Version: pinVersion, Of: of, At: p.At, Says: p.Says, LeftOut: p.LeftOut, Failure: p.Failure, FailedAt: p.FailedAt, Now: p.Now,
		Tools: make([]pinnedTool, len(p.Tools)),
	}
	var schemas bytes.Buffer
	for i, t := range p.Tools {
		h.Tools[i] = pinnedTool{t.Name, t.Description, t.ReadOnly, t.Idempotent}
		if err := json.Compact(&schemas, t.Parameters); err != nil {
			return nil, err
		}
		schemas.WriteByte('\n')
	}
	h.Sum = sumOf(schemas.Bytes())
	header, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return append(append(header, '\n'), schemas.Bytes()...), nil
}

// decodePin reads what was kept of the server of an identity; false: it is of
// another one, or not what was written.
func decodePin(raw []byte, of string) (Pin, bool) {
	header, schemas, _ := bytes.Cut(raw, []byte("\n"))
	var h pinHeader
	if json.Unmarshal(header, &h) != nil || h.Version != pinVersion || h.Of != of || h.Sum != sumOf(schemas) {
		return Pin{}, false
	}
	p := Pin{At: h.At, Says: h.Says, LeftOut: h.LeftOut, Failure: h.Failure, FailedAt: h.FailedAt, Now: h.Now, Tools: make([]Tool, len(h.Tools))}
	for i, t := range h.Tools {
		line, rest, found := bytes.Cut(schemas, []byte("\n"))
		if !found {
			return Pin{}, false
		}
		p.Tools[i] = Tool{Name: t.Name, Description: t.Description, Parameters: line, ReadOnly: t.ReadOnly, Idempotent: t.Idempotent}
		schemas = rest
	}
	return p, len(schemas) == 0
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
