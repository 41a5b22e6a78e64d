package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/cli/command"
)

// conduct is what a command does, for those who may not do everything: an
// agent, through a command that one of its tools runs.
type conduct string

// The conducts.
const (
	looks   conduct = "looks"   // shows something
	speaks  conduct = "speaks"  // asks an agent, or says something: as the agent that runs the tool
	manages conduct = "manages" // a person's alone
)

// declaration says what one command does. A command that has flags which do
// more than that lists those (more), or, where nearly all do, the others (only).
type declaration struct {
	conduct conduct
	more    []string // flags that make it manage
	only    []string // if not nil: all flags but these make it manage
	one     bool     // more than one argument makes it manage
}

// declared says of every command what it does. One that is not in it manages.
func declared() map[string]declaration {
	look, speak, manage := declaration{conduct: looks}, declaration{conduct: speaks}, declaration{conduct: manages}
	run := declaration{conduct: speaks, more: []string{"username", "temp-username", "continue"}}
	return map[string]declaration{
		"fika": run, "fika run": run, "fika ask": speak, "fika task": speak, "fika chat send": speak,

		// What create_context does, too.
		"fika context new": {conduct: speaks, more: []string{"switch"}},
		// What send_message does.
		"fika context send": speak,

		"fika version": look, "fika completion": look, "fika help": look,
		"fika __complete": look, "fika __completeNoDesc": look,
		"fika route": look, "fika usage": look, "fika trace": look, "fika profile": look, "fika top": look, "fika monitor": {conduct: looks, more: []string{"log", "log-size", "log-keep"}}, "fika doctor": {conduct: looks, more: []string{"fix"}},
		"fika status": {conduct: looks, more: []string{"show-bus"}},
		"fika store":  look, "fika store show": look, "fika store check": look, "fika store move": manage,
		"fika approve": manage, "fika undo": manage, "fika budget": look, "fika budget list": look, "fika budget show": look, "fika budget set": manage, "fika rules": look, "fika rules test": look,
		"fika backup": manage, "fika restore": manage,
		"fika init": manage, "fika trust": manage,
		"fika project": look, "fika project list": look, "fika project show": look, "fika project move": manage, "fika project forget": manage,
		"fika demo": manage, "fika up": manage, "fika executor": manage, "fika down": manage, "fika master": manage,

		"fika agent": look, "fika agent list": look, "fika agent show": look, "fika agent health": look, "fika agent logs": look, "fika agent attach": look,
		"fika agent run": manage, "fika agent start": manage, "fika agent stop": manage, "fika agent restart": manage, "fika agent reset": manage, "fika agent summarise": manage, "fika agent recall": manage,
		"fika agent create": manage, "fika agent delete": manage, "fika agent import": manage, "fika agent diff": look, "fika agent merge": manage, "fika agent discard": manage, "fika template": look, "fika template list": look, "fika template show": look,

		"fika chat": look, "fika chat list": look, "fika chat view": look, "fika chat wait": look, "fika chat why": look, "fika chat queue": look,
		"fika chat limit": {conduct: looks, only: []string{"json"}},
		"fika chat new":   manage, "fika chat create": manage, "fika chat join": manage, "fika chat pause": manage, "fika chat resume": manage,
		"fika chat stop": manage, "fika chat continue": manage, "fika chat retry": manage, "fika chat pin": manage, "fika chat unpin": manage,
		"fika chat clear": manage, "fika chat delete": manage, "fika chat cleanup": manage,

		"fika request": look, "fika request list": look, "fika request show": look, "fika request wait": look,
		"fika request cancel": manage, "fika request retry": manage,
		"fika conversation": look, "fika conversation list": look, "fika conversation show": look, "fika conversation search": look,

		"fika context": look, "fika context list": look, "fika context show": look, "fika context log": look,
		"fika context prompt": {conduct: looks, only: []string{"assembled"}, one: true},
		"fika context switch": manage, "fika context rename": manage, "fika context delete": manage, "fika context clear": manage,
		"fika context compact": manage, "fika context import": manage, "fika context export": manage, "fika context unlock": manage,

		"fika plugin": look, "fika plugin list": look, "fika plugin show": look,
		"fika plugin check": manage, "fika plugin call": manage, // they run it, with a person's rights
		"fika plugin install": manage, "fika plugin remove": manage, "fika plugin enable": manage, "fika plugin disable": manage,
		"fika bus": look, "fika bus list": look, "fika bus show": manage, "fika bus add": manage, "fika bus remove": manage,
		"fika mcp": look, "fika mcp list": look, "fika mcp show": look,
		"fika mcp check": manage, "fika mcp call": manage, // they start it, with a person's word
		"fika mcp install": manage, "fika mcp import": manage, "fika mcp remove": manage,
		"fika config": look, "fika config path": look, "fika config check": look, "fika config show": look, "fika config migrate": manage,
		"fika model": look, "fika model list": look, "fika model show": look,
		"fika workflow": look, "fika workflow list": look, "fika workflow show": look, "fika workflow check": look, "fika workflow graph": look,
		"fika workflow status": look, "fika workflow output": look, "fika workflow wait": look,
		"fika workflow run": manage, "fika workflow pause": manage, "fika workflow resume": manage, "fika workflow cancel": manage,
		"fika schedule": look, "fika schedule list": look, "fika schedule show": look, "fika schedule create": manage, "fika schedule delete": manage,
		"fika schedule run": manage, "fika schedule pause": manage, "fika schedule resume": manage,
		"fika key": look, "fika key list": look, "fika key show": look, "fika key set": manage, "fika key remove": manage,
	}
}

// conductOf is what this invocation of a command does.
func conductOf(cmd *cobra.Command, args []string) conduct {
	d, ok := declared()[cmd.CommandPath()]
	if !ok || d.one && len(args) > 1 {
		return manages
	}
	out := d.conduct
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "home" || f.Name == "help":
		case d.only != nil && !slices.Contains(d.only, f.Name), slices.Contains(d.more, f.Name):
			out = manages
		}
	})
	return out
}

// aboutProjects are commands that say themselves what is trusted.
func aboutProjects() []string {
	return []string{"fika init", "fika trust", "fika project move", "fika project forget", "fika agent create", "fika agent import", "fika agent run"}
}

// admit refuses what only a person may do to whoever is not one.
func admit(e *command.Env, cmd *cobra.Command, args []string) error {
	does := conductOf(cmd, args)
	if does == looks {
		return nil
	}
	c, err := e.App().Caller()
	if err != nil {
		return err
	}
	if !c.Inside() && !slices.Contains(aboutProjects(), cmd.CommandPath()) {
		if alone(e, cmd, args) {
			offerTrust(e)
		} else {
			tellTrust(e)
		}
	}
	if !c.Inside() || does == speaks {
		return nil
	}
	return fika.Errorf(fika.Denied, "", "%s is a person's to say: inside a tool, where %s asks, only ask, task, run, chat send and commands that look work", cmd.CommandPath(), c.Name())
}
