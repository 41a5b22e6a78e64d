package attachment

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/gif"  // register the decoders, so that sizes are known
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise

	"fika"
)

// mimeOf returns the MIME type of a picture or document that providers accept, going by its
// first bytes, or "" if the data is none.
func mimeOf(data []byte) string {
	begins := func(text string) bool { return bytes.HasPrefix(data, []byte(text)) }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case begins("\xff\xd8\xff"):
		return "image/jpeg"
	case begins("GIF87a"), begins("GIF89a"):
		return "image/gif"
	case begins("RIFF") && len(data) > 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	case begins("%PDF-"):
		return "application/pdf"
	}
	return ""
}

// describe describes a picture by its bytes, not by its name.
func describe(name string, data []byte) (fika.Attachment, error) {
	a := fika.Attachment{SHA256: hashOf(data), MIME: mimeOf(data), Bytes: int64(len(data)), Name: name}
	if a.MIME == "" {
		return a, fika.Errorf(fika.Invalid, "", "%s is not a picture that a model can be sent: PNG, JPEG, GIF, WebP and PDF are", name)
	}
	if len(data) > MaxBytes {
		return a, fika.Errorf(fika.Invalid, "", "%s is too large (%.1f MB; providers take pictures up to %.2f MB): make it smaller first", name, float64(len(data))/1e6, MaxBytes/1e6)
	}
	if a.IsDocument() {
		return a, nil
	}
	if a.MIME == "image/webp" {
		a.Width, a.Height = sizeOfWebP(data)
	} else if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		a.Width, a.Height = c.Width, c.Height
	} else {
		return a, fika.Errorf(fika.Invalid, "", "%s begins like a picture (%s) and cannot be read as one: %v", name, a.MIME, err)
	}
	return a, nil
}

// sizeOfWebP returns the size of a WebP picture (RFC 9649), or 0, 0 for a form that it
// does not know.
func sizeOfWebP(d []byte) (width, height int) {
	if len(d) < 30 {
		return 0, 0
	}
	le := binary.LittleEndian
	switch string(d[12:16]) {
	case "VP8 ":
		return int(le.Uint16(d[26:]) & 0x3fff), int(le.Uint16(d[28:]) & 0x3fff)
	case "VP8L":
		bits := le.Uint32(d[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		three := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return three(d[24:]) + 1, three(d[27:]) + 1
	}
	return 0, 0
}
