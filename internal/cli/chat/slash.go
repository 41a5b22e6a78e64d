package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/client"
	"fika/internal/console"
	"fika/internal/spelling"
	"fika/internal/term"
)

// slashCommand is what a person types with a slash in a chat.
type slashCommand struct {
	name, args, about string
	session           bool // only where the chat is a session
	run               func(j *joined, ctx context.Context, words []string) error
}

// aboutColumn is where the help says what a command does.
const aboutColumn = 18

// errLeave and errAnother end the taking part: for good, or for another session.
var (
	errLeave   = errors.New("leave")
	errAnother = errors.New("another session is wanted")
)

// slashCommands are all of them, in the order of the help.
func slashCommands() []slashCommand {
	return []slashCommand{
		{"/agents", "", "who is here, and what they do", true, (*joined).showAgents},
		{"/model", "[@AGENT] [MODEL]", "which models answer; set that of the agent spoken to last, or of AGENT", true, (*joined).setModel},
		{"/who", "", "who takes part", false, (*joined).showParticipants},
		{"/approve", "[N [--deny WHY]]", "allow a tool call that waits for your word, or refuse it; alone: show them", false, (*joined).approve},
		{"/why", "", "what waits, and for what", false, (*joined).showWaiting},
		{"/expand", "[#N]", "the tool calls of the last answer, or of answer #N, in full", false, (*joined).expand},
		{"/diff", "[REQUEST]", "what the last turn that changed files, or REQUEST, has made of them", false, (*joined).showChanges},
		{"/undo", "[REQUEST]", "take that back; again makes the changes again", false, (*joined).undo},
		{"/cost", "", "what the session has spent", true, (*joined).showCost},
		{"/pause", "", "the brake: running steps finish, nothing new begins", false, (*joined).pause},
		{"/resume", "", "go on after a pause", false, (*joined).resume},
		{"/stop", "", "drop what waits, cancel what runs", false, (*joined).stop},
		{"/continue", "", "go on where a limit ended a chain", false, (*joined).goOn},
		{"/export", "[FILE]", "write what was said to a Markdown file", false, (*joined).export},
		{"/new", "", "begin another session", true, func(*joined, context.Context, []string) error { return errAnother }},
		{"/help", "", "this list", false, (*joined).help},
		{"/quit", "", "leave (ctrl-D too); whatever runs goes on", false, func(*joined, context.Context, []string) error { return errLeave }},
	}
}

// slashHelp lists the commands of a session, or of another chat, in so many columns.
func slashHelp(session bool, width int) string {
	var b strings.Builder
	if session {
		b.WriteString("Text goes to the agent you spoke to last; @name turns to another, @all to everybody.\nA team works on a line that begins with @a, @b: (all at the same time) or @a -> @b: (one\nafter the other); with @a, @b --combine @c: one agent makes one answer of all.\n@ and the path of a file sends the file along; Tab completes it.\nA text that begins with a slash begins with two: //etc/hosts is …\n\n")
	}
	b.WriteString("Commands:\n")
	for _, c := range slashCommands() {
		if !c.session || session {
			b.WriteString(term.HangText("  "+strings.TrimSpace(c.name+" "+c.args), c.about, aboutColumn, width) + "\n")
		}
	}
	if session {
		b.WriteString("\nCtrl-C clears the line; on an empty one it cancels what runs, and a second one leaves.")
	}
	return term.ReflowText(strings.TrimSuffix(b.String(), "\n"), width)
}

// obey carries out a /command. It returns errLeave or errAnother when the person
// wants to go; whatever else went wrong has been told.
func (j *joined) obey(ctx context.Context, text string) error {
	words := strings.Fields(text)
	var names []string
	for _, c := range j.commands() {
		if c.name == words[0] || words[0] == "/exit" && c.name == "/quit" || words[0] == "/q" && c.name == "/quit" {
			err := c.run(j, ctx, words)
			if err != nil && !errors.Is(err, errLeave) && !errors.Is(err, errAnother) {
				j.note("— " + err.Error())
			}
			return err
		}
		names = append(names, c.name)
	}
	hint := "/help lists the commands; a text that begins with a slash begins with two"
	if near := spelling.Nearest(words[0], names); near != "" {
		hint = "did you mean " + near + "? (a text that begins with a slash begins with two)"
	}
	j.note(fmt.Sprintf("— there is no %s; %s", term.CleanLine(words[0]), hint))
	return nil
}

// commands are those that can be typed here, the person's own last.
func (j *joined) commands() []slashCommand {
	list := slices.DeleteFunc(slashCommands(), func(c slashCommand) bool { return c.session && j.session == nil })
	if j.session == nil {
		return list
	}
	own, err := j.ownCommands()
	if err != nil {
		j.noteOnce(err.Error())
	}
	return append(list, own...)
}

