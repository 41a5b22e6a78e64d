package words

import "regexp"

// inSession are the commands of a shell for which a session has one of its own.
var inSession = []struct {
	shell *regexp.Regexp
	slash string
}{
	{regexp.MustCompile(`\bfika request retry [0-9a-f][0-9a-f-]*`), "/retry"},
	{regexp.MustCompile(`\bfika request cancel [0-9a-f][0-9a-f-]*`), "/stop"},
	{regexp.MustCompile(`\bfika chat resume s-[\w-]+`), "/unpause"},
	{regexp.MustCompile(`\bfika chat continue s-[\w-]+`), "/continue"},
	{regexp.MustCompile(`\bfika approve(| \d+)([);,.]|$)`), "/approve$1$2"},
	{regexp.MustCompile(`\bfika agent list([);,.]|$)`), "/agents$1"},
	{regexp.MustCompile(`\bfika (board|land) list([);,.]|$)`), "/$1$2"},
}

// InSession returns a text of fika's with the commands that a person types in a session
// in place of those of a shell.
func InSession(text string) string {
	for _, c := range inSession {
		text = c.shell.ReplaceAllString(text, c.slash)
	}
	return text
}
