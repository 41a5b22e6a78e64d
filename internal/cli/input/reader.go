package input

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

// Options say in which chat a line is typed. All but Interrupt are needed.
type Options struct {
	Env      *command.Env
	History  string                  // the file that keeps what was entered
	Prompt   func() string           // what stands before the line now
	Agents   func() []fika.AgentName // who may be meant
	Commands func() []string         // what may be typed with a slash, which they begin with

	// Interrupt is told of a ctrl-c on an empty line; nil: the console says how to leave.
	Interrupt func()
	// Note tells the person something above the line, and NotSent why one was not sent.
	Note    func(text string)
	NotSent func(why error)
}

// Reader reads the lines that a person types: it completes words, makes chips of files,
// and asks questions in place of the prompt. It belongs to the goroutine that reads; only
// [Reader.ShowPrompt] may be called from others.
type Reader struct {
	options Options
	con     *console.Console
	files   typedFiles
	next    *console.Line // was entered instead of an answer, and is read next
}

// Open opens the terminal for a person who types. Whoever shows things above the line
// closes its console: see [Reader.Console].
func Open(o Options) (*Reader, error) {
	r := &Reader{options: o, files: typedFiles{dir: o.Env.App().Dir(), home: o.Env.Getenv("HOME")}}
	var err error
	r.con, err = console.New(console.Options{
		Streams: o.Env.Streams, Prompt: o.Prompt(), HistoryFile: o.History,
		Complete: r.complete, Chip: r.chipLength, Echo: r.echo, OnInterrupt: o.Interrupt,
	})
	return r, err
}

// Console is the terminal below whose output the line stands.
func (r *Reader) Console() *console.Console { return r.con }

// Line is a line that was entered, and the files that go with it.
type Line struct {
	Text  string
	Files []attachment.File
}

// Arguments are the words behind the first.
func (l Line) Arguments() []string { return strings.Fields(l.Text)[1:] }

// ShowPrompt draws the prompt as it is now.
func (r *Reader) ShowPrompt() { r.con.SetPrompt(r.options.Prompt()) }

// echo is what stays of a line that was typed: a command, above what it says.
// A message is shown when it has been stored, as everybody sees it.
func (r *Reader) echo(line string) string {
	if text := strings.TrimSpace(line); strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		return r.options.Env.OutStyle().Dim(r.options.Prompt() + term.CleanLine(text))
	}
	return ""
}

// ReadLine gives the next line. One whose files cannot be sent is told of and
// passed over.
func (r *Reader) ReadLine(ctx context.Context) (Line, error) {
	for {
		line, err := console.Line{}, error(nil)
		if r.next != nil {
			line, r.next = *r.next, nil
		} else if line, err = r.con.Read(ctx); err != nil {
			return Line{}, err
		}
		typed, err := r.readChips(ctx, line)
		if err == nil {
			typed.Text = strings.TrimRight(typed.Text, " \n")
			return typed, nil
		}
		r.options.NotSent(err)
	}
}

// Ask asks a question in place of the prompt, and gives the answer in lower case.
// A line that is none of the answers is not lost: answered is false then, and it is
// the next line.
func (r *Reader) Ask(ctx context.Context, question string, answers ...string) (answer string, answered bool) {
	r.con.SetPrompt(question)
	defer r.ShowPrompt()
	line, err := r.con.Read(ctx)
	if err != nil {
		return "", false
	}
	answer = strings.ToLower(strings.TrimSpace(line.Text))
	if !slices.Contains(answers, answer) {
		r.next = &line
		return "", false
	}
	return answer, true
}

// readChips reads the files that the chips of a line stand for, and gives its text
// with their names as code, which mentions nobody.
func (r *Reader) readChips(ctx context.Context, line console.Line) (Line, error) {
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
		f, err := r.load(ctx, name)
		if err != nil {
			return Line{}, err
		}
		f.Path = name
		files = append(files, f)
	}
	return Line{b.String() + line.Text[at:], files}, nil
}

// load reads a file that was typed, and asks the person about one that tools do not
// see.
func (r *Reader) load(ctx context.Context, name string) (attachment.File, error) {
	var agree func(error) error
	if r.options.Env.InTTY {
		agree = func(why error) error { return r.confirmHidden(ctx, why) }
	}
	return client.PromptFilesOf(r.options.Env.App()).LoadFile(r.files.path(name), agree)
}

// errKept says that a line was not sent because its person did not want it to be.
var errKept = errors.New("you did not say send")

// confirmHidden asks the person whether a file that tools do not see shall be sent.
func (r *Reader) confirmHidden(ctx context.Context, why error) error {
	r.options.Note("— " + why.Error() + ". Enter the word send to send it to the model all the same, or nothing to keep it here")
	if answer, _ := r.Ask(ctx, "send it? ", "send", "", "y", "yes", "n", "no"); answer != "send" {
		return errKept
	}
	return nil
}

// chipLength says how many bytes of a word that was typed are a file: @ and the
// path of a regular file, with what ends a sentence behind it. A name that an agent
// has is the agent's.
func (r *Reader) chipLength(word string) int {
	if len(word) < 2 || word[0] != '@' || r.isAgent(word[1:]) {
		return 0
	}
	for _, name := range []string{word, withoutPunctuation(word)} {
		if len(name) > 1 && r.files.isRegular(name[1:]) {
			return len(name)
		}
	}
	return 0
}

// isAgent reports whether a name is that of somebody who is spoken to.
func (r *Reader) isAgent(name string) bool {
	name = strings.ToLower(withoutPunctuation(name))
	return name == "all" || name == "user" || slices.Contains(r.options.Agents(), fika.AgentName(name))
}

// withoutPunctuation cuts off what ends a sentence or a part of one.
func withoutPunctuation(word string) string { return strings.TrimRight(word, ",.;:!?)\"'") }

// complete offers commands after the slash that begins a line, and agents and files
// after @.
func (r *Reader) complete(line string, pos int) []console.Completion {
	head := line[:pos]
	if strings.HasPrefix(head, "/") && !strings.ContainsAny(head, " \t") {
		var out []console.Completion
		for _, c := range r.options.Commands() {
			if strings.HasPrefix(c, head) {
				out = append(out, console.Completion{Start: 0, Text: c + " "})
			}
		}
		return out
	}
	at := strings.LastIndexByte(head, '@')
	if at < 0 || strings.ContainsAny(head[at:], " \t\n") || at > 0 && !strings.ContainsAny(head[at-1:at], " \t\n(\"'") {
		return nil
	}
	var out []console.Completion
	for _, name := range r.options.Agents() {
		if strings.HasPrefix(string(name), strings.ToLower(head[at+1:])) {
			out = append(out, console.Completion{Start: at, Text: "@" + string(name) + " "})
		}
	}
	return append(out, r.files.complete(head[at+1:], at)...)
}
