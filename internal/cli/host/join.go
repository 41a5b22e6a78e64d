package host

import (
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/join"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/text/hint"
)

// NewJoin returns the command fika join.
func NewJoin(e *command.Env) *cobra.Command {
	var w join.Wanted
	c := &cobra.Command{
		Use: "join [URL]", Short: "make this machine one of several that share a database", Args: command.AtMostOne("the address of the database"),
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Makes this home one of several that share a PostgreSQL database and a NATS server:
it tries both from here, says all that is missing at once, and only if nothing is
writes [store] url and [nats] server into config.toml. Of NATS it takes the
address and the prefix that the other hosts use, unless you say another.

Without an address it prints the command that another machine has to give to join
this one.`,
		Example: "  fika store join 'postgres://fika@db.example.org/fika?sslrootcert=/etc/fika/ca.pem'\n  fika store join",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return invite(e, "")
			}
			w.Store = args[0]
			r, err := join.Join(cmd.Context(), e.App(), w)
			if err != nil {
				return err
			}
			for _, n := range r.Notes {
				e.Say("note: %s", n)
			}
			for _, l := range r.Lacks {
				e.Say("missing: %s", l)
			}
			if n := len(r.Lacks); n > 0 {
				return fika.Errorf(fika.Invalid, "", "not joined, and nothing was written: %s to put right", command.Plural(n, "thing"))
			}
			others := "no other host has used it yet"
			if len(r.Hosts) > 0 {
				others = "with " + strings.Join(r.Hosts, ", ")
			}
			e.Say("joined (%s; written to %s): %s begins", others, r.File, hint.Up)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&w.Server, "nats", "", "address of the NATS server, as tls://nats.example.org:4222")
	f.StringVar(&w.User, "nats-user", "", "user name there")
	f.StringVar(&w.PasswordEnv, "nats-password-env", "", "environment variable that holds the password there")
	f.StringVar(&w.Creds, "nats-creds", "", "credentials file, instead of a user")
	f.StringVar(&w.CA, "nats-ca", "", "certificate of the authority of the NATS server")
	f.StringVar(&w.Prefix, "prefix", "", "prefix of every subject on the bus (subject_prefix)")
	_ = c.RegisterFlagCompletionFunc("nats-creds", complete.FileNames)
	_ = c.RegisterFlagCompletionFunc("nats-ca", complete.FileNames)
	return c
}

// invite prints how another machine joins, with a role of its own if one is named.
func invite(e *command.Env, role string) error {
	c, err := e.App().Config()
	if err != nil {
		return err
	}
	w, needs, err := join.Invitation(c, role)
	if err != nil {
		return err
	}
	line := hint.Join.With(quoted(w.Store))
	for _, f := range [][2]string{{"nats", w.Server}, {"nats-user", w.User}, {"nats-password-env", w.PasswordEnv}, {"nats-creds", w.Creds}, {"nats-ca", w.CA}, {"prefix", w.Prefix}} {
		if f[1] != "" {
			line += " --" + f[0] + " " + quoted(f[1])
		}
	}
	if err := e.Printf("%s\n", line); err != nil {
		return err
	}
	for _, n := range needs {
		e.Say("needed there: %s", n)
	}
	return nil
}

// quoted makes a text one word of a shell.
func quoted(text string) string {
	if strings.ContainsAny(text, " ?&'\"$\\*;<>()|`") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
