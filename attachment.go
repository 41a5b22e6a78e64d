package fika

import "fmt"

// Attachment is a picture that belongs to a message. Its bytes are a file of the home,
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
	return fmt.Sprintf("[picture %s: %s, %s]", a.Name, a.MIME, size)
}

// maxPictureTokens is the most that a picture counts: providers scale larger pictures
// down.
const maxPictureTokens = 1600

// Tokens estimates how much of a model's window the picture takes: one token per 750
// pixels, from 85 to 1600, and 1600 if its size is not known.
func (a Attachment) Tokens() int64 {
	if a.Width <= 0 || a.Height <= 0 {
		return maxPictureTokens
	}
	return min(max(int64(a.Width)*int64(a.Height)/750, 85), maxPictureTokens)
}
