package host

import (
	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/join"
	"fika/internal/cli/command"
)

func newAdd(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use: "add HOST", Short: "give a host a role of its own on the database's server", Args: command.Exactly(1, "the name of a host"), ValidArgsFunction: offerNames(e),
		Long: `Makes a role on the PostgreSQL server for one host, and prints what that machine
has to give to join. With it the host cannot change the tables, nor what other
hosts say of their agents, nor who wrote a row; fika store host forget locks it
out. docs/guides/machines.md lists what a host can do all the same.

A host that is there already, by this name, belongs to the role from then on: put
the role into its [store] url. Given again, the command brings what the role may
do up to date; a role that forgetting its host has locked out can log in again,
with another password. It has to be given on a host whose own role owns the
tables; if that may not make roles, the command prints what an administrator has
to run.`,
		Example: "  fika store host add laptop",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.App().Config()
			if err != nil {
				return err
			}
			role, err := join.AddHost(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if len(role.Admin) > 0 {
				for _, text := range role.Admin {
					if err := e.Printf("%s;\n", text); err != nil {
						return err
					}
				}
				return fika.Errorf(fika.Denied, "", "the role of this home may not make roles: have an administrator of the server run these statements, and give this again; the password in them is that of %s", role.Name)
			}
			if role.Password != "" {
				if err := e.Printf("echo '*:*:*:%s:%s' >> ~/.pgpass; chmod 600 ~/.pgpass\n", role.Name, role.Password); err != nil {
					return err
				}
			}
			return invite(e, role.Name)
		},
	}
}
