package schedule

import (
	"context"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
	"fika/internal/service"
)

// control completes c to a command about one schedule.
func control(e *command.Env, c *cobra.Command, do func(context.Context, *service.Schedules, string) error) *cobra.Command {
	return controlWith(e, e.Service, c, do)
}

// controlWith is control with another way to open the service.
func controlWith(e *command.Env, open func(context.Context) (*service.Service, error), c *cobra.Command, do func(context.Context, *service.Schedules, string) error) *cobra.Command {
	c.Args, c.ValidArgsFunction = command.Exactly(1, "the name of a schedule"), offerNames(e)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		cl, err := open(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), cl.Schedules(), args[0])
	}
	return c
}

func newDelete(e *command.Env) *cobra.Command {
	return control(e, command.AcceptYes(&cobra.Command{
		Use: "delete NAME", Short: "delete a schedule", Example: "  fika schedule delete report",
		Long: "Removes a schedule from config.toml. Work that it started continues.",
	}), func(ctx context.Context, s *service.Schedules, name string) error {
		if err := s.Remove(ctx, name); err != nil {
			return err
		}
		e.Say("deleted schedule %s", name)
		return nil
	})
}

func newPause(e *command.Env) *cobra.Command {
	return control(e, &cobra.Command{
		Use: "pause NAME", Short: "pause a schedule", Example: "  fika schedule pause report",
		Long: "Keeps a schedule from starting anything until fika schedule resume. Work that it\nstarted continues; times missed meanwhile are not caught up on.",
	}, func(ctx context.Context, s *service.Schedules, name string) error {
		one, err := s.Pause(ctx, name)
		if err != nil {
			return err
		}
		e.Say("%s is paused; fika schedule resume %s lets it go on", one.Schedule.Name, one.Schedule.Name)
		return nil
	})
}

func newResume(e *command.Env) *cobra.Command {
	return control(e, &cobra.Command{
		Use: "resume NAME", Short: "resume a paused schedule", Example: "  fika schedule resume report",
		Long: "Ends the pause of a schedule, which continues with its next time.",
	}, func(ctx context.Context, s *service.Schedules, name string) error {
		one, err := s.Resume(ctx, name)
		if err != nil {
			return err
		}
		e.Say("resumed schedule %s; next run: %s", one.Schedule.Name, NextLine(one))
		e.WarnWithoutHub("nothing begins by itself")
		return nil
	})
}

func newRun(e *command.Env) *cobra.Command {
	return controlWith(e, e.ServiceWithHub, &cobra.Command{
		Use: "run NAME", Short: "start the work of a schedule now", Example: "  fika schedule run report",
		Long: "Starts the work of a schedule now, even while the work it started last is still\nunder way, and prints the id of the request. The next time stays as it is.",
	}, func(ctx context.Context, s *service.Schedules, name string) error {
		done, err := s.BeginNow(ctx, name)
		if err != nil {
			return err
		}
		if done.Said != nil {
			e.Say("sent to chat %s; follow it with: fika chat view -f %s", done.Said.Conversation.Name, done.Said.Conversation.Name)
			return e.Println(string(done.Said.Entry.ID))
		}
		return e.Println(string(done.Request))
	})
}
