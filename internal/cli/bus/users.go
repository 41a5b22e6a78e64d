package bus

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// usersJSON is what fika bus users --json prints.
type usersJSON struct {
	Config   string `json:"config"` // for nats-server
	Host     string `json:"host_user"`
	HostWord string `json:"host_password"`
	Program  string `json:"program_user"`
	Word     string `json:"program_password"`
}

func newUsers(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "users", Short: "print an account for a NATS server that several machines share", Args: command.Exactly(0, "no arguments"),
		Long: `Prints a part of the configuration of nats-server: an account with JetStream and
two users with new passwords. One is for every host of fika ([nats] user and
password_env), the other for programs that ask agents: these read everything, but
cannot answer for an agent. Nothing is stored: each call makes other passwords.
Subjects begin with the subject_prefix of this home.`,
		Example: "  fika bus users > fika.conf    # then, in nats-server.conf: include fika.conf\n  fika bus users --json | jq -r .host_password",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			a, err := c.BusAccount()
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(usersJSON{a.Config, a.HostUser, a.HostPassword, a.ProgramUser, a.ProgramPassword})
			}
			e.Say("hosts log in with [nats] user = %q and the password in the variable that password_env names; programs as %q", a.HostUser, a.ProgramUser)
			return e.Print(a.Config)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
