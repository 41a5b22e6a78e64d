package term

import (
	"io"

	"fika/internal/text/safetext"
)

// Clean makes untrusted text safe to print; see [safetext.Clean].
func Clean(s string) string { return safetext.Clean(s) }

// CleanLine is Clean for a text that must stay on one line: newlines and tabs
// become spaces.
func CleanLine(s string) string { return safetext.Line(s) }

// CleanStyled is Clean, but keeps colour and weight, as made by [Style].
func CleanStyled(s string) string { return safetext.Options{Styles: true}.Clean(s) }

// CleanLinked is CleanStyled, but also keeps links.
func CleanLinked(s string) string { return safetext.Options{Styles: true, Links: true}.Clean(s) }

// Linkable reports whether an address may become a link.
func Linkable(address string) bool { return safetext.Linkable(address) }

// Cleaner cleans a text that comes in pieces.
type Cleaner = safetext.Cleaner

// NewCleaner returns a Cleaner that passes text on to w as [Clean] would leave it,
// however it is split into writes. Its Close ends the text.
func NewCleaner(w io.Writer) *Cleaner { return safetext.NewCleaner(w) }