func (j *joined) help(context.Context, []string) error {
	width := j.con.Width() - 1
	text := slashHelp(j.session != nil, width)
	if j.session != nil {
		if own, err := j.ownCommands(); err == nil && len(own) > 0 {
			text += "\n\nYours (commands/NAME.md):"
			for _, c := range own {
				text += "\n" + term.HangText("  "+term.CleanLine(c.name), term.CleanLine(c.about), aboutColumn, width)
			}
		}
	}
	if j.session != nil {
		text += "\n\nThis session is the chat " + string(j.chat().Name) + ": fika chat join " + string(j.chat().Name) + " looks in from elsewhere."
	}
	j.feed.Print(term.FoldLines(text, width))
	return nil
}

func (j *joined) pause(ctx context.Context, _ []string) error {
	err := j.client().Chats.Pause(ctx, j.chat())
	if err == nil {
		j.note("— paused; what is said now waits")
	}
	return err
}

func (j *joined) resume(ctx context.Context, _ []string) error {
	err := j.client().Chats.Resume(ctx, j.chat())
	if err == nil {
		j.lease.Forget()
		j.note("— resumed")
	}
	return err
}

func (j *joined) stop(ctx context.Context, _ []string) error {
	d, err := j.client().Chats.Stop(ctx, j.chat())
	if err == nil {
		j.note("— " + stopped(d))
	}
	return err
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (j *joined) goOn(ctx context.Context, _ []string) error {
	agents, err := j.client().Chats.Continue(ctx, j.chat())
	if err == nil {
		j.note("— goes on with " + mentions(agents))
	}
	return err
}

func (j *joined) showParticipants(ctx context.Context, _ []string) error {
	names, err := j.client().Chats.Participants(ctx, j.chat())
	if err == nil {
		j.note("— " + strings.Join(names, " "))
	}
	return err
}

// showWaiting says what waits in the chat, and for what.
func (j *joined) showWaiting(ctx context.Context, _ []string) error {
	queue, err := j.client().Chats.Queue(ctx, j.chat().ID)
	if err != nil {
		return err
	}
	if trouble := j.conn.trouble(); trouble != "" {
		j.note("— " + trouble)
	}
	runs, err := j.runs(ctx)
	if err != nil {
		return err
	}
	if len(runs) == 0 && !slices.ContainsFunc(queue, func(q client.QueueItem) bool { return !q.IsOver() }) {
		j.note("— nothing runs, nothing waits")
	}
	for _, r := range runs {
		j.note("— " + whyRun(r))
	}
	for _, q := range queue {
		what := fmt.Sprintf("@%s %s: %s", q.Agent, q.Place, whyItem(q, j.Now()))
		if q.IsOver() {
			what = fmt.Sprintf("over, %s: %s", term.Ago(q.Since, j.Now()), what)
		}
		j.note("— " + what)
	}
	return nil
}

// expand prints in full what the tool calls of one answer were given and gave.
func (j *joined) expand(ctx context.Context, words []string) error {
	q := client.EntryQuery{Conversation: j.chat().ID, Types: []fika.EntryType{fika.Message, fika.ToolCall, fika.ToolResult}}
	c := j.client()
	var wanted int64
	if len(words) > 1 {
		var err error
		if wanted, err = c.Chats.FindEntry(ctx, j.chat(), words[1]); err != nil {
			return err
		}
	}
	var request, of fika.RequestID
	calls := map[fika.RequestID][]fika.Entry{}
	_, err := c.Chats.Read(ctx, q, func(x fika.Entry) error {
		if x.Type != fika.Message {
			calls[x.Request] = append(calls[x.Request], x)
			request = x.Request
		}
		if x.Seq == wanted {
			of = x.Request
		}
		return nil
	})
	if wanted > 0 {
		request = of
	}
	if err != nil {
		return err
	}
	if len(calls[request]) == 0 {
		return fika.Errorf(fika.NotFound, "", "no tool was called there; fika chat view %s --all shows everything", j.chat().Name)
	}
	j.feed.Print(j.page.Calls(calls[request]))
	return nil
}

// complete offers agents and files after @, and commands after /.
func (j *joined) complete(line string, pos int) []console.Completion {
	head := line[:pos]
	if strings.HasPrefix(head, "/") && !strings.ContainsAny(head, " \t") {
		var out []console.Completion
		for _, c := range j.commands() {
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
	for _, name := range j.agentNames() {
		if strings.HasPrefix(string(name), strings.ToLower(head[at+1:])) {
			out = append(out, console.Completion{Start: at, Text: "@" + string(name) + " "})
		}
	}
	return append(out, j.offerFiles(head[at+1:], at)...)
}
