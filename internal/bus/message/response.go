package message

import (
	"fika"
)

// responseStatus returns the status that is sent for an outcome.
func responseStatus(s fika.RequestState) string {
	if s == fika.Done {
		return "completed"
	}
	return string(s)
}

// ResponseOf returns the response for a request that has its outcome.
func ResponseOf(r fika.Request, agent fika.AgentName, conv fika.ConversationName) Response {
	calls := r.Outcome.ToolCalls
	if calls == nil {
		calls = []fika.ToolUsed{}
	}
	return Response{
		Type: TypeResponse, RequestID: string(r.ID), AgentName: string(agent),
		Result: Result{
			Content: r.Outcome.Answer, ConversationID: string(ForeignConversation(agent, conv)), ToolCalls: calls,
			TokensUsed: Tokens{Input: r.Outcome.Usage.Input, Output: r.Outcome.Usage.Output},
			MessageID:  string(r.Outcome.Entry),
		},
		Status: responseStatus(r.State), Error: r.Outcome.Error, Timestamp: TimeText(r.FinishedAt), V: Version,
	}
}
