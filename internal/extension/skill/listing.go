package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// What a listing may cost. A token is some four bytes of English.
const (
	lineBytes    = 400   // of one skill, its name included: at most 100 tokens
	listingBytes = 12000 // of the skills that are described
	namesBytes   = 2000  // of those that are only named
)

// Listing returns what a prompt says of skills, in the order given: a line for each, of at
// most 100 tokens; beyond some 3,000 tokens only names. It is "" without skills.
func Listing(skills []Skill) string {
	if len(skills) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Instructions for certain tasks. When one fits what you are to do, first call skill with its name, then do as it says.")
	n := 0
	for ; n < len(skills); n++ {
		line := "\n- " + Line(skills[n])
		if b.Len()+len(line) > listingBytes {
			break
		}
		b.WriteString(line)
	}
	if n == len(skills) {
		return b.String()
	}
	b.WriteString("\nOthers, by name:")
	size := 0
	for ; n < len(skills) && size < namesBytes; n++ {
		b.WriteString(" " + skills[n].Name)
		size += len(skills[n].Name) + 1
	}
	if n < len(skills) {
		fmt.Fprintf(&b, " and %d more", len(skills)-n)
	}
	return b.String()
}

// Line returns the line of one skill in a listing.
func Line(s Skill) string {
	text := s.Name + ": " + s.Description
	if len(text) <= lineBytes {
		return text
	}
	end := lineBytes - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimRight(text[:end], " ") + "…"
}
