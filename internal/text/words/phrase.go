package words

import (
	"slices"

	"fika/internal/api"
)

// Phrase holds the words for a code.
type Phrase struct {
	Code  api.Code
	Text  string
	Brief string // where the agent's name precedes it; empty: Text
}

// Phrases returns the words for every code, in the order of [api.Meanings].
func Phrases() []Phrase {
	return slices.Concat(workPhrases(), agentPhrases(), waitingPhrases(), boardPhrases(), whyPhrases(), hubPhrases())
}

func workPhrases() []Phrase {
	return []Phrase{
		{api.WorkModel, "asks the model[, call {call}]", ""},
		{api.WorkTool, "in the tool {tool} for {seconds}|runs {tool}", ""},
		{api.WorkRequest, "works on {kind} for {seconds}", ""},
		{api.WorkStopping, "asked to stop", ""},
		{api.WorkMidway, "in the middle of its turn", ""},
		{api.WorkOrphaned, "its process is gone", ""},
		{api.WorkAbandoned, "@{agent} and the hub have ended[; {help} resumes it]", ""},
	}
}

func agentPhrases() []Phrase {
	return []Phrase{
		{api.AgentNext, "@{agent} handles it next", "next"},
		{api.AgentStarting, "@{agent} is being started", "starting"},
		{api.AgentOnDemand, "@{agent} starts when there is work", "starts on demand"},
		{api.AgentStopped, "@{agent} is off: stopped by you[ ({help})]", "stopped by you[: {help}]"},
		{api.AgentFailed, "@{agent} cannot work[: {reason}]", "{reason}|failed"},
		{api.AgentLimit, "@{agent} reached its limit of {limit}[; waiting work resumes at {until} (in {in})]", "reached its limit of {limit}[, resumes at {until} (in {in})]"},
		{api.AgentInUse, "a prompt (pid {pid}) has the context of @{agent}|a prompt on a terminal has the context of @{agent}", "a prompt (pid {pid}) has its context|a prompt on a terminal has its context"},
		{api.AgentAbsent, "@{agent} has no process and is not started by itself[ ({help})]", "not started by itself[: {help}]"},
		{api.AgentNoHub, "@{agent} has no process, and no hub runs that would start it[ ({help})]", "has no process, and no hub runs that would start it[ ({help})]"},
		{api.AgentHostDown, "@{agent} waits for the host {host}, whose hub does not run[ (last seen {at})][; {why}]", "waits for the host {host}[, last seen {at}][; {why}]"},
		{api.AgentHostDrained, "@{agent} waits for the host {host}, which is drained[ ({help})]", "the host {host} is drained[: {help}]"},
		{api.AgentHostAsleep, "@{agent} is on the host {host}, which is asleep and is started when there is work", "the host {host} is asleep and is started when there is work"},
		{api.AgentHostStarting, "@{agent} waits for the host {host}, which is being started[ (begun {at})]", "the host {host} is being started[ (begun {at})]"},
		{api.AgentHostFailed, "@{agent} waits for the host {host}, which could not be started: {reason}[; tried again at {until} (in {in})][ ({help})]", "the host {host} could not be started: {reason}[; tried again at {until}]"},
		{api.AgentHostStopped, "@{agent} waits for the host {host}, which was stopped by hand[ ({help})]", "the host {host} was stopped by hand[: {help}]"},
		{api.AgentNoHost, "@{agent} waits: it may run on {hosts} only, and is on {host}[ ({help})]|@{agent} waits for a host: it may run on {hosts} only, and no host is that[ ({help})]", "may run on {hosts} only, and is on {host}[: {help}]|may run on {hosts} only, and no host is that[: {help}]"},
		{api.AgentNowhere, "@{agent} is on no host: its own was forgotten, or has never run a hub; a host with an [[agents]] entry for it takes it over", "on no host: its own was forgotten, or has never run a hub; one with an [[agents]] entry for it takes it over"},
		{api.AgentStuck, "@{agent} does not answer: its process (pid {pid}) is stopped (SIGSTOP); kill -CONT {pid} resumes it[, {help} ends it]", "its process (pid {pid}) is stopped (SIGSTOP); kill -CONT {pid} resumes it[, {help} ends it]"},
		{api.AgentSilent, "@{agent} has not responded for {seconds}", "not responding for {seconds}"},
		{api.AgentEnded, "the process of @{agent} ended unexpectedly", "its process ended unexpectedly"},
		{api.AgentReports, "@{agent}: {reason}", "{reason}"},
		{api.AgentNotUp, "@{agent} did not start: {reason}", ""},
		{api.AgentLastFailed, "the last request of @{agent} failed ({at}): {reason}", "its last request failed ({at}): {reason}"},
		{api.AgentWorkStopped, "{waiting} waiting for @{agent}, which was stopped by hand", "{waiting} waiting, and it was stopped by hand"},
		{api.AgentWorkAbsent, "{waiting} waiting for @{agent}, which nobody starts[: {help}]", "{waiting} waiting, and nobody starts it[: {help}]"},
		{api.PoolMembers, "{members} members: {list}", ""},
		{api.PoolFailed, "{waiting} waiting for @{agent}, and all members have failed", "{waiting} waiting, and all members have failed"},
		{api.PoolNobody, "no member of @{agent} can take it: {parts}", ""},
	}
}

