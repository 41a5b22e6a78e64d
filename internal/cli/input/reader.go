package input

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"fika"
	"fika/internal/chat/attachment"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/console"
)

// Options say in which chat a line is typed. All except Interrupt, Escape, TakeBack, Edit and BackTab are required.
type Options struct {
	Env      *command.Env
	History  string                  // the file that keeps the lines entered
	Prompt   func() string           // the present prompt
	Agents   func() []fika.AgentName // the agents that may be mentioned
	Commands func() []string         // the commands that may be typed, with their slash

	// Arguments returns what may follow a command and the words before; nil: nothing.
	Arguments func(before []string) []string

	// Interrupt is called on ctrl-c on an empty line; nil: the console says how to leave.
	// Escape is called on the escape key; nil: it does nothing.
	Interrupt, Escape func()
	// TakeBack returns a text that was entered and has had no effect, for the line; nil: none
	// can be taken back. See [console.Options].
	TakeBack func() (Typed, bool)
	// Edit changes the line in a program of its own; nil: none does. See [console.Options].
	Edit func(ctx context.Context, text string) (string, error)
	// BackTab is called on shift-tab; nil: it does nothing.
	BackTab func()
	// Note shows a text above the line, and NotSent why a line was not sent.
	Note    func(text string)
	NotSent func(why error)
}

// Reader reads the lines that a person types: it completes words, turns files into chips,
// and asks questions in place of the prompt. It belongs to the goroutine that reads; only
// [Reader.ShowPrompt] may be called from others.
type Reader struct {
	options Options
	con     *console.Console
	files   typedFiles
	next    *console.Line // entered instead of an answer, and read next

	mu     sync.Mutex
	pastes map[string]string // texts that were pasted, by what stands for them in the line
}

// Open opens the terminal for a person who types. The code that shows things above the
// line must close the console: see [Reader.Console].
func Open(o Options) (*Reader, error) {
	r := &Reader{options: o, pastes: map[string]string{}, files: typedFiles{dir: o.Env.App().Dir(), home: o.Env.Getenv("HOME")}}
	var err error
	r.con, err = console.New(console.Options{
		Streams: o.Env.Streams, Prompt: o.Prompt(), HistoryFile: o.History,
		Complete: r.complete, Chip: r.chipLength, Echo: r.echo, OnInterrupt: o.Interrupt, OnEscape: o.Escape,
		Paste: r.foldPaste, TakeBack: o.TakeBack, OnBackTab: o.BackTab, Edit: o.Edit,
	})
	return r, err
}

// Console returns the terminal whose output appears above the line.
func (r *Reader) Console() *console.Console { return r.con }

// Typed is a line as it was entered, in which chips stand for files and pastes.
type Typed = console.Line

// Line is a line that was entered, with its files.
type Line struct {
	Text  string
	Typed Typed
	Files []attachment.File
}

// Arguments returns the words after the first. The line must not be empty.
func (l Line) Arguments() []string { return strings.Fields(l.Text)[1:] }

// ShowPrompt redraws the present prompt.
func (r *Reader) ShowPrompt() { r.con.SetPrompt(r.options.Prompt()) }

// echo returns what remains on the screen of a line that was typed: a command, above
// its output. A message is shown once it has been stored, as everybody sees it.
func (r *Reader) echo(line string) string {
	if text := strings.TrimSpace(line); strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") || strings.HasPrefix(text, "!") || text == "?" {
		return r.options.Env.OutStyle().Dim(r.options.Prompt() + term.CleanLine(text))
	}
	return ""
}

// ReadLine returns the next line. It reports a line whose files cannot be sent, and
// skips it.
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

// Ask asks a question in place of the prompt, and returns the answer in lower case.
// answered is false if no line could be read, or if the line is none of the answers:
// that line is not lost, but read next.
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

// readChips reads the files that the chips of a line stand for, and returns the text
// with their names as code, which mentions nobody.
func (r *Reader) readChips(ctx context.Context, line console.Line) (Line, error) {
	var files []attachment.File
	var b strings.Builder
	at := 0
	for _, c := range line.Chips {
		if text, ok := r.pasted(line.Text[c.From:c.To]); ok {
			b.WriteString(line.Text[at:c.From] + text)
			at = c.To
			continue
		}
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
	return Line{b.String() + line.Text[at:], line, files}, nil
}

// load reads a file that was typed. On a terminal it asks the person about a file that
// tools cannot see.
func (r *Reader) load(ctx context.Context, name string) (attachment.File, error) {
	var agree func(error) error
	if r.options.Env.InTTY && !r.options.Env.InsideTool() {
		agree = func(why error) error { return r.confirmHidden(ctx, why) }
	}
	return service.PromptFilesOf(r.options.Env.App()).LoadFile(r.files.path(name), agree)
}

// errKept says that a line was not sent because the person did not confirm it.
var errKept = errors.New("you did not say send")

// confirmHidden asks the person whether to send a file that tools cannot see.
func (r *Reader) confirmHidden(ctx context.Context, why error) error {
	r.options.Note("— " + why.Error() + ". Enter the word send to send it to the model all the same, or nothing to keep it here")
	if answer, _ := r.Ask(ctx, "send it? ", "send", "", "y", "yes", "n", "no"); answer != "send" {
		return errKept
	}
	return nil
}

// chipLength returns how many bytes of a typed word name a file: @ and the path of a
// regular file, without punctuation after it; 0 if it names no file. The name of an
// agent, all and user never name a file.
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

// isAgent reports whether name is an agent, all or user.
func (r *Reader) isAgent(name string) bool {
	name = strings.ToLower(withoutPunctuation(name))
	return name == "all" || name == "user" || slices.Contains(r.options.Agents(), fika.AgentName(name))
}

// withoutPunctuation removes the punctuation at the end of a word.
func withoutPunctuation(word string) string { return strings.TrimRight(word, ",.;:!?)\"'") }

// complete completes commands after the slash that begins a line, and agents and files
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
	if strings.HasPrefix(head, "/") && r.options.Arguments != nil {
		start := strings.LastIndexAny(head, " \t") + 1
		var out []console.Completion
		for _, word := range r.options.Arguments(strings.Fields(head[:start])) {
			if strings.HasPrefix(word, head[start:]) {
				out = append(out, console.Completion{Start: start, Text: word + " "})
			}
		}
		if len(out) > 0 {
			return out
		}
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
