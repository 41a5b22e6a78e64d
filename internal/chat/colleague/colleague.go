package colleague

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fika"
	"fika/internal/text/speech"
)

// Colleague is an agent that may be asked, as its config entry describes it.
type Colleague struct {
	Name         fika.AgentName
	Capabilities []string
	Description  string
}

const (
	// descriptionMax is how many characters of a description are shown at most.
	descriptionMax = 40
	// lineBytes is the average length above which all lines are shortened: eight lines
	// and their heading stay below 600 bytes.
	lineBytes = 62
	// smallTeam is the number of lines that the budget always covers.
	smallTeam = 8
	// listedMax is how many colleagues are described; the rest of a larger team is only
	// counted.
	listedMax = 24
)

// PromptParagraph returns the paragraph of a system prompt that lists the agents and
// the reader's tools that reach them. It is empty without colleagues or tools, and
// always the same for the same arguments.
func PromptParagraph(list []Colleague, tools []string) string {
	if len(list) == 0 || len(tools) == 0 {
		return ""
	}
	lines := describe(list)
	return "Agents you can reach with " + strings.Join(tools, " or ") + ":\n" + strings.Join(lines, "\n")
}

// describe returns a line for each colleague. When the lines are too long together,
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

// line returns "@coder (go, tests): writes Go", with each part cut to the given number
// of characters.
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

// clip turns text into one line of at most n characters.
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

// KnownNames returns what an error about an unknown name adds: "; agents: @a (go):
// writes Go, @b". It is empty without colleagues.
func KnownNames(list []Colleague) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return "; the only agent is " + list[0].line(descriptionMax, descriptionMax)
	}
	return "; agents: " + strings.Join(describe(list), ", ")
}

// OfRows makes colleagues of agents that only the database knows.
func OfRows(rows []fika.Agent) []Colleague {
	var out []Colleague
	for _, r := range rows {
		out = append(out, Colleague{Name: r.Name, Description: r.Description})
	}
	return out
}

// State is the present state of a colleague.
type State struct {
	Name fika.AgentName
	How  string // "busy", "stopped"; empty: ready
}

// NotReady returns the line about colleagues that are not ready; empty when all are.
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
