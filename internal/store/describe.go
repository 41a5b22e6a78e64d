package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"fika"
	"fika/internal/text/hint"
)

// Table describes a table to people who read the database with other programs.
type Table struct {
	Name    string
	Row     string // what a row of it is
	Words   bool   // it holds what people, models or tools said, or settings with such texts
	Key     []string
	Columns []Column
}

// Column is a column of a [Table].
type Column struct {
	Name       string
	SQLite     string // its type
	PostgreSQL string // the same there
}

// Describe returns the tables that a new database of this program has, each after those
// that it refers to, without what a database keeps for itself.
func Describe(ctx context.Context) (out []Table, err error) {
	dir, err := os.MkdirTemp("", "fika-tables-")
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "describe tables", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := Open(ctx, Options{Path: filepath.Join(dir, "fika.db")})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, c := range tables() {
		about := meanings()[c.name]
		t := Table{Name: c.name, Row: about.row, Words: about.words, Key: c.key}
		if t.Columns, err = many(ctx, s.db.r, scanColumn, `SELECT c.name, c.type FROM pragma_table_info(?) c ORDER BY c.cid`, c.name); err != nil {
			return nil, s.db.explain("describe tables", err)
		}
		// A migration adds a column at the end, wherever it belongs.
		slices.SortFunc(t.Columns, func(a, b Column) int { return slices.Index(c.columns, a.Name) - slices.Index(c.columns, b.Name) })
		out = append(out, t)
	}
	return out, nil
}

func scanColumn(s scanner) (c Column, err error) {
	err = s.Scan(&c.Name, &c.SQLite)
	c.PostgreSQL = map[string]string{"INTEGER": "bigint", "REAL": "double precision", "TEXT": "text", "BLOB": "bytea"}[c.SQLite]
	return c, err
}

// meaning says what a row of a table is.
type meaning struct {
	row   string
	words bool
}

func meanings() map[string]meaning {
	return map[string]meaning{
		"meta":           {"a fact about the database: its schema, its id, whether everything is paused", false},
		"agents":         {"an agent or a pool: what it is doing, who holds it (`owner`, until `lease_until`), what was wished of it (`desired`)", false},
		"hosts":          {"a home in which a hub runs, of those that share the database: what holds it (`session`, at `site`, until `until`)", false},
		"moves":          {"an agent that is to go to another host (`host`), or has just come from one, with what it brought (`files`, JSON)", true},
		"texts":          {"a text of an agent that several hosts define (`kind`, `version`): a file on each of them shows it", true},
		"text_conflicts": {"a text that was changed on two hosts at once: the file (`path`) of a host that has the one which is not shared", true},
		"workspaces":     {"where the files are of an agent that another host may go on with (`host`), or of a task of its (`task`): what was pushed last (`ref`, `hash`), and why not more (`unpushed`)", true},
		"agent_defs":     {"what the host of an agent says of it for the other hosts: who may ask it and read its context, what it is permitted (`body`, JSON)", true},
		"on_demand":      {"a host that a command starts when there is work for it: what a person wants of it (`want`), what is done about it (`state`), and why it could not be (`reason`)", false},
		"duties":         {"what one hub at a time does for all, and which", false},
		"bindings":       {"the member of a pool that a person speaks to", false},
		"conversations":  {"a chat, or the conversation of an agent with one that asks it; `last_seq` is the number of its newest entry", false},
		"participants":   {"who takes part in a chat: an agent (`agent`) or a person (`person`); `cursor` is the last entry that was read", false},
		"entries":        {"a message, a tool call, its result, a thought, a notice or a compaction in a conversation, in the order of `seq`", true},
		"inputs":         {"what a person said to an agent at work, until its turn takes it", true},
		"guest_sessions": {"the session that another agent program has of a conversation", false},
		"jobs":           {"a command that runs on after the call that started it", true},
		"chains":         {"what one message of a person has set off, and what that has used so far", false},
		"notifications":  {"a mention of an agent in a chat, or a message for it, and what became of it", false},
		"requests":       {"a piece of work for an agent, from when it was accepted to its outcome", true},
		"steps":          {"a step of a request: a call of a model or of a tool", false},
		"approvals":      {"a question to a person before a tool call, with the answer", true},
		"executors":      {"a process that runs tools in the place of agents", false},
		"executions":     {"a tool call on its way through an executor; gone when its request has the result", true},
		"flow_runs":      {"a run of a workflow, with its definition", true},
		"flow_steps":     {"an attempt at a step, an item or a round of a run", true},
		"flow_outputs":   {"what a step of a run gave, each text once", true},
		"schedules":      {"what was done about a schedule of the settings, and when it is due next (`next_at`)", true},
		"tasks":          {"a task of the board", true},
		"task_needs":     {"a task (`needs`) that must be done before another (`task`)", false},
		"board_waits":    {"a task that a request waits for", false},
		"task_log":       {"what happened to a task, and what was said about it", true},
		"offers":         {"work that is to land on a branch (`target`), the commits on the way (`tip`, `base`, `new`), and what its check said", true},
		"usage":          {"the tokens and the cost, in millionths of a US dollar, of a model call; it outlives the request", false},
		"budgets":        {"what was spent of a budget in one of its periods", false},
		"reservations":   {"what is set aside of a budget for the next call of a running request", false},
		"parked":         {"a message of the bus that could not be read", true},
		"brakes":         {"until when an agent is kept from answering in a chat, because an exchange goes round in circles", false},
		"events":         {"what was committed, in one order: ids, codes and counts", false},
		"keys":           {"what a write with a key did, so that repeating it does nothing", false},
		"webhooks":       {"how far a receiver of events (`[[webhooks]]`, `[otlp]`) has got them, and what is in its way", false},
		"deliveries":     {"an event that a receiver has refused", false},
		"figures":        {"a sum of what was done, for `/metrics`, which stays when rows go with age", false},
		"places":         {"how far a reader of events has come that continues after a restart", false},
		"tokens":         {"a program that comes in by a door, with the hash of its secret (`" + string(hint.Token) + "`)", false},
	}
}
