package agent

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/admin/mcpadmin"
	"fika/internal/cli/command"
	"fika/internal/service"
)

// servers are the MCP servers that agents may use, with their tools as far as they
// are known; no server is started.
type servers map[fika.AgentName][]serverJSON

// serverJSON is a server as --json shows it beside an agent.
type serverJSON struct {
	Name  string   `json:"name"`
	Tools []string `json:"tools"` // tools that the agent may call, by the names it uses
}

// serversOf reads what is known about the servers.
func serversOf(e *command.Env) (servers, error) {
	s, err := mcpadmin.Open(e.App())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out := servers{}
	for _, one := range s.List() {
		if one.Entry.Disabled {
			continue
		}
		for _, name := range one.Agents {
			agent := fika.AgentName(name)
			out[agent] = append(out[agent], serverJSON{one.Entry.Name, s.ToolsFor(agent, one)})
		}
	}
	return out, nil
}

// words lists the servers of an agent, with the number of their tools it may call.
func (s servers) words(v service.AgentView) string {
	var list []string
	for _, one := range s[v.Row.Name] {
		list = append(list, fmt.Sprintf("%s (%d)", one.Name, len(one.Tools)))
	}
	return strings.Join(list, ", ")
}

// listedJSON is an agent with the servers it may use.
type listedJSON struct {
	JSON
	Servers []serverJSON `json:"mcp_servers"`
}

func (s servers) toJSON(v service.AgentView, now time.Time) listedJSON {
	return listedJSON{ToJSON(now, v), command.EmptyIfNil(s[v.Row.Name])}
}
