package nats

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/text/hint"
)

// Endpoint is where a server listens and as which user to log in.
type Endpoint struct {
	URL      string
	User     string
	Password string
	Token    string
	Inbox    string // prefix of reply subjects; "_INBOX" if empty
}

// HubInfo is the content of run/hub.json: where the hub's server is. It holds no secrets.
// The file exists while a hub runs, and is left behind by a hub that was killed; the lock
// tells the two apart.
type HubInfo struct {
	URL     string    `json:"url"`
	Prefix  string    `json:"prefix"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// The users of the embedded server, besides one per agent ([AgentUser]) and per named
// program ([MemberUser]).
const (
	UserHub    = "hub"    // everything
	UserMember = "member" // clients: read all, publish requests, bells and control
)

// AgentUser returns the bus user of an agent.
func AgentUser(name fika.AgentName) string { return agentUserPrefix + string(name) }

// MemberUser returns the bus user of a program that a person has named.
func MemberUser(member string) string { return memberUserPrefix + member }

const (
	agentUserPrefix  = "agent-"
	memberUserPrefix = UserMember + "-"
)

// secrets is the content of run/credentials. The port is kept beside the passwords
// because it too is chosen once, so that clients find the hub again.
type secrets struct {
	Port  int               `json:"port,omitempty"`
	Users map[string]string `json:"users"`
}

func hubPath(runDir string) string         { return filepath.Join(runDir, "hub.json") }
func credentialsPath(runDir string) string { return filepath.Join(runDir, "credentials") }

// WriteEndpoint writes run/hub.json atomically.
func WriteEndpoint(runDir string, info HubInfo) error {
	return writeJSON(hubPath(runDir), info)
}

// ReadEndpoint reads run/hub.json. Error kind: NotFound when no hub has
// written one.
func ReadEndpoint(runDir string) (HubInfo, error) {
	var info HubInfo
	err := readJSON(hubPath(runDir), &info)
	if errors.Is(err, fs.ErrNotExist) {
		return info, fika.WithHint(fika.Errorf(fika.NotFound, "find hub", "no hub is running here (%s is missing)", hubPath(runDir)), hint.Up)
	}
	if err == nil && info.URL == "" {
		err = fika.Errorf(fika.Invalid, "read "+hubPath(runDir), "it names no url: restart the hub with %s and %s", hint.Down, hint.Up)
	}
	return info, err
}

// Credentials returns the endpoint of the hub of runDir for one of its users: [UserHub],
// [UserMember], an [AgentUser] or a [MemberUser]. Error kind: NotFound when there is no
// hub, or no such user yet.
func Credentials(runDir, who string) (Endpoint, error) {
	info, err := ReadEndpoint(runDir)
	if err != nil {
		return Endpoint{}, err
	}
	sec, err := readSecrets(runDir)
	if err != nil {
		return Endpoint{}, err
	}
	pass, ok := sec.Users[who]
	if !ok {
		return Endpoint{}, fika.Errorf(fika.NotFound, "find credentials", "the hub has none for %q in %s", who, credentialsPath(runDir))
	}
	return Endpoint{URL: info.URL, User: who, Password: pass, Inbox: inboxOf(who)}, nil
}

// RedialFrom returns the [Options.Redial] for a user of the hub of runDir.
func RedialFrom(runDir, who string) func() (Endpoint, error) {
	return func() (Endpoint, error) { return Credentials(runDir, who) }
}

// inboxOf returns the inbox that keeps the replies to an agent, or to a program that a
// person has named, from other users. It is empty for the person's own programs: they use
// the default of every NATS client and so need no setting.
func inboxOf(who string) string {
	if strings.HasPrefix(who, agentUserPrefix) || strings.HasPrefix(who, memberUserPrefix) {
		return "_INBOX." + who
	}
	return ""
}

// askerOf returns the agent whose inbox an answer goes to, which no other user except the
// hub can read. It is empty for other inboxes.
func askerOf(reply string) fika.AgentName {
	rest, ok := strings.CutPrefix(reply, "_INBOX."+agentUserPrefix)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, ".")
	return fika.AgentName(name)
}

func readSecrets(runDir string) (secrets, error) {
	path := credentialsPath(runDir)
	sec := secrets{Users: map[string]string{}}
	err := readJSON(path, &sec)
	if errors.Is(err, fs.ErrNotExist) {
		return sec, fika.Wrap(fika.NotFound, "find credentials", err)
	}
	if sec.Users == nil {
		sec.Users = map[string]string{}
	}
	return sec, err
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fika.Wrap(fika.Storage, "read "+path, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fika.Errorf(fika.Invalid, "read "+path, "it is not what the hub wrote (%v): move it away and restart the hub, which makes a new one", err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fika.Wrap(fika.Failed, "write "+path, err)
	}
	return fika.Wrap(fika.Storage, "write "+path, renameio.WriteFile(path, append(data, '\n'), 0o600))
}

// removeHalves removes the temporary files of a server that was killed in the middle of
// writeJSON. Only the server of runDir writes these files.
func removeHalves(runDir string) {
	for _, path := range []string{hubPath(runDir), credentialsPath(runDir)} {
		left, _ := filepath.Glob(filepath.Join(runDir, "."+filepath.Base(path)+"[0-9]*"))
		for _, l := range left {
			_ = os.Remove(l)
		}
	}
}
