package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// pinVersion changes whenever the meaning of the file does.
const pinVersion = 3

// The file of a server begins with a line of words: version, identity of the server, sum,
// when it was agreed to in nanoseconds since 1970, number of tools, and what the server
// calls itself as a quoted Go string. The second line is JSON, or empty if there is no
// [pinRest]. Two lines follow for each tool: its name and description ([appendTool]), and
// its parameters, which are passed on exactly as they stand there: otherwise a prompt
// with a hundred tools would take a third longer to begin. The sum shows that the lines
// of tools are what was written, when the parameters were canonical schemas of objects.

// pinRest holds what only few servers need.
type pinRest struct {
	LeftOut    []LeftOut `json:"left_out,omitempty"`
	Failure    string    `json:"failure,omitempty"`
	FailedAt   time.Time `json:"failed_at,omitzero"`
	Now        *Listing  `json:"now,omitempty"`
	NeedsLogin bool      `json:"needs_login,omitempty"`
}

// The mark before a tool's name: what the server says about repeating a call.
const (
	markPlain      = '-'
	markReadOnly   = 'r'
	markIdempotent = 'i'
	markBoth       = 'b'
)

// appendTool appends a tool without its parameters: a mark, its name and its description,
// as quoted Go strings, which can be read without inspecting each character.
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

// readTool reads what [appendTool] writes; it returns false for anything else.
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

// encodePin encodes what is kept of a server.
func encodePin(p Pin, of string) ([]byte, error) {
	var tools bytes.Buffer
	for _, t := range p.Tools {
		tools.Write(appendTool(nil, t))
		if err := json.Compact(&tools, t.Parameters); err != nil {
			return nil, err
		}
		tools.WriteByte('\n')
	}
	at := int64(0)
	if p.WasAsked() {
		at = p.At.UnixNano()
	}
	out := fmt.Appendf(nil, "%d %s %s %d %d %s\n", pinVersion, of, sumOf(tools.Bytes()), at, len(p.Tools), strconv.Quote(p.Says))
	if len(p.LeftOut) > 0 || p.Failure != "" || p.Now != nil {
		rest, err := json.Marshal(pinRest{p.LeftOut, p.Failure, p.FailedAt, p.Now, p.NeedsLogin})
		if err != nil {
			return nil, err
		}
		out = append(out, rest...)
	}
	return append(append(out, '\n'), tools.Bytes()...), nil
}

// decodePin decodes what was kept of the server with an identity. It returns false if the
// data is about another server, or is not what was written.
func decodePin(raw []byte, of string) (Pin, bool) {
	first, raw, _ := bytes.Cut(raw, []byte("\n"))
	more, lines, _ := bytes.Cut(raw, []byte("\n"))
	words := strings.SplitN(string(first), " ", 6)
	if len(words) != 6 || words[0] != strconv.Itoa(pinVersion) || words[1] != of || words[2] != sumOf(lines) {
		return Pin{}, false
	}
	at, err := strconv.ParseInt(words[3], 10, 64)
	n, nErr := strconv.Atoi(words[4])
	says, saysErr := strconv.Unquote(words[5])
	if err != nil || nErr != nil || saysErr != nil || n < 0 || n > len(lines) {
		return Pin{}, false
	}
	p := Pin{Says: says, Tools: make([]Tool, n)}
	if at != 0 {
		p.At = time.Unix(0, at)
	}
	if len(more) > 0 {
		var rest pinRest
		if json.Unmarshal(more, &rest) != nil {
			return Pin{}, false
		}
		p.LeftOut, p.Failure, p.FailedAt, p.Now, p.NeedsLogin = rest.LeftOut, rest.Failure, rest.FailedAt, rest.Now, rest.NeedsLogin
	}
	for i := range p.Tools {
		line, after, _ := bytes.Cut(lines, []byte("\n"))
		t, ok := readTool(string(line))
		parameters, after, found := bytes.Cut(after, []byte("\n"))
		if !ok || !found {
			return Pin{}, false
		}
		t.Parameters = parameters
		p.Tools[i], lines = t, after
	}
	return p, len(lines) == 0
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
