package land

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// New returns the command fika land.
func New(e *command.Env) *cobra.Command {
	var asJSON, wait bool
	c := command.Group("land", "bring work to a branch, checked",
		`Offers a branch, or the work of an agent with a git worktree, for the branch that
[landing] into names. The hub takes one offer after the other: it puts the work on
the branch in a folder of its own, runs the check there, and moves the branch only
if that succeeds. What conflicts, or fails, comes back. Agents with the tool offer
offer their work by themselves, and get it back to change it.

Your files are never touched, but by fika land apply. A branch that is checked out
nowhere follows by itself.`,
		"  fika land coder\n  fika land my-branch --wait\n  fika land list\n  fika land apply",
		newList(e), newShow(e), newCancel(e), newRetry(e), newUndo(e), newApply(e))
	c.Use = "land [BRANCH|AGENT]"
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return command.UsageError("fika land takes one branch or agent, but got %s; see fika land --help", command.CountedArgs(len(args)))
		}
		return nil
	}
	c.ValidArgsFunction = complete.FirstOnly(complete.LoneAgents(e))
	c.Flags().BoolVarP(&wait, "wait", "w", false, "wait until it has landed or comes back; exit status 1 if it does")
	command.JSONFlag(c, &asJSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return add(cmd.Context(), e, args[0], wait, asJSON)
	}
	return c
}

func add(ctx context.Context, e *command.Env, source string, wait, asJSON bool) error {
	c, err := e.ServiceWithHub(ctx)
	if err != nil {
		return err
	}
	o, committed, err := c.Offers().Add(ctx, source)
	if err != nil {
		return err
	}
	if committed {
		e.Say("committed what %s had not", o.Source)
	}
	if _, up, err := service.HubOf(e.App()).Process(); err == nil && !up {
		e.Say("no hub is running, so it waits: fika up")
	}
	if wait {
		if o, err = c.Offers().Await(ctx, o.Number); err != nil {
			return err
		}
	}
	if err := changed(ctx, e, c.Offers(), o, asJSON); err != nil {
		return err
	}
	if wait && o.State != fika.OfferLanded {
		return command.Silent{Kind: fika.Failed}
	}
	return nil
}

