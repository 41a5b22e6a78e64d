package nats

import (
	"crypto/subtle"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"fika"
)

// users decides who may log in, and what each user may do. The server asks it for each
// connection, so a new user needs neither reload nor restart.
type users struct {
	runDir string
	prefix string

	mu      sync.Mutex
	sec     secrets           // as in the file
	members map[string]Member // by bus user
}

func openUsers(runDir, prefix string) (*users, error) {
	sec, err := readSecrets(runDir)
	if err != nil && !fika.IsKind(err, fika.NotFound) {
		return nil, err
	}
	return &users{runDir: runDir, prefix: prefix, sec: sec}, nil
}

// ensurePasswords creates the passwords that are missing and writes them before anybody
// can use them.
func (u *users) ensurePasswords(names ...string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	next := secrets{Port: u.sec.Port, Users: maps.Clone(u.sec.Users)}
	for _, n := range names {
		if next.Users[n] == "" {
			next.Users[n] = newPassword()
		}
	}
	if len(next.Users) == len(u.sec.Users) {
		return nil
	}
	return u.writeSecrets(next)
}

func (u *users) keepPort(port int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sec.Port == port {
		return nil
	}
	return u.writeSecrets(secrets{Port: port, Users: u.sec.Users})
}

func (u *users) writeSecrets(next secrets) error {
	if err := writeJSON(credentialsPath(u.runDir), next); err != nil {
		return err
	}
	u.sec = next
	return nil
}

func (u *users) lastPort() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sec.Port
}

func (u *users) passwordOf(who string) (string, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p, ok := u.sec.Users[who]
	return p, ok
}

// Check implements the server's Authentication.
func (u *users) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	want, ok := u.passwordOf(given.Username)
	if !ok || want == "" || subtle.ConstantTimeCompare([]byte(want), []byte(given.Password)) != 1 {
		return false
	}
	allowed := permissionsOf(u.prefix, given.Username)
	if strings.HasPrefix(given.Username, memberUserPrefix) {
		m, here := u.memberOf(given.Username)
		if !here {
			return false
		}
		allowed = m.permissions(u.prefix)
	}
	c.RegisterUser(&server.User{Username: given.Username, Permissions: allowed})
	return true
}

// permissionsOf returns what one of fika's own users may publish and subscribe to; nil
// allows everything. Every process here belongs to the same person: this guards against
// mistakes and is not a security boundary.
func permissionsOf(prefix, who string) *server.Permissions {
	agents := prefix + ".agent.*."
	answers := &server.ResponsePermission{MaxMsgs: 16, Expires: 10 * time.Minute}
	if who == UserHub {
		return nil
	}
	name, isAgent := strings.CutPrefix(who, agentUserPrefix)
	if !isAgent {
		return &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{
				agents + "request", agents + "bell", agents + "live", prefix + ".events", prefix + ".executor.*.bell", agents + "control", agents + "context.request",
				prefix + ".chat.*", prefix + ".workflow.*.status", prefix + ".hub.bell", prefix + ".hub.store",
				"$JS.API.STREAM.INFO." + streamName(prefix), "$JS.API.CONSUMER.INFO." + streamName(prefix) + "." + hubConsumer,
			}},
			Subscribe: &server.SubjectPermission{Allow: []string{prefix + ".>", "_INBOX.>"}},
			Response:  answers,
		}
	}
	own := prefix + ".agent." + name + "."
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			own + "response", own + "status", own + "heartbeat",
			agents + "bell", agents + "context.request", prefix + ".executor.*.bell", prefix + ".chat.*", prefix + ".workflow.*.status", prefix + ".hub.bell", prefix + ".events",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{
			own + "control", own + "bell", own + "idle", bellOfPool(prefix, name), own + "context.request", own + "live", prefix + ".chat.>", inboxOf(who) + ".>",
		}},
		Response: answers,
	}
}

// bellOfPool returns the bell of the pool to which an agent belongs by its name, NAME-N;
// for a name without a hyphen it returns the agent's own bell.
func bellOfPool(prefix, name string) string {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i]
	}
	return prefix + ".agent." + name + ".bell"
}
