package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"fika"
	"fika/internal/attachment"
	"fika/internal/cli/command"
	"fika/internal/client"
	"fika/internal/console"
	"fika/internal/term"
)

// input is the line that a person types: it completes words, makes chips of files,
// and asks questions in place of the prompt.
type input struct {
	env      *command.Env
	con      *console.Console
	screen   *screen
	files    typedFiles
	prompt   func() string           // what stands before the line now
	agents   func() []fika.AgentName // who may be meant
	commands func() []slashCommand   // what may follow a slash
	next     *console.Line           // was entered instead of an answer, and is read next
}

// typedLine is a line that was entered, and the files that go with it.
type typedLine struct {
	text  string
	files []attachment.File
}

// arguments are the words behind the first.
func (l typedLine) arguments() []string { return strings.Fields(l.text)[1:] }

// showPrompt draws the prompt as it is now.
func (in *input) showPrompt() { in.con.SetPrompt(in.prompt()) }

// echo is what stays of a line that was typed: a command, above what it says.
// A message is shown when it has been stored, as everybody sees it.
func (in *input) echo(line string) string {
	if text := strings.TrimSpace(line); strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		return in.env.OutStyle().Dim(in.prompt() + term.CleanLine(text))
	}
	return ""
}

// readLine gives the next line. One whose files cannot be sent is told of and
// passed over.
func (in *input) readLine(ctx context.Context) (typedLine, error) {
	for {
		line, err := console.Line{}, error(nil)
		if in.next != nil {
			line, in.next = *in.next, nil
		} else if line, err = in.con.Read(ctx); err != nil {
			return typedLine{}, err
		}
		typed, err := in.readChips(ctx, line)
		if err == nil {
			typed.text = strings.TrimRight(typed.text, " \n")
			return typed, nil
		}
		in.screen.noteNotSent(err)
	}
}

// ask asks a question in place of the prompt, and gives the answer in lower case.
// A line that is none of the answers is not lost: answered is false then, and it is
// the next line.
func (in *input) ask(ctx context.Context, question string, answers ...string) (answer string, answered bool) {
	in.con.SetPrompt(question)
	defer in.showPrompt()
	line, err := in.con.Read(ctx)
	if err != nil {
		return "", false
	}
	answer = strings.ToLower(strings.TrimSpace(line.Text))
	if !slices.Contains(answers, answer) {
		in.next = &line
		return "", false
	}
	return answer, true
}

// readChips reads the files that the chips of a line stand for, and gives its text
// with their names as code, which mentions nobody.
func (in *input) readChips(ctx context.Context, line console.Line) (typedLine, error) {
	var files []attachment.File
	var b strings.Builder
	at := 0
	for _, c := range line.Chips {
		name := strings.TrimPrefix(line.Text[c.From:c.To], "@")
		b.WriteString(line.Text[at:c.From] + attachment.CodeSpan(name))
		at = c.To
		if slices.ContainsFunc(files, func(f attachment.File) bool { return f.Path == name }) {
			continue
		}
		f, err := in.load(ctx, name)
		if err != nil {
			return typedLine{}, err
		}
		f.Path = name
		files = append(files, f)
	}
	return typedLine{b.String() + line.Text[at:], files}, nil
}

// load reads a file that was typed, and asks the person about one that tools do not
// see.
func (in *input) load(ctx context.Context, name string) (attachment.File, error) {
	var agree func(error) error
	if in.env.InTTY {
		agree = func(why error) error { return in.confirmHidden(ctx, why) }
	}
	return client.PromptFilesOf(in.env.App()).Load(in.files.path(name), agree)
}

// errKept says that a line was not sent because its person did not want it to be.
var errKept = errors.New("you did not say send")

// confirmHidden asks the person whether a file that tools do not see shall be sent.
func (in *input) confirmHidden(ctx context.Context, why error) error {
	in.screen.note("— " + why.Error() + ". Enter the word send to send it to the model all the same, or nothing to keep it here")
	if answer, _ := in.ask(ctx, "send it? ", "send", "", "y", "yes", "n", "no"); answer != "send" {
		return errKept
	}
	return nil
}

// chipLength says how many bytes of a word that was typed are a file: @ and the
// path of a regular file, with what ends a sentence behind it. A name that an agent
// has is the agent's.
func (in *input) chipLength(word string) int {
	if len(word) < 2 || word[0] != '@' || in.isAgent(word[1:]) {
		return 0
	}
	for _, name := range []string{word, withoutPunctuation(word)} {
		if len(name) > 1 && in.files.isRegular(name[1:]) {
			return len(name)
		}
	}
	return 0
}

// isAgent reports whether a name is that of somebody who is spoken to.
func (in *input) isAgent(name string) bool {
	name = strings.ToLower(withoutPunctuation(name))
	return name == "all" || name == "user" || slices.Contains(in.agents(), fika.AgentName(name))
}

// withoutPunctuation cuts off what ends a sentence or a part of one.
func withoutPunctuation(word string) string { return strings.TrimRight(word, ",.;:!?)\"'") }

// complete offers commands after the slash that begins a line, and agents and files
// after @.
func (in *input) complete(line string, pos int) []console.Completion {
	head := line[:pos]
	if strings.HasPrefix(head, "/") && !strings.ContainsAny(head, " \t") {
		var out []console.Completion
		for _, c := range in.commands() {
			if strings.HasPrefix(c.name, head) {
				out = append(out, console.Completion{Start: 0, Text: c.name + " "})
			}
		}
		return out
	}
	at := strings.LastIndexByte(head, '@')
	if at < 0 || strings.ContainsAny(head[at:], " \t\n") || at > 0 && !strings.ContainsAny(head[at-1:at], " \t\n(\"'") {
		return nil
	}
	var out []console.Completion
	for _, name := range in.agents() {
		if strings.HasPrefix(string(name), strings.ToLower(head[at+1:])) {
			out = append(out, console.Completion{Start: at, Text: "@" + string(name) + " "})
		}
	}
	return append(out, in.files.complete(head[at+1:], at)...)
}
