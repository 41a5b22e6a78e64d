package land

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
)

// showJSON is an offer with the output of its check, as land show --json prints it.
type showJSON struct {
	JSON
	Output string `json:"output"`
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show OFFER", Short: "show one offer", Args: command.Exactly(1, "the number of an offer"), ValidArgsFunction: numbers(e, true),
		Long:    "Shows an offer with the commits on its way, and the lines in conflict or the end of\nwhat its check printed.",
		Example: "  fika land show 3\n  fika land show 3 --json | jq -r .output",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := number(args[0])
			if err != nil {
				return err
			}
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			o, err := c.Offers().Show(cmd.Context(), n)
			switch {
			case err != nil:
				return err
			case asJSON:
				return e.PrintJSON(showJSON{ToJSON(o), o.Output})
			}
			return show(e, o)
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

func show(e *command.Env, o service.PlacedOffer) error {
	state := string(o.State)
	if o.Reason != "" {
		state += ": " + o.Reason
	}
	check := ""
	if !o.Checked.IsZero() {
		check = o.Check + ", passed at " + o.Checked.Local().Format(time.DateTime)
	}
	task := ""
	if o.Task > 0 {
		task = fmt.Sprint(o.Task)
	}
	var reviews []string
	for _, r := range o.Reviews {
		if r.Agent != "" {
			reviews = append(reviews, fmt.Sprintf("@%s at %.8s in request %s", r.Agent, r.Tip, r.Request))
		}
	}
	if err := e.Facts(
		term.Fact{Label: "offer", Value: digits(o.Number)}, term.Fact{Label: "from", Value: o.Source}, term.Fact{Label: "title", Value: o.Title},
		term.Fact{Label: "into", Value: o.Into}, term.Fact{Label: "state", Value: state}, term.Fact{Label: "host", Value: o.On}, term.Fact{Label: "waits", Value: o.Waits},
		term.Fact{Label: "offered", Value: o.Tip}, term.Fact{Label: "put on", Value: o.Base},
		term.Fact{Label: "landed as", Value: o.New}, term.Fact{Label: "before", Value: o.Old}, term.Fact{Label: "check", Value: check},
		term.Fact{Label: "accepted", Value: strings.Join(o.Accepted, ", ")}, term.Fact{Label: "by", Value: o.By},
		term.Fact{Label: "in request", Value: string(o.Request)}, term.Fact{Label: "came back", Value: times(o.Offer)}, term.Fact{Label: "reworked in", Value: string(o.Rework)},
		term.Fact{Label: "task", Value: task}, term.Fact{Label: "reviewed by", Value: strings.Join(reviews, "; ")},
		term.Fact{Label: "pushed", Value: pushed(o.Offer)}, term.Fact{Label: "after it", Value: after(o.Offer)},
	); err != nil {
		return err
	}
	if o.State == fika.OfferHeld {
		e.Say("fika land retry %d lets it go on as it was offered; fika land cancel %d ends it", o.Number, o.Number)
	}
	if asks := o.Asking(); len(asks) > 0 {
		flags := ""
		if err := e.Print("\n"); err != nil {
			return err
		}
		for _, r := range asks {
			if err := e.Println(term.CleanLine(fmt.Sprintf("  %q %s", r.Path, r.Why))); err != nil {
				return err
			}
			flags += " --accept " + command.ShellWord(r.Path)
		}
		if o.State == fika.OfferLanded {
			e.Say("fika land retry %d%s says yes to it, now and from now on", o.Number, flags)
		} else {
			e.Say("fika land retry %d%s lets it land all the same", o.Number, flags)
		}
	} else if o.Unpushed() != "" {
		e.Say("fika land retry %d tries it again at once", o.Number)
	}
	if o.Push.Output != "" {
		return e.Print("\n" + term.Clean(strings.TrimRight(o.Push.Output, "\n")) + "\n")
	}
	if strings.TrimSpace(o.Output) == "" {
		return nil
	}
	return e.Print("\n" + term.Clean(strings.TrimRight(o.Output, "\n")) + "\n")
}

// times says how often an offer has come back to its agent; "" for never.
func times(o fika.Offer) string {
	if o.Round == 0 {
		return ""
	}
	return command.Plural(o.Round, "time")
}

// pushed says where what has landed was pushed, or why it was not; "": nothing is.
func pushed(o fika.Offer) string {
	p := o.Push
	switch p.State {
	case fika.PushWaiting:
		text := "not yet: " + p.Reason
		if !p.Next.IsZero() {
			text += "; next try at " + p.Next.Local().Format(time.TimeOnly)
		}
		return text
	case fika.PushPushed, fika.PushDone:
		text := fmt.Sprintf("%.12s to %s of %s at %s", p.Commit, p.Branch, p.Remote, p.At.Local().Format(time.DateTime))
		if p.Command == "" && p.Reason != "" {
			text = p.Reason
		}
		return text
	}
	return ""
}

// after says what became of the command after the push.
func after(o fika.Offer) string {
	switch p := o.Push; p.After {
	case fika.AfterAsks:
		return p.Command + ": waits for your yes"
	case fika.AfterRunning:
		return p.Command + ": is running"
	case fika.AfterDone:
		return p.Command + ": done" + by(p)
	case fika.AfterFailed, fika.AfterUnknown:
		return p.Reason + by(p)
	}
	return ""
}

func by(p fika.OfferPush) string {
	if p.By == "" {
		return ""
	}
	return " (" + p.By + " said yes to it)"
}