// changed prints an offer that a command has changed.
func changed(ctx context.Context, e *command.Env, all *service.Offers, n fika.Offer, asJSON bool) error {
	list, err := all.Place(ctx, n)
	if err != nil {
		return err
	}
	o := list[0]
	if asJSON {
		return e.PrintLine(ToJSON(o))
	}
	text := fmt.Sprintf("offer %d (%s) ", o.Number, o.Source)
	switch o.State {
	case fika.OfferLanded:
		text += "has landed on " + o.Into
		if why := o.Unpushed(); o.Push.State == fika.PushWaiting && o.Push.Tries == 0 {
			text += ", and is pushed again; it was " + why
		} else if why != "" {
			text += " (" + why + ")"
		}
	case fika.OfferBack:
		text += "came back"
	case fika.OfferAsks, fika.OfferHeld:
		text += "waits for your yes"
	default:
		text += "is " + string(o.State)
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	if o.Waits != "" {
		text += "; it " + o.Waits
	}
	e.Say("%s", text)
	switch o.State {
	case fika.OfferBack, fika.OfferAsks, fika.OfferHeld, fika.OfferRefused:
		e.Say("fika land show %d shows it", o.Number)
	case fika.OfferLanded:
		e.Say("fika land apply brings it into your files, if you have %s checked out", o.Into)
	}
	return e.Println(int64(o.Number))
}

// JSON is an offer, as --json prints it.
type JSON struct {
	Number    fika.OfferNumber `json:"number"`
	Source    string           `json:"source"` // an agent has an @
	Agent     command.Nullable `json:"agent"`
	Title     string           `json:"title"`
	Into      string           `json:"into"`
	State     string           `json:"state"`
	Reason    command.Nullable `json:"reason"`
	Host      command.Nullable `json:"host"`  // in whose repository its commits are; null: there are not several hosts
	Waits     command.Nullable `json:"waits"` // why nothing happens to it there now
	Tip       string           `json:"tip"`
	Base      command.Nullable `json:"base"`
	Old       command.Nullable `json:"old"` // what had landed before; null: nothing
	New       command.Nullable `json:"new"` // the commit that was checked
	Check     command.Nullable `json:"check"`
	CheckedAt *time.Time       `json:"checked_at"`
	Asks      []fika.PathRisk  `json:"asks"`
	Accepted  []string         `json:"accepted"`
	By        string           `json:"by"`      // an agent has an @
	Request   command.Nullable `json:"request"` // in which an agent has offered it
	Taint     command.Nullable `json:"taint"`   // the outside text that the agent had read
	Round     int              `json:"round"`   // how often it has come back to the agent
	Rework    command.Nullable `json:"rework"`  // the request in which the agent works on it
	Task      *fika.TaskNumber `json:"task"`    // of the board, whose work it is
	Reviews   []review         `json:"reviews"`
	CreatedAt *time.Time       `json:"created_at"`
	UpdatedAt *time.Time       `json:"updated_at"`
	EndedAt   *time.Time       `json:"ended_at"`
	Push      *push            `json:"push"` // null: it is not to be pushed, or has not landed
}

// push is how far what has landed is on its way to the remote.
type push struct {
	State   string           `json:"state"` // waiting pushed done
	Remote  string           `json:"remote"`
	Branch  string           `json:"branch"`
	Commit  string           `json:"commit"`
	Reason  command.Nullable `json:"reason"`
	Tries   int              `json:"tries"`
	Next    *time.Time       `json:"next"` // when it is tried again
	At      *time.Time       `json:"at"`
	Command command.Nullable `json:"command"` // that runs after it
	By      command.Nullable `json:"by"`      // the person who has said yes to the command
	After   command.Nullable `json:"after"`   // asks running done failed unknown
	Output  string           `json:"output"`
}

func pushJSON(o fika.Offer) *push {
	p := o.Push
	if p.State == fika.PushNone {
		return nil
	}
	return &push{
		State: string(p.State), Remote: p.Remote, Branch: p.Branch, Commit: p.Commit, Reason: command.Nullable(p.Reason), Tries: p.Tries, Next: command.JSONTime(p.Next),
		At: command.JSONTime(p.At), Command: command.Nullable(p.Command), By: command.Nullable(p.By), After: command.Nullable(p.After), Output: p.Output,
	}
}

// review is a look at an offer before it lands.
type review struct {
	Agent   command.Nullable `json:"agent"` // null: a person has let it go on
	Request command.Nullable `json:"request"`
	Tip     string           `json:"tip"` // the commit that was looked at
}

// ToJSON returns an offer as --json prints it.
func ToJSON(o service.PlacedOffer) JSON {
	var task *fika.TaskNumber
	if o.Task > 0 {
		task = &o.Task
	}
	reviews := []review{}
	for _, r := range o.Reviews {
		reviews = append(reviews, review{command.Nullable(r.Agent), command.Nullable(r.Request), r.Tip})
	}
	return JSON{
		Task: task, Reviews: reviews, Push: pushJSON(o.Offer), Host: command.Nullable(o.On), Waits: command.Nullable(o.Waits),
		Number: o.Number, Source: o.Source, Agent: command.Nullable(o.Agent), Title: o.Title, Into: o.Into, State: string(o.State), Reason: command.Nullable(o.Reason),
		Tip: o.Tip, Base: command.Nullable(o.Base), Old: command.Nullable(o.Old), New: command.Nullable(o.New), Check: command.Nullable(o.Check), CheckedAt: command.JSONTime(o.Checked),
		Request: command.Nullable(o.Request), Taint: command.Nullable(o.Taint), Round: o.Round, Rework: command.Nullable(o.Rework),
		Asks: append([]fika.PathRisk{}, o.Asking()...), Accepted: append([]string{}, o.Accepted...), By: o.By,
		CreatedAt: command.JSONTime(o.CreatedAt), UpdatedAt: command.JSONTime(o.UpdatedAt), EndedAt: command.JSONTime(o.EndedAt),
	}
}

// number reads the number of an offer.
func number(word string) (fika.OfferNumber, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(word, "#"), 10, 64)
	if err != nil || n < 1 {
		return 0, command.UsageError("%q is not the number of an offer", word)
	}
	return fika.OfferNumber(n), nil
}

func digits(n fika.OfferNumber) string { return strconv.FormatInt(int64(n), 10) }

// numbers completes the numbers of offers that have not landed.
func numbers(e *command.Env, all bool) cobra.CompletionFunc {
	return complete.FirstOnly(complete.OfferNumbers(e, all))
}
