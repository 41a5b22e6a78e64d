package fika

import "fmt"

// Attachment is a picture or a document that belongs to a message or to the result of a tool
// call. Its bytes are a file of the home,
// found by their hash. A line in the message's text describes the picture, for readers
// that cannot see it.
type Attachment struct {
	SHA256 string `json:"sha256"` // of the bytes, in hexadecimal
	MIME   string `json:"mime"`
	Bytes  int64  `json:"bytes"`
	Name   string `json:"name,omitempty"` // of the original file
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// TextLine returns the line that describes the attachment in a text.
func (a Attachment) TextLine() string {
	size := fmt.Sprintf("%d bytes", a.Bytes)
	if a.Bytes >= 10_000 {
		size = fmt.Sprintf("%d kB", a.Bytes/1000)
	}
	if a.Width > 0 {
		size = fmt.Sprintf("%d×%d, %s", a.Width, a.Height, size)
	}
	what := "picture"
	if a.IsDocument() {
		what = "document"
	}
	return fmt.Sprintf("[%s %s: %s, %s]", what, a.Name, a.MIME, size)
}

// IsDocument reports whether the attachment has pages rather than a size: a PDF.
func (a Attachment) IsDocument() bool { return a.MIME == "application/pdf" }

// maxPictureTokens is the most that a picture counts: providers scale larger pictures
// down.
const maxPictureTokens = 1600

// Tokens estimates how much of a model's window the picture takes: one token per 750
// pixels, from 85 to 1600, and 1600 if its size is not known; of a document, one for 20
// bytes.
func (a Attachment) Tokens() int64 {
	if a.IsDocument() {
		return max(a.Bytes/20, maxPictureTokens)
	}
	if a.Width <= 0 || a.Height <= 0 {
		return maxPictureTokens
	}
	return min(max(int64(a.Width)*int64(a.Height)/750, 85), maxPictureTokens)
}
