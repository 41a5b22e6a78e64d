package session

import (
	"context"
	"fmt"
	"strings"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/input"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

// showAgents carries out /agents.
func (v *visit) showAgents(ctx context.Context, _ input.Line) error {
	list, err := v.chat.service().Agents.List(ctx, false)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, a := range list {
		rows = append(rows, []string{"@" + string(a.Row.Name), a.StatusWord(), a.Model, term.CleanLine(words.Brief(a.Standing(), v.Now()))})
	}
	v.screen.Print(term.FormatTable(term.TableOptions{Width: v.screen.Width(), Style: v.OutStyle()}, []string{"AGENT", "STATUS", "MODEL", ""}, rows))
	return nil
}

// setModel carries out /model [@AGENT] [MODEL].
func (v *visit) setModel(ctx context.Context, line input.Line) error {
	agent, words := v.session.agents.SpokenTo(), line.Arguments()
	if len(words) > 0 && strings.HasPrefix(words[0], "@") {
		row, err := v.chat.service().Agents.Find(ctx, strings.TrimPrefix(words[0], "@"))
		if err != nil {
			return err
		}
		agent, words = row.Name, words[1:]
	}
	switch len(words) {
	case 0:
		list, err := v.chat.service().Agents.List(ctx, false)
		if err != nil {
			return err
		}
		for _, a := range list {
			v.screen.Note(fmt.Sprintf("— @%s: %s", a.Row.Name, command.OrDash(a.Model)))
		}
		v.screen.Note("— /model MODEL sets that of @" + string(agent) + " (fika model list)")
		return nil
	case 1:
		if err := v.chat.service().Agents.SetModel(ctx, agent, words[0]); err != nil {
			return err
		}
		v.screen.Note(fmt.Sprintf("— @%s answers with %s from its next turn on", agent, words[0]))
		return nil
	}
	return fika.Errorf(fika.Invalid, "", "/model takes an agent and a model: /model @%s NAME", agent)
}

// showCost carries out /cost.
func (v *visit) showCost(ctx context.Context, _ input.Line) error {
	v.session.cost.count(ctx, v.chat.service(), v.chat.conversation())
	spent, unpriced := v.session.cost.soFar()
	v.screen.Note(fmt.Sprintf("— this session: %s in, %s out, cost %s; fika usage shows all", term.Input(spent), term.Output(spent), term.Money(spent, unpriced)))
	budgets, err := v.chat.service().Budgets().List(ctx)
	for _, b := range budgets {
		v.screen.Note("— budget of " + service.BudgetLine(b))
	}
	return err
}
