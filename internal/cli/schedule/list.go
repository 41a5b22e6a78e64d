package schedule

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
)

func newList(e *command.Env) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "list the schedules with their next and last times", Args: command.Exactly(0, "no arguments"),
		Long: "Lists the schedules of this home by name. NEXT is in the time zone of the\nschedule; LAST is when it last started something, and the outcome.", Example: "  fika schedule list\n  fika schedule list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Schedules().List(cmd.Context())
			if err != nil {
				return err
			}
			list = command.AtMost(list, limit)
			if asJSON {
				return command.PrintLines(e, list, ToJSON)
			}
			if len(list) == 0 {
				e.Say("no schedules (fika schedule create --help)")
				return nil
			}
			e.WarnWithoutHub("nothing begins by itself")
			return e.Table([]string{"SCHEDULE", "WHEN", "BEGINS", "NEXT", "LAST"}, command.TableRows(list, row))
		},
	}
	command.LimitFlag(c, &limit, 0, "list at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return c
}

func row(s service.Schedule) []string {
	last := LastLine(s)
	if last == "" {
		last = "-"
	}
	return []string{s.Schedule.Name, s.Cron, s.WhatBegins(), NextLine(s), last}
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "show one schedule", Args: command.Exactly(1, "the name of a schedule"),
		Long: "Shows a schedule, its next three times, and the outcome of the last one.", Example: "  fika schedule show report\n  fika schedule show report --json", ValidArgsFunction: offerNames(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			s, err := c.Schedules().Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(ToJSON(s))
			}
			e.WarnWithoutHub("nothing begins by itself")
			return show(e, s)
		},
	}
	command.JSONFlag(c, &asJSON)
	return c
}

func show(e *command.Env, s service.Schedule) error {
	lines := [][2]string{{"when", s.Cron}, {"begins", s.WhatBegins()}}
	if s.Zone != "" {
		lines[0][1] += " " + s.Zone
	}
	if s.Prompt != "" {
		lines = append(lines, [2]string{"prompt", strings.Join(strings.Fields(s.Prompt), " ")})
	}
	lines = append(lines, [2]string{"next", NextLine(s)})
	if s.Paused.IsZero() && s.Elsewhere == "" {
		times, zone := s.Times()
		for at, n := times.Next(s.Next, zone), 0; n < 2 && !at.IsZero(); at, n = times.Next(at, zone), n+1 {
			lines = append(lines, [2]string{"", at.In(zone).Format("Mon 2006-01-02 15:04 MST")})
		}
	}
	if last := LastLine(s); last != "" {
		lines = append(lines, [2]string{"last", last})
	}
	if s.Request != "" {
		if s.Summarise {
			lines = append(lines, [2]string{"", "fika request wait " + string(s.Request)})
		}
		lines = append(lines, [2]string{"", "fika request trace " + string(s.Request)})
	}
	for _, l := range lines {
		if err := e.Println(strings.TrimRight(padded(l[0])+l[1], " ")); err != nil {
			return err
		}
	}
	return nil
}

func padded(key string) string { return key + strings.Repeat(" ", 8-len(key)) }
