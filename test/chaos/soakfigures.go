package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// spent is a line, of fika's reports or the database, about who spent what.
type spent struct {
	Agent string          `json:"agent"`
	Model json.RawMessage `json:"model"` // of profile and top: how many calls, and what they took
	Usage struct {
		Input  int `json:"input"`
		Output int `json:"output"`
	} `json:"usage"`
}

func (s spent) tokens() string {
	return fmt.Sprintf("%s %d/%d", s.Agent, s.Usage.Input, s.Usage.Output)
}

func (s spent) calls() int {
	var took struct {
		N int `json:"n"`
	}
	if json.Unmarshal(s.Model, &took) != nil {
		return 0
	}
	return took.N
}

// figures compares the spending that fika reports with the rows of the ledger, by
// agent for profile and top, in total for each grouping of usage. It returns in a few
// words what was compared.
func (r *run) figures() string {
	ledger, calls, err := r.ledger()
	if err != nil || len(ledger) == 0 {
		r.bad("the ledger cannot be read: %v", err)
		return ""
	}
	said := 0
	for _, words := range [][]string{{"profile"}, {"top", "--since", "7d"}} {
		list := r.spentBy(words...)
		said = 0
		var lines []string
		for _, s := range list {
			said += s.calls()
			if s.Usage.Input+s.Usage.Output > 0 {
				lines = append(lines, s.tokens())
			}
		}
		slices.Sort(lines)
		if got, want := strings.Join(lines, ", "), strings.Join(ledger, ", "); got != want {
			r.bad("fika %s says %s; the ledger has %s", strings.Join(words, " "), got, want)
		}
		if said != calls {
			r.bad("fika %s counts %d model calls; %d were committed", strings.Join(words, " "), said, calls)
		}
	}
	input, err := r.number(`SELECT CAST(sum(input + output) AS BIGINT) FROM usage`)
	if err != nil {
		r.bad("the ledger cannot be read: %v", err)
	}
	for _, by := range []string{"agent", "model", "chat", "workflow", "day"} {
		sum := 0
		for _, s := range r.spentBy("usage", "--by", by) {
			sum += s.Usage.Input + s.Usage.Output
		}
		if sum != input {
			r.bad("fika usage --by %s comes to %d tokens; the ledger has %d", by, sum, input)
		}
	}
	return fmt.Sprintf("figures of %d agents, %d model calls, %d tokens compared", len(ledger), calls, input)
}

// ledger returns who has spent what, sorted, and how many model answers were
// committed.
func (r *run) ledger() (lines []string, calls int, err error) {
	db, err := r.query()
	if err != nil {
		return nil, 0, err
	}
	rows, err := db.Query(`SELECT a.name, CAST(sum(u.input) AS BIGINT), CAST(sum(u.output) AS BIGINT) FROM usage u JOIN agents a ON a.id = u.agent GROUP BY a.name`)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var s spent
		if err := rows.Scan(&s.Agent, &s.Usage.Input, &s.Usage.Output); err != nil {
			return nil, 0, err
		}
		lines = append(lines, s.tokens())
	}
	slices.Sort(lines)
	calls, err = r.number(`SELECT count(*) FROM steps WHERE kind = 'model'`)
	return lines, calls, err
}

// spentBy parses what a command prints in JSON Lines.
func (r *run) spentBy(words ...string) (list []spent) {
	res := r.fika(append(words, "--json")...)
	if res.code != 0 {
		r.bad("fika %s: %d %s", strings.Join(words, " "), res.code, res.stderr)
	}
	for line := range strings.Lines(res.stdout) {
		var s spent
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			r.bad("fika %s: %v", strings.Join(words, " "), err)
			return nil
		}
		list = append(list, s)
	}
	return list
}
