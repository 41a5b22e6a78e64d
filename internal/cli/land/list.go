package land

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
)

// endedShown is how many offers that have ended the list shows.
const endedShown = 10

func newList(e *command.Env) *cobra.Command {
	var asJSON, all bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the offers", Args: command.Exactly(0, "no arguments"),
		Long:    "Lists the offers, those in the queue first in their order, then those that have\nended, the latest first: the last ten or, with --all, all.",
		Example: "  fika land list\n  fika land list --all --json | jq 'select(.state == \"landed\") | .new'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Offers().List(cmd.Context(), service.OfferFilter{})
			if err != nil {
				return err
			}
			list = command.AtMost(inOrder(list, all), limit)
			switch {
			case asJSON:
				return command.PrintLines(e, list, ToJSON)
			case len(list) == 0:
				e.Say("no offers (fika land BRANCH)")
				return nil
			}
			if !slices.ContainsFunc(list, func(o service.PlacedOffer) bool { return o.On != "" }) {
				return e.Table([]string{"OFFER", "STATE", "FROM", "INTO", "TITLE", "REASON"}, command.TableRows(list, row))
			}
			return e.Table([]string{"OFFER", "STATE", "FROM", "HOST", "INTO", "TITLE", "REASON"}, command.TableRows(list, rowOnHost))
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "show all offers that have ended")
	command.LimitFlag(c, &limit, 0, "show at most this many")
	command.JSONFlag(c, &asJSON)
	return c
}

// inOrder puts what is in the queue first, oldest first, and keeps the order of the rest.
func inOrder(list []service.PlacedOffer, all bool) []service.PlacedOffer {
	var queue, ended []service.PlacedOffer
	for _, o := range list {
		if o.State.Ended() {
			ended = append(ended, o)
		} else {
			queue = append(queue, o)
		}
	}
	slices.Reverse(queue)
	if !all {
		ended = ended[:min(endedShown, len(ended))]
	}
	return append(queue, ended...)
}

func row(o service.PlacedOffer) []string {
	return []string{digits(o.Number), string(o.State), o.Source, o.Into, command.OrDash(o.Title), command.OrDash(cmp.Or(o.Unpushed(), o.Waits, o.Reason))}
}

func rowOnHost(o service.PlacedOffer) []string {
	return slices.Insert(row(o), 3, command.OrDash(o.On))
}
