package folder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"fika"
	"fika/internal/text/safetext"
	"fika/internal/text/speech"
)

// longResult is how much of a tool's output the transcript for people shows; the JSON
// files hold all of it.
const longResult = 4000

// WriteTranscript writes entries for people: Markdown, each entry headed by its
// [SPEAKER]. It is deterministic, and writes no terminal escapes or other control
// characters.
func WriteTranscript(w io.Writer, entries []fika.Entry) error {
	for _, e := range entries {
		if _, err := w.Write(renderEntry(e)); err != nil {
			return fika.Wrap(fika.Storage, "write transcript", err)
		}
	}
	return nil
}

// renderEntry returns one entry of transcript.md, followed by a blank line. The mirror
// recognises its own writing by it: changing it makes doctor report every older
// transcript.
func renderEntry(e fika.Entry) []byte {
	var b bytes.Buffer
	at := e.At.UTC().Format("2006-01-02 15:04:05Z")
	from := speech.HeadingName(cleanText(e.From))
	switch e.Type {
	case fika.ToolCall:
		fmt.Fprintf(&b, "### [%s] → %s · %s\n\n", from, speech.HeadingName(cleanText(e.To)), at)
		writeFenced(&b, "json", readableJSON(e.Content), 0)
	case fika.ToolResult:
		mark := ""
		if e.Meta.IsError {
			mark = " (error)"
		}
		fmt.Fprintf(&b, "### [%s]%s · %s\n\n", from, mark, at)
		writeFenced(&b, "", e.Content, longResult)
	case fika.Compaction:
		fmt.Fprintf(&b, "---\n\n## [%s] compacted · %s\n\n", from, at)
		writeParagraph(&b, e.Content)
	case fika.Notice, fika.Rewind:
		fmt.Fprintf(&b, "> **[%s]** %s · %s\n\n", from, strings.ReplaceAll(cleanText(e.Content), "\n", "\n> "), at)
	default:
		fmt.Fprintf(&b, "## [%s] · %s\n\n", from, at)
		writeParagraph(&b, e.Content)
	}
	return b.Bytes()
}

func writeParagraph(b *bytes.Buffer, text string) {
	if text = strings.TrimRight(cleanText(text), "\n"); text != "" {
		b.WriteString(escapeHeadings(text))
		b.WriteString("\n\n")
	}
}

// escapeHeadings puts a backslash before the lines of a text that would read as the
// heading of another entry or as a notice, so that nobody can speak as somebody else.
func escapeHeadings(text string) string {
	if !strings.ContainsAny(text, "#>-=<") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		bare := strings.TrimLeft(line, " \t")
		under := i > 0 && strings.HasPrefix(strings.TrimLeft(lines[i-1], " \t"), "[") && bare != "" && strings.Trim(bare, "-= \t") == ""
		if under || isHeading(bare) {
			lines[i] = line[:len(line)-len(bare)] + `\` + bare
		}
	}
	return strings.Join(lines, "\n")
}

// isHeading reports whether a line begins like the headings that [renderEntry] writes:
// "## [SPEAKER]", "> **[SPEAKER]**", or a heading of HTML.
func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#> *")
	if rest != line && strings.HasPrefix(rest, "[") {
		return true
	}
	return len(line) > 3 && strings.EqualFold(line[:2], "<h") && line[2] >= '1' && line[2] <= '6'
}

// writeFenced writes text between fences longer than any it contains.
func writeFenced(b *bytes.Buffer, lang, text string, limit int) {
	text = strings.TrimRight(cleanText(text), "\n")
	if text == "" {
		b.WriteString("(nothing)\n\n")
		return
	}
	rest := 0
	if limit > 0 && len(text) > limit {
		cut := strings.ToValidUTF8(text[:limit], "")
		text, rest = cut, len(text)-len(cut)
	}
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	fmt.Fprintf(b, "%s%s\n%s\n%s\n\n", ticks, lang, text, ticks)
	if rest > 0 {
		fmt.Fprintf(b, "(%d more bytes in the JSON transcript)\n\n", rest)
	}
}

func readableJSON(args string) string {
	var b bytes.Buffer
	if len(args) < 1<<20 && json.Indent(&b, []byte(args), "", "  ") == nil {
		return b.String()
	}
	return args
}

// cleanText removes everything that could drive a terminal or hide text.
func cleanText(s string) string { return safetext.Options{Returns: true}.Clean(s) }
