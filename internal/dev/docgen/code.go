package main

import (
	"fmt"
	"strings"

	"fika/internal/api"
	"fika/internal/text/words"
)

// codesPage returns the codes of statuses with their words, and the codes of errors.
func codesPage() string {
	var b strings.Builder
	b.WriteString("# Codes\n\n" + notice)
	b.WriteString(`How something stands is a code with arguments: programs compare the code, people read the words. ` + "`--json`" + ` answers have the code beside the sentence, and
bodies on the bus have it as ` + "`code`" + `. Words may change, codes do not.

In the words, a part in brackets is left out if one of its arguments is missing; of alternatives between bars, the first counts that has all its arguments. ` + "`{help}`" + ` is
the command that helps, ` + "`{until}`" + ` and ` + "`{in}`" + ` say when it changes by itself; ` + "`{parts}`, `{each}` and `{briefly}`" + ` are the statuses within it.
Below the words stand those for places where the agent's name precedes them. **Person** marks what stays as it is until a person does something.

| code | arguments | words | what helps | person |
|---|---|---|---|---|
`)
	phrases := words.Phrases()
	for i, m := range api.Meanings() {
		var helps []string
		for _, r := range m.Help {
			helps = append(helps, "`"+strings.TrimSpace(r.Verb+" "+r.How)+"`")
		}
		person := ""
		if m.NeedsPerson {
			person = "yes"
		}
		text := tableText(phrases[i].Text)
		if phrases[i].Brief != "" {
			text += "<br>" + tableText(phrases[i].Brief)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Code, strings.Join(m.Args, ", "), text, strings.Join(helps, ", "), person)
	}
	b.WriteString("\n## Commands\n\nThe verbs that help, as commands.\n\n| verb | command |\n|---|---|\n")
	for _, v := range api.Verbs() {
		for _, name := range []string{v.Name, v.Name + " now"} {
			if command := words.Commands()[name]; command != "" {
				fmt.Fprintf(&b, "| `%s` | `%s` |\n", name, command)
			}
		}
	}
	return b.String()
}

// tableText returns the words of a code as text in a cell of a table.
func tableText(text string) string {
	return strings.NewReplacer("|", " \\| ", "[", "\\[", "]", "\\]", "<", "\\<").Replace(text)
}
