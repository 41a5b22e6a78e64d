package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// pinVersion changes when the meaning of what is kept does.
const pinVersion = 3

// pinHeader is the first line of the file of a server. Two lines for each of its
// tools follow: what it is called and does ([pinnedTool]), and its parameters, which
// are handed on as they stand there: a prompt with a hundred tools would otherwise
// take a third longer to begin. Sum shows that these lines are what was written,
// where parameters were schemas of objects in one spelling.
type pinHeader struct {
	Version int       `json:"version"`
	Of      string    `json:"of"` // identity of the server
	Sum     string    `json:"sum"`
	At      time.Time `json:"at,omitzero"`
	Says    string    `json:"says,omitempty"`
	Tools   int       `json:"tools"`
	LeftOut []LeftOut `json:"left_out,omitempty"`

	Failure  string    `json:"failure,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	Now      *Listing  `json:"now,omitempty"`
}

// What the server says of repeating a tool, as it stands before its name.
const (
	markPlain      = '-'
	markReadOnly   = 'r'
	markIdempotent = 'i'
	markBoth       = 'b'
)

// appendTool writes a tool without its parameters: a mark, its name and its
// description, as texts of Go, which are read without looking at each character.
func appendTool(line []byte, t Tool) []byte {
	mark := byte(markPlain)
	switch {
	case t.ReadOnly && t.Idempotent:
		mark = markBoth
	case t.ReadOnly:
		mark = markReadOnly
	case t.Idempotent:
		mark = markIdempotent
	}
	line = append(line, mark)
	line = strconv.AppendQuote(line, t.Name)
	return append(strconv.AppendQuote(line, t.Description), '\n')
}

// readTool reads what [appendTool] writes; false: it is something else.
func readTool(line string) (t Tool, ok bool) {
	if line == "" {
		return t, false
	}
	t.ReadOnly = line[0] == markReadOnly || line[0] == markBoth
	t.Idempotent = line[0] == markIdempotent || line[0] == markBoth
	name, err := strconv.QuotedPrefix(line[1:])
	if err != nil {
		return t, false
	}
	if t.Name, err = strconv.Unquote(name); err != nil {
		return t, false
	}
	t.Description, err = strconv.Unquote(line[1+len(name):])
	return t, err == nil
}

// encodePin writes what is kept of a server.
func encodePin(p Pin, of string) ([]byte, error) {
	h := pinHeader{
		Version: pinVersion, Of: of, At: p.At, Says: p.Says, Tools: len(p.Tools), LeftOut: p.LeftOut,
		Failure: p.Failure, FailedAt: p.FailedAt, Now: p.Now,
	}
	var tools bytes.Buffer
	for _, t := range p.Tools {
		tools.Write(appendTool(nil, t))
		if err := json.Compact(&tools, t.Parameters); err != nil {
			return nil, err
		}
		tools.WriteByte('\n')
	}
	h.Sum = sumOf(tools.Bytes())
	header, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return append(append(header, '\n'), tools.Bytes()...), nil
}

// decodePin reads what was kept of the server of an identity; false: it is of
// another one, or not what was written.
func decodePin(raw []byte, of string) (Pin, bool) {
	header, rest, _ := bytes.Cut(raw, []byte("\n"))
	var h pinHeader
	if json.Unmarshal(header, &h) != nil || h.Version != pinVersion || h.Of != of || h.Sum != sumOf(rest) || h.Tools < 0 || h.Tools > len(rest) {
		return Pin{}, false
	}
	p := Pin{At: h.At, Says: h.Says, LeftOut: h.LeftOut, Failure: h.Failure, FailedAt: h.FailedAt, Now: h.Now, Tools: make([]Tool, h.Tools)}
	for i := range p.Tools {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		t, ok := readTool(string(line))
		parameters, after, found := bytes.Cut(after, []byte("\n"))
		if !ok || !found {
			return Pin{}, false
		}
		t.Parameters = parameters
		p.Tools[i], rest = t, after
	}
	return p, len(rest) == 0
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
