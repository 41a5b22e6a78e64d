package term

import (
	"io"

	"fika/internal/safetext"
)

// Clean makes untrusted text safe to print; see [safetext.Clean].
func Clean(s string) string { return safetext.Clean(s) }

// CleanLine is Clean for a text that must stay on one line: newlines and tabs
// become spaces.
func CleanLine(s string) string { return safetext.Line(s) }

// CleanStyled is Clean, except that colour and weight stay, as made by [Style].
func CleanStyled(s string) string { return safetext.Options{Styles: true}.Clean(s) }

// CleanLinked is CleanStyled, except that links stay, too.
func CleanLinked(s string) string { return safetext.Options{Styles: true, Links: true}.Clean(s) }

// Linkable reports whether an address may become a link.
func Linkable(address string) bool { return safetext.Linkable(address) }

// Cleaner cleans a text that comes in pieces.
type Cleaner = safetext.Cleaner

// NewCleaner passes text on to w as [Clean] would leave it, however it is cut
// into writes. Its Close says that the text has ended.
func NewCleaner(w io.Writer) *Cleaner { return safetext.NewCleaner(w) }
