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
)

// Endpoint is where a server listens and as whom to log in.
type Endpoint struct {
	URL      string
	User     string
	Password string
	Token    string
	Inbox    string // reply subjects begin with it; "_INBOX" if empty
}

// HubInfo is run/hub.json: where the hub's server is. It has no secrets. It is
// there while a hub runs, and left behind by one that was killed; the lock
// tells them apart.
type HubInfo struct {
	URL     string    `json:"url"`
	Prefix  string    `json:"prefix"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// The users of the embedded server, beside one per agent ([AgentUser]).
const (
	UserHub    = "hub"    // everything
	UserMember = "member" // clients: read all, publish requests, bells and control
)

// AgentUser is the bus user of an agent.
func AgentUser(name fika.AgentName) string { return agentUserPrefix + string(name) }

// MemberUser is the bus user of a program that a person has named.
func MemberUser(member string) string { return memberUserPrefix + member }

const (
	agentUserPrefix  = "agent-"
	memberUserPrefix = UserMember + "-"
)

// secrets is run/credentials. The port is kept beside the passwords because it
// too is made once, so that clients find the hub again.
type secrets struct {
	Port  int               `json:"port,omitempty"`
	Users map[string]string `json:"users"`
}

func hubPath(runDir string) string         { return filepath.Join(runDir, "hub.json") }
func credentialsPath(runDir string) string { return filepath.Join(runDir, "credentials") }

// WriteEndpoint writes run/hub.json in one step.
func WriteEndpoint(runDir string, info HubInfo) error {
	return writeJSON(hubPath(runDir), info)
}

// ReadEndpoint reads run/hub.json. Error kind: NotFound when no hub has
// written one.
func ReadEndpoint(runDir string) (HubInfo, error) {
	var info HubInfo
	err := readJSON(hubPath(runDir), &info)
	if errors.Is(err, fs.ErrNotExist) {
		return info, fika.Errorf(fika.NotFound, "find hub", "no hub is running here (%s is missing): start one with fika up", hubPath(runDir))
	}
	if err == nil && info.URL == "" {
		err = fika.Errorf(fika.Invalid, "read "+hubPath(runDir), "it names no url: restart the hub with fika down and fika up")
	}
	return info, err
}

// Credentials gives the endpoint of the hub of runDir for one of its users:
// [UserHub], [UserMember], an [AgentUser] or a [MemberUser]. Error kind: NotFound when there
// is no hub, or no such user yet.
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

// RedialFrom is the [Options.Redial] of a user of the hub of runDir.
func RedialFrom(runDir, who string) func() (Endpoint, error) {
	return func() (Endpoint, error) { return Credentials(runDir, who) }
}

// inboxOf keeps the replies for one agent, or for a program that a person has
// named, from the others. The person's own programs use what every NATS client
// uses, so that they need no setting.
func inboxOf(who string) string {
	if strings.HasPrefix(who, agentUserPrefix) || strings.HasPrefix(who, memberUserPrefix) {
		return "_INBOX." + who
	}
	return ""
}

// askerOf is the agent whose inbox an answer goes to: no other user but the hub
// can read there. Empty for other inboxes.
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

// removeHalves removes what a server that was killed in the middle of writeJSON
// left behind. Nobody but the server of runDir writes these files.
func removeHalves(runDir string) {
	for _, path := range []string{hubPath(runDir), credentialsPath(runDir)} {
		left, _ := filepath.Glob(filepath.Join(runDir, "."+filepath.Base(path)+"[0-9]*"))
		for _, l := range left {
			_ = os.Remove(l)
		}
	}
}
