package setup

import (
	"bytes"
	"regexp"
	"strings"

	"fika/internal/config"
)

// plainSetting matches a setting at the top of a file whose value is written without
// quotes.
func plainSetting() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*):[ \t]+([^"'\[{|>&*!#%@` + "`" + `\s].*)$`)
}

// readQuoted reads a file whose settings are not YAML because of what stands in a value
// without quotes, as in "description: Use this agent when: …". Other programs write such
// files and read each line as a name and a text. It returns trouble, the error of the
// first reading, if quotes do not help.
func readQuoted(path string, data []byte, trouble error) (config.Front, error) {
	front, body, closed := config.SplitFront(data)
	if !closed {
		return config.Front{}, trouble
	}
	plain, lines := plainSetting(), strings.Split(string(front), "\n")
	for i, line := range lines {
		if m := plain.FindStringSubmatch(strings.TrimRight(line, " \t\r")); m != nil {
			lines[i] = m[1] + ": " + quoteYAML(m[2])
		}
	}
	out, err := config.ReadFront(path, []byte("---\n"+strings.Join(lines, "\n")+"---\n"+string(body)))
	if err != nil {
		return config.Front{}, trouble
	}
	return out, nil
}

// readSections reads the settings of a file that has them as sections of its text,
// under headings of the second level; the prompt is one of the sections. A file
// without such a section is returned as it is.
func readSections(path string, f config.Front) (config.Front, error) {
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
			b.WriteString(key + ": " + quoteYAML(text) + "\n")
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
			b.WriteString("  - " + quoteYAML(t) + "\n")
		}
	}
	b.WriteString("---\n" + strings.TrimSpace(prompt) + "\n")
	return config.ReadFront(path, b.Bytes())
}

// isSection reports whether a heading, in lower case, begins a section with a setting.
func isSection(title string) bool {
	switch title {
	case "description", "allowed tools", "model", "capabilities", "system prompt":
		return true
	}
	return false
}
