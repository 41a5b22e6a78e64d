package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/system/term"
	"fika/internal/text/spelling"
)

// slashCommand is a command that a person types with a slash in a chat.
type slashCommand struct {
	name, args, about string
	session           bool // only available in a session
	run               func(v *visit, ctx context.Context, line input.Line) error
}

// aboutColumn is the column of the help in which descriptions begin.
const aboutColumn = 18

// errLeave and errAnother end a visit: for good, or for another session.
var (
	errLeave   = errors.New("leave")
	errAnother = errors.New("another session is wanted")
)

// slashCommands returns all built-in commands, in the order of the help.
func slashCommands() []slashCommand {
	return []slashCommand{
		{"/agents", "", "who is here, and what they do", true, (*visit).showAgents},
		{"/model", "[@AGENT] [MODEL]", "show which models answer; set the model of the agent spoken to last, or of AGENT", true, (*visit).setModel},
		{"/mode", "[MODE]", "what agents do without asking you: plan, ask, edit or auto; shift-tab sets the next one", false, (*visit).carryOutMode},
		{"/who", "", "who takes part", false, (*visit).showParticipants},
		{"/approve", "[N [--deny WHY]]", "allow or refuse a tool call that waits for your approval; alone: show these calls", false, (*visit).approve},
		{"/status", "", "where you are, what is used, what waits", true, (*visit).showStatus},
		{"/why", "", "what waits, and for what", false, (*visit).showWaiting},
		{"/queue", "", "texts that wait for a turn under way; the up key takes the last one back", false, (*visit).showQueue},
		{"/jobs", "[N | end N]", "commands that agents run in the background; what one printed; end it", false, (*visit).manageJobs},
		{"/board", "[N]", "the tasks of the board; one of them", true, showOne("board")},
		{"/land", "[N | apply]", "what is to land on your branch; one of it; bring what has landed into your files", true, showOne("land", "apply")},
		{"/expand", "[#N]", "show the tool calls of the last answer, or of answer #N, in full", false, (*visit).expand},
		{"/diff", "[REQUEST]", "show what the last turn that changed files, or REQUEST, did to them", false, (*visit).showChanges},
		{"/undo", "[REQUEST]", "undo these changes; a second time redoes them", false, (*visit).undo},
		{"/context", "[@AGENT]", "what fills the window of the model", false, (*visit).showContext},
		{"/compact", "[@AGENT] [WHAT TO KEEP]", "replace the older part of what the agents see by a summary", false, (*visit).compact},
		{"/thinking", "", "show what models reason, as far as they tell; again: no more", true, (*visit).toggleThinking},
		{"/cost", "", "what the session has spent", true, (*visit).showCost},
		{"/rewind", "[N|back]", "earlier messages; go back to before one: agents no longer see what followed, and files are restored (not with --keep-files)", false, (*visit).rewind},
		{"/clear", "", "the agents no longer see what was said here so far", false, (*visit).clear},
		{"/init", "", "have an agent write AGENTS.md: what agents that work here should know", true, (*visit).writeInstructions},
		{"/memory", "", "the instructions that agents have; # TEXT adds a line to them", true, (*visit).showMemory},
		{"/mcp", "", "the MCP servers, and whether they run", true, showList("mcp", "fika mcp import FILE takes over those of another program")},
		{"/skills", "", "the skills that agents may use; /NAME asks for one", true, showList("skill", "a folder in .agents/skills or .claude/skills counts after fika trust")},
		{"/pause", "", "pause: running steps finish, nothing new begins", false, (*visit).pause},
		{"/unpause", "", "resume after a pause", false, (*visit).unpause},
		{"/resume", "[N]", "earlier sessions, by their first prompt; go on with one", true, (*visit).resumeSession},
		{"/resume", "", "resume after a pause", false, (*visit).unpause},
		{"/stop", "", "drop what waits, cancel what runs", false, (*visit).stop},
		{"/continue", "", "continue a chain that a limit ended", false, (*visit).continueChain},
		{"/retry", "", "ask a provider that fails again at once; retry what failed", false, (*visit).retry},
		{"/export", "[FILE]", "write the conversation to a Markdown file", false, (*visit).export},
		{"/new", "", "begin another session", true, func(*visit, context.Context, input.Line) error { return errAnother }},
		{"/help", "", "this list", false, (*visit).showHelp},
		{"/quit", "", "leave (as ctrl-D does); running work continues", false, func(*visit, context.Context, input.Line) error { return errLeave }},
	}
}

