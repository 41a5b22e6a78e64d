package setup

import (
	"bytes"
	"strings"

	"fika/internal/settings/front"
)

// readSections reads the settings of a file that has them as sections of its text,
// under headings of the second level; the prompt is one of the sections. A file
// without such a section is returned as it is.
func readSections(path string, f front.Matter) (front.Matter, error) {
	sections := map[string]string{}
	var name string
	for line := range strings.Lines(f.Body) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			if title := strings.ToLower(strings.TrimSpace(heading)); isSection(title) {
				name = title
				continue
			}
		}
		sections[name] += line
	}
	prompt, ok := sections["system prompt"]
	if !ok {
		return f, nil
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	for _, key := range []string{"name", "description", "model"} {
		text := f.Text(key)
		if s := strings.Join(strings.Fields(sections[key]), " "); s != "" {
			text = s
		}
		if text != "" {
			b.WriteString(key + ": " + front.Quote(text) + "\n")
		}
	}
	tools := f.List("allowed_tools")
	for _, line := range strings.FieldsFunc(sections["allowed tools"], func(r rune) bool { return r == '\n' || r == ',' }) {
		if word := strings.Trim(strings.TrimLeft(strings.TrimSpace(line), "-*+ "), "` "); word != "" {
			tools = append(tools, word)
		}
	}
	if len(tools) > 0 {
		b.WriteString("tools:\n")
		for _, t := range tools {
			b.WriteString("  - " + front.Quote(t) + "\n")
		}
	}
	b.WriteString("---\n" + strings.TrimSpace(prompt) + "\n")
	return front.Read(path, b.Bytes())
}

// isSection reports whether a heading, in lower case, begins a section with a setting.
func isSection(title string) bool {
	switch title {
	case "description", "allowed tools", "model", "capabilities", "system prompt":
		return true
	}
	return false
}
