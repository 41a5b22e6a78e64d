package colleague

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fika"
	"fika/internal/speech"
)

// Colleague is an agent that may be asked, as its entry in the config has it.
type Colleague struct {
	Name         fika.AgentName
	Capabilities []string
	Description  string
}

const (
	// descriptionMax is how many characters of a description are shown.
	descriptionMax = 40
	// lineBytes is what a line may take on average before all of them are cut
	// shorter: eight lines and their heading stay below 600 bytes.
	lineBytes = 62
	// smallTeam is how many lines there is always room for.
	smallTeam = 8
	// listedMax is how many are described; of a larger team, the others are
	// only counted.
	listedMax = 24
)

// PromptParagraph is the paragraph of a system prompt that says which agents there are
// and through which of the reader's tools they are reached. It is empty without
// colleagues or tools, and always the same for the same arguments.
func PromptParagraph(list []Colleague, tools []string) string {
	if len(list) == 0 || len(tools) == 0 {
		return ""
	}
	lines := describe(list)
	return "Agents you can reach with " + strings.Join(tools, " or ") + ":\n" + strings.Join(lines, "\n")
}

// describe gives a line for each colleague. When they are too long together,
// descriptions are cut further, and capabilities last.
func describe(list []Colleague) []string {
	rest := max(0, len(list)-listedMax)
	shown := list[:len(list)-rest]
	budget := lineBytes * max(smallTeam, len(shown))
	var lines []string
	for _, cut := range []struct{ description, capabilities int }{
		{descriptionMax, 60}, {descriptionMax, 30}, {descriptionMax, 20}, {30, 20}, {20, 20}, {12, 12}, {0, 12}, {0, 0},
	} {
		lines = lines[:0]
		size := 0
		for _, c := range shown {
			line := c.line(cut.description, cut.capabilities)
			lines, size = append(lines, line), size+len(line)+1
		}
		if size <= budget {
			break
		}
	}
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", rest))
	}
	return lines
}

// line is "@coder (go, tests): writes Go", with so many characters at most of
// each part.
func (c Colleague) line(description, capabilities int) string {
	line := "@" + string(c.Name)
	if can := clip(strings.Join(c.Capabilities, ", "), capabilities); can != "" {
		line += " (" + can + ")"
	}
	if text := clip(c.Description, description); text != "" {
		line += ": " + text
	}
	return line
}

// clip makes a text one line of at most n characters.
func clip(text string, n int) string {
	text = speech.HeadingName(text)
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	if n < 2 {
		return ""
	}
	return strings.TrimSpace(string([]rune(text)[:n-1])) + "…"
}

// KnownNames is what an error about an unknown name says besides: "; there are @a
// (go): writes Go, @b". It is empty without colleagues.
func KnownNames(list []Colleague) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return "; there is only " + list[0].line(descriptionMax, descriptionMax)
	}
	return "; there are " + strings.Join(describe(list), ", ")
}

// OfRows makes colleagues of agents that only the database knows.
func OfRows(rows []fika.Agent) []Colleague {
	var out []Colleague
	for _, r := range rows {
		out = append(out, Colleague{Name: r.Name, Description: r.Description})
	}
	return out
}

// State is how a colleague is now.
type State struct {
	Name fika.AgentName
	How  string // "busy", "stopped"; empty: ready
}

// NotReady is the line about those who are not ready; empty when all are.
func NotReady(list []State) string {
	by := map[string][]string{}
	var order []string
	for _, s := range list {
		if s.How == "" {
			continue
		}
		if !slices.Contains(order, s.How) {
			order = append(order, s.How)
		}
		by[s.How] = append(by[s.How], "@"+string(s.Name))
	}
	slices.Sort(order)
	var parts []string
	for _, how := range order {
		verb := " are "
		if len(by[how]) == 1 {
			verb = " is "
		}
		parts = append(parts, strings.Join(by[how], ", ")+verb+how)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}