func waitingPhrases() []Phrase {
	return []Phrase{
		{api.WaitingPausedAll, "everything is paused[ ({help})]", ""},
		{api.WaitingPaused, "the chat is held by {owners}, until they leave it[ ({help})]|the chat is paused[ ({help})]", ""},
		{api.WaitingTurn, "@{agent} has a turn here already (request {request})", "has a turn here already (request {request})"},
		{api.WaitingBusy, "@{agent} works in {chat} first", "yours is next; works in {chat} first"},
		{api.WaitingFirst, "@{agent} works on {kind} first ({chat}); yours is next", ""},
		{api.WaitingMember, "it waits for a free member of @{agent}", "waits for a free member"},
		{api.BudgetFull, "a budget of @{agent} has no room for it", ""},
		{api.WaitingBudget, "it waits for a budget[ ({help} shows which)]", "waits for a budget[ ({help} shows which)]"},
		{api.WaitingChild, "it waits for what it delegated[ (request {request})]", "waits for what it delegated[ (request {request})]"},
		{api.WaitingAgents, "waits for {each}", ""},
		{api.WaitingAgent, "@{agent} ({briefly}, at most {seconds} more)|@{agent} (at most {seconds} more)|@{agent} ({briefly})|@{agent}", ""},
		{api.WaitingApproval, "@{agent} waits for your approval of a tool call[: {help}]", "waits for your approval of a tool call[: {help}]"},
		{api.WaitingProvider, "waiting for the model's provider, which fails[; next try at {until}][ ({help} tries now)]", ""},
		{api.ProviderFails, "the provider of @{agent} fails", ""},
		{api.WaitingNotice, "{notice}", ""},
		{api.WaitingLimit, "{notice}", ""},
		{api.WaitingBoard, "it waits for tasks of the board", "waits for tasks of the board"},
		{api.WaitingPause, "it was paused in the middle of its turn", "paused in the middle of its turn"},
		{api.WaitingOther, "it waits: {reason}", "waits: {reason}"},
		{api.WaitingPerson, "{parts}; the request waits[ ({help} cancels it)]", ""},
		{api.WaitingBackup, "{parts}; @{by} takes it over", ""},
		{api.WaitingUntilThen, "{parts}; until then it waits", ""},
		{api.TurnFailed, "the turn failed[ ({help})]", ""},
		{api.TurnInterrupted, "the turn was interrupted[ ({help})]", ""},
		{api.TurnDead, "failed 3 times without completing a step[ ({help})]", ""},
		{api.TurnEnded, "the turn ended: {reason}[ ({help})]", ""},
		{api.DroppedLimit, "a limit ended the chain[ ({help})]", ""},
		{api.DroppedStopped, "the chat was stopped", ""},
		{api.DroppedExpired, "the message expired before it was handled", ""},
		{api.DroppedCancelled, "the turn was cancelled", ""},
		{api.DroppedOther, "{reason}", ""},
	}
}

func boardPhrases() []Phrase {
	return []Phrase{
		{api.BoardEnded, "it is {state}", ""},
		{api.BoardClaimed, "@{agent} has it (request {request})", ""},
		{api.BoardReview, "@{agent} has offered what it made, and {offer}", ""},
		{api.BoardReviewed, "@{agent} reviews it (request {request})", ""},
		{api.BoardHeld, "it is held for a person: {reason}[ ({help} lets it go on)]", ""},
		{api.BoardOverdue, "its time is over[ ({help} --due sets another)]", ""},
		{api.BoardNeeds, "it needs {list} first", ""},
		{api.BoardNeedsDropped, "it needs {list}, dropped, so it is never taken[ ({help} --needs changes that)]", ""},
		{api.BoardNobody, "@{agent} takes no tasks of the board (board = true)|no agent with the capability {capability} takes tasks of the board (board = true)|no agent takes tasks of the board: set board = true for an agent in config.toml, or board: true above the prompt in .fika/agents/NAME.md", ""},
		{api.BoardFull, "@{agent} has as many tasks as it may (board_max)", "has as many tasks as it may (board_max)"},
	}
}

