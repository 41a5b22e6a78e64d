package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Obeyed is what git reads and runs in a folder because settings name it.
type Obeyed struct {
	// Files and folders: those named by include.path and includeIf (followed, also where
	// the condition does not hold), core.hooksPath, and the programs of the keys that
	// name one. Absolute; they need not exist.
	Paths []string
	// Read lists the files of settings, and those that would be if they existed. As long
	// as they stay as they are, so does the rest.
	Read []string
}

// maxIncluded bounds how many files of settings are followed.
const maxIncluded = 100

// FindObeyed returns what git obeys in a folder because settings name it. What git
// cannot read it does not obey, so a damaged file ends the search without an error.
func FindObeyed(ctx context.Context, folder string) Obeyed {
	o := obeyedSearch{ctx: ctx, seen: map[string]bool{}}
	if o.top, _ = place(ctx, folder, "--show-toplevel"); o.top == "" {
		o.top = folder
	}
	home := os.Getenv("HOME")
	o.found.Read = []string{"/etc/gitconfig", filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config")}
	o.list("config", "--list", "-z", "--show-origin")
	for len(o.follow) > 0 && len(o.seen) < maxIncluded {
		next := o.follow[0]
		if o.follow = o.follow[1:]; !o.seen[next] {
			o.seen[next] = true
			o.list("config", "--list", "-z", "--show-origin", "--no-includes", "--file", next)
		}
	}
	slices.Sort(o.found.Paths)
	o.found.Paths = slices.Compact(o.found.Paths)
	return o.found
}

// obeyedSearch goes through the settings of a folder.
type obeyedSearch struct {
	ctx    context.Context
	top    string          // of the working tree, from where git looks at relative paths
	seen   map[string]bool // files that were listed
	follow []string        // files that are included somewhere
	found  Obeyed
}

// list goes through what "git config --list" says. Each setting is preceded by where it
// comes from: "file:", and a path.
func (o *obeyedSearch) list(args ...string) {
	out, _ := run(o.ctx, Call{Dir: o.top, Args: args}, quiet())
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		file, ok := strings.CutPrefix(fields[i], "file:")
		if !ok {
			continue // our own settings
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(o.top, file)
		}
		if !o.seen[file] {
			o.seen[file] = true
			o.found.Read = append(o.found.Read, file)
		}
		key, value, _ := strings.Cut(fields[i+1], "\n")
		o.add(file, strings.ToLower(key), value)
	}
}

func (o *obeyedSearch) add(file, key, value string) {
	section, name := key[:max(0, strings.IndexByte(key, '.'))], key[strings.LastIndexByte(key, '.')+1:]
	switch {
	case (section == "include" || section == "includeif") && name == "path":
		path := o.path(filepath.Dir(file), value)
		o.found.Paths, o.found.Read = append(o.found.Paths, path), append(o.found.Read, path)
		o.follow = append(o.follow, path)
	case key == "core.hookspath" || key == "core.attributesfile" || key == "init.templatedir":
		if value != "" {
			o.found.Paths = append(o.found.Paths, o.path(o.top, value))
		}
	case runs(section, name) && (section != "alias" || strings.HasPrefix(value, "!")):
		o.program(value)
	}
}

// runs reports whether a setting names a program.
func runs(section, name string) bool {
	switch section {
	case "filter", "merge", "diff", "credential", "alias", "gpg", "difftool", "mergetool", "trailer", "browser", "man", "pager", "hook", "guitool", "uploadpack", "tar", "sendemail":
		return true
	case "remote":
		return name == "uploadpack" || name == "receivepack"
	}
	return slices.Contains([]string{"fsmonitor", "sshcommand", "gitproxy", "editor", "pager", "askpass", "alternaterefscommand", "packobjectshook", "program", "difffilter", "helper"}, name)
}

// program notes the files that a command names: whatever has a slash, and the arguments
// that are files at the top of the working tree, where git starts it.
func (o *obeyedSearch) program(command string) {
	words := strings.FieldsFunc(strings.TrimPrefix(command, "!"), func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&()<>=$", r) })
	for i, word := range words {
		path := o.path(o.top, word)
		switch {
		case strings.Contains(word, "://"):
		case strings.ContainsRune(word, '/'):
			o.found.Paths = append(o.found.Paths, path)
		case i > 0 && !strings.HasPrefix(word, "-"):
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				o.found.Paths = append(o.found.Paths, path)
			}
		}
	}
}

// path resolves a path as git does.
func (o *obeyedSearch) path(base, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(os.Getenv("HOME"), rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(base, path)
	}
	return filepath.Clean(path)
}
