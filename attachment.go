package fika

import "fmt"

// Attachment is a picture that belongs to a message. Its bytes are a file of the
// home, found by their hash; a line of the message's text tells of it, for those
// who do not see pictures.
type Attachment struct {
	SHA256 string `json:"sha256"` // of the bytes, in hexadecimal
	MIME   string `json:"mime"`
	Bytes  int64  `json:"bytes"`
	Name   string `json:"name,omitempty"` // of the file that it came from
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// TextLine is how a text tells of the attachment.
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

// maxPictureTokens is what a picture counts at most: providers make larger ones
// smaller.
const maxPictureTokens = 1600

// Tokens estimates what the picture takes of a model's window: one for 750 of its
// points, from 85 to 1600; 1600 where its size is not known.
func (a Attachment) Tokens() int64 {
	if a.Width <= 0 || a.Height <= 0 {
		return maxPictureTokens
	}
	return min(max(int64(a.Width)*int64(a.Height)/750, 85), maxPictureTokens)
}