func whyPhrases() []Phrase {
	return []Phrase{
		{api.WhyExpired, "#{seq} has expired and was removed.", ""},
		{api.WhyNotice, "#{seq} is a notice, {time}.", ""},
		{api.WhyEntry, "#{seq} is a {type} of {from}, {time}.", ""},
		{api.WhyAgentWrote, "#{seq} is a message of the agent @{agent}, {time}.", ""},
		{api.WhyPersonWrote, "#{seq} is a message of {from} (a person), {time}.", ""},
		{api.WhyMentions, "It mentions @{agent}.", ""},
		{api.WhyMentionsPool, "It mentions @{pool}, a pool; it went to the member @{agent}.", ""},
		{api.WhyBegun, "@{agent} is starting on it.", ""},
		{api.WhyWaiting, "Not yet: {parts}.", ""},
		{api.WhyJustEnded, "Request {request} of @{agent} covers it, and has just ended.", ""},
		{api.WhyRunning, "@{agent} has been working on it since {time} (request {request}): {parts}.", ""},
		{api.WhyCovered, "Request {request} of @{agent} covers it, and is not done: {parts}.", ""},
		{api.WhyRetried, "It is tried again: request {request} did not end well.", ""},
		{api.WhyAnswered, "@{agent} answered it with #{answer} (request {request}, done {time}).", ""},
		{api.WhyDone, "A turn of @{agent} has covered it.", ""},
		{api.WhySilent, "@{agent} read it and had nothing to say (request {request}, {state}, {time}).", ""},
		{api.WhyFailed, "The turn of @{agent} that covered it failed (request {request}, {state}, {time}): {reason}.", ""},
		{api.WhyRetry, "{help} tries again.", ""},
		{api.WhyTogether, "The turn also handled: {list}.", ""},
		{api.WhySpent, "The turn took {tokens} tokens and cost {cost}.", ""},
		{api.WhyDropped, "It was dropped: {parts}.", ""},
		{api.WhyCancelled, "That was request {request}: {reason}.", ""},
		{api.WhyChain, "The chain began {time} and had {turns} turns, {tokens} tokens; the limit was: {limit}. This message was {depth} answers deep.", ""},
		{api.WhyNoMessage, "Only messages can start a turn.", ""},
		{api.WhyNotMentioned, "It does not mention @{agent}, only {list}.|It does not mention @{agent}: it turns to {person}, a person, and that ends this branch.|It does not mention @{agent}.", ""},
		{api.WhyUnmentioned, "Without a mention nobody answers; @{agent} reads it when something else calls it here.", ""},
		{api.WhyOwn, "It mentions @{agent}, but these are @{agent}'s own words: nobody calls itself.", ""},
		{api.WhyMidway, "It mentions @{agent}, but was said in the middle of a turn (request {request}): only the final text of a turn calls others.", ""},
		{api.WhyYounger, "It mentions @{agent}, but there was no agent of that name yet: it was made {time}.", ""},
		{api.WhyImported, "It reads as a mention of @{agent}, but called nobody when it was stored: it was imported, or the agent had another name then.", ""},
		{api.WhyAllByAgent, "It says @all, which is for people only: agents call each other by name.", ""},
		{api.WhyAllLater, "It says @all, which means those who took part then; @{agent} joined later.", ""},
		{api.WhyAllOthers, "It says @all, which means those who take part; @{agent} does not.", ""},
		{api.WhyHidden, "It says @{name}, but {where}, where it is no mention.", ""},
		{api.WhyMisspelt, "It says @{name}, and nobody has that name; did it mean @{agent}?", ""},
		{api.WhyNotWarned, "An agent that misspells a name gets no warning; a person does.", ""},
	}
}

func hubPhrases() []Phrase {
	return []Phrase{
		{api.HubStuck, "the hub does not answer: its process (pid {pid}) is stopped (SIGSTOP); kill -CONT {pid} resumes it[, {help} ends it]", ""},
		{api.HubSilent, "the hub (pid {pid}) does not answer: {reason}[; {help} ends it]", ""},
		{api.HubLost, "the hub (pid {pid}) runs and cannot be found: {reason}", ""},
		{api.HubNone, "no hub is running: what is sent waits in the store[ ({help})]", ""},
		{api.HubNotByTool, "no hub is running, and a tool starts none: what is sent waits until a person starts one[ ({help})]", ""},
		{api.HubAgentsAway, "no hub is running, so agents that have ended stay away[; {help} starts them again]", ""},
		{api.HubKept, "{parts}; what is sent is kept, and agents that run find it within seconds", ""},
		{api.BusSilent, "the bus does not answer: {reason}", ""},
		{api.StoreAway, "the database cannot be reached; what is stored is kept, and continues when it is back", ""},
	}
}
