package session

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/cli/input"
	"fika/internal/extension/skill"
	"fika/internal/system/term"
)

// maxCommand bounds the size in bytes of the file of a person's own command.
const maxCommand = 256 << 10

// ownCommands returns the person's own commands: commands/NAME.md in the home, or in a
// trusted project's .fika, is /NAME, and sends its text with the words typed after it
// in place of $ARGUMENTS. Then come the skills, which /NAME asks the agent to use. The
// names of fika's own commands cannot be taken.
func (v *visit) ownCommands() ([]slashCommand, error) {
	h, err := v.App().Home()
	if err != nil {
		return nil, err
	}
	out, err := commandsIn(h.CommandsDir())
	if shared := v.App().Shared("commands"); err == nil && shared != "" {
		var more []slashCommand
		more, err = commandsIn(shared)
		for _, c := range more { // the home has precedence
			if !slices.ContainsFunc(out, func(o slashCommand) bool { return o.name == c.name }) {
				out = append(out, c)
			}
		}
	}
	for _, c := range skillCommands(skill.Find(v.App().SkillPlaces()).Skills) {
		if !slices.ContainsFunc(out, func(o slashCommand) bool { return o.name == c.name }) {
			out = append(out, c)
		}
	}
	return out, err
}

// foreignCommand returns the file in which Claude Code has the command of a name; "" if it
// has none.
func (v *visit) foreignCommand(name string) string {
	file := filepath.Join(".claude", "commands", strings.TrimPrefix(name, "/")+".md")
	var places []string
	if p := v.App().Project(); p != nil {
		places = append(places, p.Root)
	}
	if user, err := os.UserHomeDir(); err == nil {
		places = append(places, user)
	}
	for _, dir := range places {
		if st, err := os.Stat(filepath.Join(dir, file)); filepath.IsLocal(file) && err == nil && st.Mode().IsRegular() {
			return filepath.Join(dir, file)
		}
	}
	return ""
}

// skillCommands returns a command for each skill.
func skillCommands(skills []skill.Skill) []slashCommand {
	var out []slashCommand
	for _, s := range skills {
		if slices.ContainsFunc(slashCommands(), func(c slashCommand) bool { return c.name == "/"+s.Name }) {
			continue
		}
		out = append(out, slashCommand{name: "/" + s.Name, about: "skill: " + term.Truncate(s.Description, 60), session: true, run: func(v *visit, ctx context.Context, line input.Line) error {
			return v.useSkill(ctx, s.Name, line)
		}})
	}
	return out
}

// useSkill carries out /SKILL [@AGENT] [WORDS].
func (v *visit) useSkill(ctx context.Context, name string, line input.Line) error {
	agent, words, to := v.session.agents.SpokenTo(), line.Arguments(), ""
	if len(words) > 0 && strings.HasPrefix(words[0], "@") {
		row, err := v.chat.service().Agents.Find(ctx, strings.TrimPrefix(words[0], "@"))
		if err != nil {
			return err
		}
		agent, words, to = row.Name, words[1:], "@"+string(row.Name)+" "
	}
	settings, err := v.App().Settings(agent, nil, true)
	if err != nil {
		return err
	}
	if !skill.Allows(settings.Skills, name) {
		return fika.Errorf(fika.Denied, "", "@%s may not use %s: skills = [\"%s\"] in its settings allows it", agent, name, name)
	}
	text := to + "Use the skill " + name + "."
	if len(words) > 0 {
		text += "\n\n" + strings.Join(words, " ")
	}
	v.sender.send(ctx, input.Line{Text: text, Files: line.Files})
	return nil
}

func commandsIn(dir string) ([]slashCommand, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "read commands", err)
	}
	var out []slashCommand
	for _, f := range files {
		name, isText := strings.CutSuffix(f.Name(), ".md")
		if !isText || f.IsDir() || name == "" || strings.ContainsAny(name, " \t/") || strings.HasPrefix(name, ".") {
			continue
		}
		path := filepath.Join(dir, f.Name())
		if slices.ContainsFunc(slashCommands(), func(c slashCommand) bool { return c.name == "/"+name }) {
			continue
		}
		out = append(out, slashCommand{name: "/" + name, about: firstLineOf(path), session: true, run: func(v *visit, ctx context.Context, line input.Line) error {
			text, err := readCommand(path)
			if err != nil {
				return err
			}
			v.sender.send(ctx, input.Line{Text: fillIn(text, line.Arguments()), Typed: line.Typed, Files: line.Files})
			return nil
		}})
	}
	return out, nil
}

// readCommand reads the text of a command.
func readCommand(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fika.Wrap(fika.Storage, "read command", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCommand+1))
	switch {
	case err != nil:
		return "", fika.Wrap(fika.Storage, "read command", err)
	case len(data) > maxCommand:
		return "", fika.Errorf(fika.Invalid, "", "%s is larger than %d KiB", path, maxCommand>>10)
	case strings.TrimSpace(string(data)) == "":
		return "", fika.Errorf(fika.Invalid, "", "%s is empty: its text is what the command says", path)
	}
	return strings.ToValidUTF8(string(data), "�"), nil
}

// fillIn puts the words typed after a command into its text: in place of $ARGUMENTS,
// or else below it.
func fillIn(text string, words []string) string {
	text, typed := strings.TrimRight(text, "\n"), strings.Join(words, " ")
	if strings.Contains(text, "$ARGUMENTS") {
		return strings.ReplaceAll(text, "$ARGUMENTS", typed)
	}
	if typed == "" {
		return text
	}
	return text + "\n\n" + typed
}

func firstLineOf(path string) string {
	text, err := readCommand(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return term.Truncate(strings.TrimSpace(strings.TrimLeft(line, "# ")), 60)
}
