package store

import (
	"context"
	"encoding/json"

	"fika"
)

// Definition is what the host of an agent says of it for the other hosts, which cannot
// read its settings.
type Definition struct {
	CallableBy  []string `json:"callable_by"`      // who may ask it for work; nil: everybody
	ReadableBy  []string `json:"readable_by"`      // agents that may read its context; nil: all
	Permissions []string `json:"tool_permissions"` // nil: what every agent has
	Pool        string   `json:"pool"`             // the pool that it is a member of; empty: none
	RunOn       []string `json:"run_on"`           // where it may run: see [Host.Fits]
	WorkspaceOn string   `json:"workspace_on"`     // where its files are: "shared", "git", or on its host
	Entry       bool     `json:"entry"`            // it has an [[agents]] entry there
	Wakes       bool     `json:"wakes"`            // the hub there starts it when there is work
}

// Defined is an agent's definition with whose it is.
type Defined struct {
	Home    string // that the agent belongs to; empty: none is known
	Version int64  // counts the changes; 0: its home has not said anything yet
	Definition
}

const selectDefined = `SELECT a.home_id, COALESCE(d.version, 0), COALESCE(d.body, '') FROM agents a LEFT JOIN agent_defs d ON d.agent = a.id AND d.host = a.home_id`

func scanDefined(s scanner) (d Defined, err error) {
	var body string
	if err := s.Scan(&d.Home, &d.Version, &body); err != nil || d.Version == 0 {
		return d, err
	}
	if err := json.Unmarshal([]byte(body), &d.Definition); err != nil {
		return d, fika.Errorf(fika.Storage, "read definition", "what the home %s says of an agent cannot be read: %v", d.Home, err)
	}
	return d, nil
}

// Defined returns what is said of the agent of a name; false if there is no such agent.
func (s Agents) Defined(ctx context.Context, name fika.AgentName) (Defined, bool, error) {
	d, ok, err := one(ctx, s.r, scanDefined, selectDefined+` WHERE a.name = ?`, name)
	return d, ok, s.explain("read definition", err)
}

// define stores a definition of an agent that belongs to its home.
func (t agentRows) define(ctx context.Context, a fika.Agent, body string) error {
	return t.put(ctx, `INSERT INTO agent_defs (agent, host, body) VALUES (?, ?, ?)
ON CONFLICT (agent) DO UPDATE SET host = excluded.host, body = excluded.body, version = agent_defs.version + 1`, a.ID, a.HomeID, body)
}

// bodyOf returns a definition as it is stored: empty for none, and in a file's database,
// which has one host.
func (s Agents) bodyOf(op string, d *Definition) (string, error) {
	if d == nil || s.file != nil {
		return "", nil
	}
	return toJSON(op, d)
}
