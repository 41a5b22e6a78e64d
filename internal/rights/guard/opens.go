package guard

import (
	"path"
	"slices"
	"strings"
)

// repositoryConfig is the file to which git writes the settings of a repository.
const repositoryConfig = ".git/config"

// opens lists the files that a yes opens for a command: those named by a rule that asks
// about it. A file that is not known cannot be opened.
func opens(c Call, d Decision, file Word) []string {
	if c.Tool != "bash" || d.Do != Ask || d.Rule == nil || d.Rule.Path == "" || !file.Known {
		return nil
	}
	return []string{c.absolute(file.Text)}
}

// implied lists the files that commands write without naming them: the repository's
// config, written by git. Which repository that is, is not known if the command chooses
// another folder.
func implied(commands []SimpleCommand) (out []Word) {
	for _, c := range commands {
		if slices.ContainsFunc(append(c.Also, c.Words), writesConfig) {
			out = append(out, Word{repositoryConfig, !c.Altered && c.Named == 0})
		}
	}
	return out
}

// writesConfig reports whether a command is git and would write the config of its
// repository, as far as its words show it.
func writesConfig(command []Word) bool {
	var words []string
	for _, w := range command {
		words = append(words, w.Text)
	}
	if len(words) < 2 || path.Base(words[0]) != "git" {
		return false
	}
	args := words[2:]
	has := func(options ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			name, _, _ := strings.Cut(a, "=")
			return slices.Contains(options, name)
		})
	}
	switch words[1] {
	case "config":
		return !has("get", "list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "--global", "--system", "--file", "-f")
	case "remote":
		return has("add", "rename", "remove", "rm", "set-url", "set-branches")
	case "submodule":
		return has("add", "init", "deinit", "sync", "update")
	case "branch":
		return has("-u", "--set-upstream-to", "--unset-upstream", "-t", "--track", "--edit-description")
	case "push":
		return has("-u", "--set-upstream")
	}
	return false
}