// slashHelp lists the commands of a session, or of another chat, for a width in columns.
func slashHelp(session bool, width int) string {
	var b strings.Builder
	if session {
		b.WriteString("Text goes to the agent you spoke to last; @name addresses another, @all everybody.\nWhat you enter for an agent at work waits for its next step; the up key takes it back.\nA line that begins with @a, @b: is work for a team, all at the same time; with @a -> @b:\none after the other; with @a, @b --combine @c: one agent combines the answers.\n@ and the path of a file sends the file along; Tab completes it.\nTo send a text that begins with a slash, type two: //etc/hosts is …\n!ls runs ls in your shell; with !!ls your next message also has what it printed.\n\\ and enter begin a new line; ctrl-R searches what you have typed.\n\n")
	}
	b.WriteString("Commands:\n")
	for _, c := range slashCommands() {
		if c.isFor(session) {
			b.WriteString(term.HangText("  "+strings.TrimSpace(c.name+" "+c.args), c.about, aboutColumn, width) + "\n")
		}
	}
	if session {
		b.WriteString("\nEsc cancels what runs; what was said is kept. Ctrl-C clears the line; on an empty one it cancels what runs, and a second one leaves.")
	}
	return term.ReflowText(strings.TrimSuffix(b.String(), "\n"), width)
}

// isFor reports whether a command is available in a session, or in another chat. A command
// of sessions takes the place of one with the same name.
func (c slashCommand) isFor(session bool) bool {
	if !session {
		return !c.session
	}
	return c.session || !slices.ContainsFunc(slashCommands(), func(o slashCommand) bool { return o.session && o.name == c.name })
}

// Help lists the commands of a chat that is not a session, for a width in columns.
func Help(width int) string { return slashHelp(false, width) }

// carryOut carries out a /command. It returns errLeave or errAnother if the person
// wants to leave; any other error it returns has been shown already.
func (v *visit) carryOut(ctx context.Context, line input.Line) error {
	name := strings.Fields(line.Text)[0]
	var names []string
	for _, c := range v.commands() {
		if c.name == name || c.name == "/quit" && (name == "/exit" || name == "/q") {
			err := c.run(v, ctx, line)
			if err != nil && !errors.Is(err, errLeave) && !errors.Is(err, errAnother) {
				v.screen.Note("— " + command.ErrorText(err))
			}
			return err
		}
		names = append(names, c.name)
	}
	hint := "/help lists the commands; to send text that begins with a slash, type two"
	if near := spelling.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "? (to send text that begins with a slash, type two)"
	}
	if path := v.foreignCommand(name); path != "" {
		hint = "Claude Code has it in " + path + ": a copy in .fika/commands works here after fika trust, as does one in commands/ in the home"
	}
	v.screen.Note(fmt.Sprintf("— command %s not found; %s", term.CleanLine(name), hint))
	return nil
}

// commands returns the commands available here, the person's own last.
func (v *visit) commands() []slashCommand {
	list := slices.DeleteFunc(slashCommands(), func(c slashCommand) bool { return !c.isFor(v.session != nil) })
	if v.session == nil {
		return list
	}
	own, err := v.ownCommands()
	if err != nil {
		v.screen.NoteOnce(err.Error())
	}
	return append(list, own...)
}

// argumentsOf returns what may follow a command and the words before it.
func (v *visit) argumentsOf(before []string) (words []string) {
	if len(before) == 0 || v.session == nil {
		return nil
	}
	agents := len(before) == 1 && slices.Contains([]string{"/model", "/compact", "/context"}, before[0])
	if agents {
		for _, a := range v.agentNames() {
			words = append(words, "@"+string(a))
		}
	}
	switch before[0] {
	case "/model":
		if conf, err := v.App().Config(); err == nil && (agents || len(before) == 2 && strings.HasPrefix(before[1], "@")) {
			for _, m := range conf.Models {
				words = append(words, m.ID)
			}
		}
	case "/jobs":
		if words = v.jobs.numbers(); len(before) == 1 {
			words = append(words, "end")
		}
	case "/mode":
		if len(before) == 1 {
			for _, m := range fika.Modes() {
				words = append(words, string(m))
			}
		}
	case "/approve":
		if len(before) == 1 {
			words = v.desk.OpenNumbers()
		}
	}
	return words
}

// commandNames returns the names of the commands available here, with their slash.
func (v *visit) commandNames() []string {
	var names []string
	for _, c := range v.commands() {
		names = append(names, c.name)
	}
	return names
}

// showHelp lists the commands and, in a session, says how to join it from elsewhere.
func (v *visit) showHelp(context.Context, input.Line) error {
	width := v.screen.Width() - 1
	text := slashHelp(v.session != nil, width)
	if v.session != nil {
		if own, err := v.ownCommands(); err == nil && len(own) > 0 {
			text += "\n\nYours (commands/NAME.md, and skills):"
			for _, c := range own {
				text += "\n" + term.HangText("  "+term.CleanLine(c.name), term.CleanLine(c.about), aboutColumn, width)
			}
		}
	}
	if v.session != nil {
		text += "\n\nThis session is the chat " + v.chat.name() + "; join it elsewhere: fika chat join " + v.chat.name() + "."
	}
	v.screen.Print(term.FoldLines(text, width))
	return nil
}
