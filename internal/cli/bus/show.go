package bus

import (
	"net/url"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/service"
)

// shownJSON is a member with what it needs to connect.
type shownJSON struct {
	memberJSON
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	Subject  string `json:"subject"` // contains AGENT in place of the agent's name
	Inbox    string `json:"inbox_prefix"`
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "print the URL with which a member connects",
		Long: `Prints the bus URL with the credential of a member, and nothing else on stdout;
stderr says where the member publishes and what it hears. The hub must run: it
makes the credential. Anyone who has the credential is that member, until fika
bus remove revokes it.`,
		Example: "  fika bus show build-server\n  fika bus show build-server --json | jq -r .subject",
		Args:    command.Exactly(1, "the name of a member"), ValidArgsFunction: complete.FirstOnly(names(e)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Service(cmd.Context())
			if err != nil {
				return err
			}
			access, err := c.MemberAccess(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(shownJSON{toMemberJSON(access.Member), access.URL, access.User, access.Password, access.Subject, access.Inbox})
			}
			u, err := url.Parse(access.URL)
			if err != nil {
				return fika.Wrap(fika.Invalid, "read bus url", err)
			}
			u.User = url.UserPassword(access.User, access.Password)
			sayAccess(e, access)
			return e.Println(u.String())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// sayAccess says what a member can do with its URL.
func sayAccess(e *command.Env, a service.MemberAccess) {
	e.Say("%s publishes to %s, AGENT being one it may ask, and reads what it gets on that subject with response and status at its end", a.Member.Name, a.Subject)
	e.Say("its replies come to subjects that begin with %s (an option of NATS clients: inbox prefix)", a.Inbox)
}
