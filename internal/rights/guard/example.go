package guard

import "strings"

// Examples returns a call that the rule matches and one that it just misses, as a person
// would write them. Both are empty for a rule about every call of a tool.
func (r Rule) Examples() (match, miss string) {
	switch {
	case r.Path != "":
		match = strings.NewReplacer("**", "any/folder", "*", "anything").Replace(r.Path)
		if miss = match + ".other"; matchPath(r.Path, miss) {
			miss = "other/" + strings.TrimLeft(match, "~/")
		}
		return match, miss
	case r.Host != "":
		below, any := strings.CutPrefix(r.Host, "*.")
		if any {
			return "any." + below, below
		}
		return r.Host, "other." + r.Host
	}
	words := strings.Fields(r.Match)
	if len(words) == 0 || r.Match == "*" {
		return "", ""
	}
	if words[len(words)-1] != "*" {
		return r.Match, r.Match + " --more"
	}
	words = words[:len(words)-1]
	return strings.Join(words, " ") + " --anything at all", strings.Join(append(words[:len(words)-1:len(words)-1], "other"), " ")
}
