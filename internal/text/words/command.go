package words

import "fika/internal/api"

// Command returns the command for what helps first against a status; "" if nothing does.
func Command(s api.Status) string {
	if len(s.Help) == 0 {
		return ""
	}
	h := s.Help[0]
	verb := h.Verb
	if h.How != "" {
		verb += " " + h.How
	}
	f := filler{status: s}
	f.status.Args = map[string]string{"id": h.Object.ID, "agent": s.Args["agent"]}
	f.status.Help = nil
	return f.fill(Commands()[verb])
}

// Commands returns the command of each verb that helps, with how it is done if the verb
// has several ways. {id} is the object.
func Commands() map[string]string {
	return map[string]string{
		"agent.run":             "fika agent run {id}",
		"agent.start":           "fika agent start {id}",
		"agent.stop now":        "fika agent stop --now {id}",
		"approval.answer":       "fika approve[ {id}]",
		"board.edit":            "fika board edit {id}",
		"board.release":         "fika board release {id}",
		"budget.list":           "fika budget list",
		"conversation.continue": "fika chat continue {id}",
		"conversation.resume":   "fika chat resume {id}",
		"host.resume":           "fika store host resume {id}",
		"host.show":             "fika store host show {id}",
		"host.start":            "fika store host start {id}",
		"conversation.retry":    "fika chat retry {id}[ {agent}]",
		"home.resume":           "fika chat resume --all",
		"host.down now":         "fika down --now",
		"host.list":             "fika store host list",
		"host.up":               "fika up",
		"request.cancel":        "fika request cancel {id}",
		"request.retry":         "fika request retry {id}",
	}
}
