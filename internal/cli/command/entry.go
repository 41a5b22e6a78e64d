package command

import (
	"bytes"

	"fika"
)

// FullEntry is an entry as commands print it: every key is present, null if it has
// no value, unlike in files and on the bus.
type FullEntry fika.Entry

// MarshalJSON implements json.Marshaler.
func (x FullEntry) MarshalJSON() ([]byte, error) {
	line, err := PlainJSON(fika.Entry(x))
	if err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("}"))
	for _, absent := range []struct {
		key   string
		given bool
		value string
	}{
		{"seq", x.Seq != 0, "null"}, {"tool_call_id", x.Meta.ToolCallID != "", "null"}, {"request_id", x.Request != "", "null"}, {"reply_to", x.ReplyTo != "", "null"},
		{"depth", x.Depth != 0, "0"}, {"usage", x.Meta.Usage != nil, "null"}, {"reasoning", x.Meta.Reasoning != "", "null"}, {"chain", x.Chain != "", "null"},
		{"pinned", x.Pinned, "false"}, {"expires_at", !x.ExpiresAt.IsZero(), "null"}, {"at_ms", x.At.UnixMilli()%1000 != 0, "null"},
	} {
		if !absent.given {
			line = append(line, `,"`+absent.key+`":`+absent.value...)
		}
	}
	if !bytes.Contains(line, []byte(`,"metadata":{`)) {
		line = append(line, `,"metadata":null`...)
	}
	return append(line, '}'), nil
}
