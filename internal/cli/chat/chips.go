package chat

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/attachment"
	"fika/internal/client"
	"fika/internal/console"
)

// chipIn says how many bytes of a word that was typed are a file: @ and the path
// of a regular file, with what ends a sentence behind it. A name that an agent
// has is the agent's.
func (j *joined) chipIn(word string) int {
	if len(word) < 2 || word[0] != '@' || j.isAgent(word[1:]) {
		return 0
	}
	for _, name := range []string{word, strings.TrimRight(word, ",.;:!?)\"'")} {
		if len(name) < 2 {
			continue
		}
		info, err := os.Stat(j.path(name[1:]))
		if err == nil && info.Mode().IsRegular() {
			return len(name)
		}
	}
	return 0
}

// isAgent reports whether a name is that of somebody who is spoken to.
func (j *joined) isAgent(name string) bool {
	name = strings.ToLower(strings.TrimRight(name, ",.;:!?)\"'"))
	return name == "all" || name == "user" || slices.Contains(j.agentNames(), fika.AgentName(name))
}

// agentNames are the agents that may be meant here.
func (j *joined) agentNames() []fika.AgentName {
	if j.session != nil {
		return j.session.known()
	}
	var names []fika.AgentName
	rows, err := j.client().Agents.Rows(context.Background())
	if err != nil {
		return nil // nobody is offered
	}
	for _, a := range rows {
		if a.ID != "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// path is where a file is that a person has typed: from the folder of their shell,
// or from home.
func (j *joined) path(name string) string {
	if rest, found := strings.CutPrefix(name, "~/"); found {
		return filepath.Join(j.Getenv("HOME"), rest)
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(j.App().Dir(), name)
}

// maxOffered bounds the files that are offered, maxLooked what is looked at to
// find them, and lookTime how long.
const (
	maxOffered = 200
	maxLooked  = 20_000
	lookTime   = 150 * time.Millisecond
)

// offerFiles gives what may stand behind the @ at start: what is in the folder
// that has been typed so far, or, where nothing there begins so, files below
// whose own name does.
func (j *joined) offerFiles(typed string, start int) []console.Completion {
	dir, begin := filepath.Split(typed)
	entries, err := os.ReadDir(j.path(dir))
	if err != nil {
		return nil
	}
	var out []console.Completion
	for _, x := range entries {
		if len(out) == maxOffered || !strings.HasPrefix(x.Name(), begin) || begin == "" && strings.HasPrefix(x.Name(), ".") {
			continue
		}
		c := console.Completion{Start: start, Text: "@" + dir + x.Name()}
		info, err := os.Stat(filepath.Join(j.path(dir), x.Name()))
		switch {
		case err != nil:
			continue
		case info.IsDir():
			c.Text += "/"
		case info.Mode().IsRegular():
			c.Chip = true
		default:
			continue
		}
		out = append(out, c)
	}
	if len(out) == 0 && dir == "" && begin != "" {
		return j.filesBelow(begin, start)
	}
	return out
}

// filesBelow looks for files whose name begins so, in all folders below that are
// neither hidden nor full of other people's code, as far as that is quick.
func (j *joined) filesBelow(begin string, start int) (out []console.Completion) {
	root, end, looked := j.App().Dir(), time.Now().Add(lookTime), 0
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case looked > maxLooked || len(out) == maxOffered || time.Now().After(end):
			return filepath.SkipAll
		case err != nil:
			return filepath.SkipDir
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "vendor"):
			return filepath.SkipDir
		case d.Type().IsRegular() && strings.HasPrefix(d.Name(), begin):
			if rel, err := filepath.Rel(root, path); err == nil {
				out = append(out, console.Completion{Start: start, Text: "@" + rel, Chip: true})
			}
		}
		return nil
	})
	return out
}

// errKept says that a line was not sent because its person did not want it to be.
var errKept = errors.New("you did not say send")

// readChips reads the files that the chips of a line stand for, and gives its text
// with their names as code, which mentions nobody.
func (j *joined) readChips(ctx context.Context, line console.Line) (text string, files []attachment.File, err error) {
	var b strings.Builder
	at := 0
	for _, c := range line.Chips {
		name := strings.TrimPrefix(line.Text[c.From:c.To], "@")
		b.WriteString(line.Text[at:c.From] + attachment.CodeSpan(name))
		at = c.To
		if slices.ContainsFunc(files, func(f attachment.File) bool { return f.Path == name }) {
			continue
		}
		f, err := j.LoadFileIf(j.path(name), func(why error) error { return j.agree(ctx, why) })
		if err != nil {
			return "", nil, err
		}
		f.Path = name
		files = append(files, f)
	}
	return b.String() + line.Text[at:], files, nil
}

// agree asks the person about a file that tools do not see. What they enter other
// than the one word is not lost: it is the next line.
func (j *joined) agree(ctx context.Context, why error) error {
	j.note("— " + why.Error() + ". Enter the word send to send it to the model all the same, or nothing to keep it here")
	j.con.SetPrompt("send it? ")
	defer j.con.SetPrompt(j.prompt())
	line, err := j.con.Read(ctx)
	switch answer := strings.ToLower(strings.TrimSpace(line.Text)); {
	case err != nil:
	case answer == "send":
		return nil
	case !slices.Contains([]string{"", "y", "yes", "n", "no"}, answer):
		j.next = &line
	}
	return errKept
}

// prompt stands before what is typed.
func (j *joined) prompt() string {
	if j.session != nil {
		return "> "
	}
	return string(j.chat().Name) + "> "
}

// deliver sends what a person says, with the files that go with it.
func (j *joined) deliver(ctx context.Context, text string) (sent client.Sent, err error) {
	said := saying{text: text}
	if said.text, said.pictures, err = j.Env.Join(j.files, text); err != nil {
		return sent, err
	}
	return j.client().Chats.SendWith(ctx, j.chat(), said.text, said.pictures, j.as)
}
