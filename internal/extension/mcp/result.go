package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika"
	"fika/internal/text/safetext"
	"fika/internal/tool"
)

// maxContent is the maximum number of pieces in one result: each may become a file.
const maxContent = 1000

// result turns a server's result into what the model reads.
func (t *serverTool) result(c tool.Call, res *sdk.CallToolResult) tool.Result {
	if len(res.InputRequests) > 0 {
		return tool.Errorf("the server " + t.server.Name + " wants to ask a person or a model before it continues, which fika does not let it: give what it needs as arguments, if there are any for it")
	}
	if len(res.Content) > maxContent {
		return tool.Errorf(fmt.Sprintf("the server %s returned %d pieces of content, and at most %d are taken: ask it for less at a time", t.server.Name, len(res.Content), maxContent))
	}
	var parts []string
	var shown []fika.Attachment
	for i, one := range res.Content {
		parts = append(parts, t.part(c, i, one))
		if a := t.picture(i, one); a != nil && len(shown) < tool.MaxAttachments {
			shown = append(shown, *a)
		}
	}
	if text := structured(res, parts); text != "" {
		parts = append(parts, text)
	}
	r := tool.Result{Text: strings.TrimRight(strings.Join(parts, "\n"), "\n"), IsError: res.IsError, Attachments: shown}
	if r.Text == "" {
		r.Text = "(no output)"
	}
	return r
}

// structured returns the structured content as JSON, or "" if a text says the same, whole
// or as the only value of an object: servers are told to send such content twice.
func structured(res *sdk.CallToolResult, parts []string) string {
	if res.StructuredContent == nil {
		return ""
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return "(structured content that is not a JSON)"
	}
	inner := raw
	if m, ok := res.StructuredContent.(map[string]any); ok && len(m) == 1 {
		for _, v := range m {
			inner, _ = json.Marshal(v) // part of what was just encoded
		}
	}
	for _, p := range append(parts, strings.Join(parts, "\n")) {
		text, _ := json.Marshal(p)
		if said := plainJSON(p); bytes.Equal(said, raw) || bytes.Equal(said, inner) || bytes.Equal(text, inner) {
			return ""
		}
	}
	return string(raw)
}

// plainJSON returns JSON text in a canonical encoding, or nil if text is not JSON.
func plainJSON(text string) []byte {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	raw, _ := json.Marshal(v)
	return raw
}

// part returns one piece of a result as text. Data that cannot be shown as text is stored
// in a file.
func (t *serverTool) part(c tool.Call, i int, one sdk.Content) string {
	switch x := one.(type) {
	case *sdk.TextContent:
		return x.Text
	case *sdk.ImageContent:
		return t.data(c, i, "image", x.MIMEType, x.Data)
	case *sdk.AudioContent:
		return t.data(c, i, "sound", x.MIMEType, x.Data)
	case *sdk.ResourceLink:
		line := "(resource " + safetext.Line(x.URI)
		if x.Name != "" && x.Name != x.URI {
			line += ", " + safetext.Line(x.Name)
		}
		if x.MIMEType != "" {
			line += ", " + safetext.Line(x.MIMEType)
		}
		line += ")"
		if x.Description != "" {
			line += " " + x.Description
		}
		return line
	case *sdk.EmbeddedResource:
		if x.Resource == nil {
			return "(an empty resource)"
		}
		if x.Resource.Blob != nil {
			return t.data(c, i, "resource "+safetext.Line(x.Resource.URI), x.Resource.MIMEType, x.Resource.Blob)
		}
		return "(resource " + safetext.Line(x.Resource.URI) + ")\n" + x.Resource.Text
	}
	return fmt.Sprintf("(content of a sort that fika does not know: %T)", one)
}

// picture keeps a piece of a result that the model can be shown; nil: it is none.
func (t *serverTool) picture(i int, one sdk.Content) *fika.Attachment {
	var data []byte
	switch x := one.(type) {
	case *sdk.ImageContent:
		data = x.Data
	case *sdk.EmbeddedResource:
		if x.Resource != nil {
			data = x.Resource.Blob
		}
	}
	keep := t.use.Pool.opts.Pictures
	if keep == nil || len(data) == 0 || !keep.Takes(data) {
		return nil
	}
	kept, err := keep.Put(fmt.Sprintf("%s-%d", t.spec.Name, i), data)
	if err != nil { // too large or broken: the text says where it is
		return nil
	}
	return &kept
}

// data describes a piece of data, and says where it is stored.
func (t *serverTool) data(c tool.Call, i int, what, kind string, data []byte) string {
	line := fmt.Sprintf("(%s, %s, %d bytes", what, cmp.Or(safetext.Line(kind), "of no stated type"), len(data))
	keep := t.use.Pool.opts.KeepFile
	if keep == nil {
		return line + ")"
	}
	path, err := keep(fmt.Sprintf("%s-%d%s", cmp.Or(c.Step, t.spec.Name), i, ending(kind)), data)
	if err != nil {
		return line + "; not kept: " + err.Error() + ")"
	}
	return line + "; kept in " + path + ")"
}

// ending returns the file name extension for a media type; "" if it is not known.
func ending(kind string) string {
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return ""
	}
	switch kind {
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "image/svg+xml":
		return ".svg"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	case "audio/mpeg":
		return ".mp3"
	case "application/pdf":
		return ".pdf"
	}
	return ""
}
