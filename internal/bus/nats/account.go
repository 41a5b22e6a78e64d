package nats

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// The users that [ServerAccount] makes.
const (
	AccountHost    = "fika"          // of every host
	AccountProgram = "fika-programs" // of programs that ask agents
)

// ServerAccount returns an account for the configuration of a NATS server that is not fika's
// own, for a prefix of subjects: with JetStream, a user for the hosts, and one for programs
// that ask agents, who can read everything and neither answer for an agent nor keep a
// stream of their own. It fails with Invalid for a bad prefix.
func ServerAccount(prefix, hostPassword, programPassword string) (string, error) {
	if err := CheckPrefix(prefix); err != nil {
		return "", err
	}
	host := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{prefix + ".>", canarySubject(prefix), "$JS.API.>", "$JS.ACK.>", "_INBOX.>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{prefix + ".>", "_INBOX.>"}},
	}
	program := permissionsOf(prefix, UserMember)
	return fmt.Sprintf(`jetstream {}
accounts {
  FIKA {
    jetstream: enabled
    users: [
      {user: %s, password: %s, permissions: {
        publish: {allow: %s}
        subscribe: {allow: %s}
        allow_responses: true
      }}
      {user: %s, password: %s, permissions: {
        publish: {allow: %s}
        subscribe: {allow: %s}
        allow_responses: {max: %d, expires: "%s"}
      }}
    ]
  }
}
`, quoted(AccountHost), quoted(hostPassword), listed(host.Publish), listed(host.Subscribe),
		quoted(AccountProgram), quoted(programPassword), listed(program.Publish), listed(program.Subscribe), program.Response.MaxMsgs, program.Response.Expires), nil
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

func listed(p *server.SubjectPermission) string {
	out := make([]string, len(p.Allow))
	for i, subject := range p.Allow {
		out[i] = quoted(subject)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// NewPassword returns a password that nobody can guess.
func NewPassword() string { return newPassword() }
