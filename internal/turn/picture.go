package turn

import (
	"slices"

	"fika"
	"fika/internal/llm"
)

// Picture returns the bytes of an attached picture.
type Picture func(fika.Attachment) ([]byte, error)

// A model is shown the newest pictures of its window, up to a number and a total size
// that all providers take; for older ones it reads the line that mentions them.
const (
	maxPictures     = 10
	maxPictureBytes = 12_000_000
)

// pictured holds the pictures of a message.
type pictured struct {
	shown []llm.Image
	notes string // about those that are not shown, for the model
}

// loadPictures reads the pictures that the model is shown, newest first.
func (c *composer) loadPictures(entries []fika.Entry) map[fika.EntryID]pictured {
	out := map[fika.EntryID]pictured{}
	if c.picture == nil {
		for _, e := range entries {
			if e.Type == fika.ToolResult && len(e.Meta.Attachments) > 0 {
				out[e.ID] = pictured{notes: "\n[this model is shown no pictures]"}
			}
		}
		return out
	}
	count, bytes := 0, int64(0)
	for _, e := range slices.Backward(entries) {
		var p pictured
		for _, a := range e.Meta.Attachments {
			count++
			bytes += a.Bytes
			if count > maxPictures || bytes > maxPictureBytes {
				p.notes += "\n[" + a.Name + " is not shown any more]"
				continue
			}
			data, err := c.picture(a)
			if err != nil {
				p.notes += "\n[" + a.Name + " cannot be shown: " + err.Error() + "]"
				continue
			}
			p.shown = append(p.shown, llm.Image{MIME: a.MIME, Data: data})
		}
		if len(e.Meta.Attachments) > 0 {
			out[e.ID] = p
		}
	}
	return out
}
