package api

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Code is a status: a dotted name, such as agent.stopped, from the closed list of
// [Meanings]. What stands behind the dot is its [Code.Word]. The empty code says that
// nothing is in the way.
type Code string

// What an agent at work is doing, and what holds up a request that it has begun.
const (
	WorkModel     Code = "work.model"
	WorkTool      Code = "work.tool"
	WorkRequest   Code = "work.request"
	WorkStopping  Code = "work.stopping"
	WorkMidway    Code = "work.midway"
	WorkOrphaned  Code = "work.orphaned"
	WorkAbandoned Code = "work.abandoned"
)

// Whether an agent works, and why it does not.
const (
	AgentNext         Code = "agent.next"
	AgentStarting     Code = "agent.starting"
	AgentOnDemand     Code = "agent.on_demand"
	AgentStopped      Code = "agent.stopped"
	AgentFailed       Code = "agent.failed"
	AgentLimit        Code = "agent.limit"
	AgentInUse        Code = "agent.in_use"
	AgentAbsent       Code = "agent.absent"
	AgentNoHub        Code = "agent.no_hub"
	AgentHostDown     Code = "agent.host_down"
	AgentHostDrained  Code = "agent.host_drained"
	AgentHostAsleep   Code = "agent.host_asleep"
	AgentHostStarting Code = "agent.host_starting"
	AgentHostFailed   Code = "agent.host_failed"
	AgentHostStopped  Code = "agent.host_stopped"
	AgentNoHost       Code = "agent.no_host"
	AgentNowhere      Code = "agent.nowhere"
	AgentStuck        Code = "agent.stuck"
	AgentSilent       Code = "agent.silent"
	AgentEnded        Code = "agent.ended"
	AgentReports      Code = "agent.reports"
	AgentLastFailed   Code = "agent.last_failed"
	AgentWorkStopped  Code = "agent.work_stopped"
	AgentWorkAbsent   Code = "agent.work_absent"
	PoolMembers       Code = "pool.members"
	PoolFailed        Code = "pool.failed"
	PoolNobody        Code = "pool.nobody"
)

// What work waits for, and what came of it if nothing more will.
const (
	WaitingPausedAll Code = "waiting.paused_all"
	WaitingPaused    Code = "waiting.paused"
	WaitingTurn      Code = "waiting.turn"
	WaitingBusy      Code = "waiting.busy"
	WaitingFirst     Code = "waiting.first"
	WaitingMember    Code = "waiting.member"
	BudgetFull       Code = "budget.full"
	WaitingBudget    Code = "waiting.budget"
	WaitingChild     Code = "waiting.child"
	WaitingAgents    Code = "waiting.agents"
	WaitingAgent     Code = "waiting.agent"
	WaitingApproval  Code = "waiting.approval"
	WaitingProvider  Code = "waiting.provider"
	ProviderFails    Code = "provider.fails"
	WaitingNotice    Code = "waiting.notice"
	WaitingLimit     Code = "waiting.limit"
	WaitingBoard     Code = "waiting.board"
	WaitingPause     Code = "waiting.pause"
	WaitingOther     Code = "waiting.other"
	WaitingPerson    Code = "waiting.person"
	WaitingBackup    Code = "waiting.backup"
	WaitingUntilThen Code = "waiting.until_then"

	TurnFailed      Code = "turn.failed"
	TurnInterrupted Code = "turn.interrupted"
	TurnDead        Code = "turn.dead"
	TurnEnded       Code = "turn.ended"

	DroppedLimit     Code = "dropped.limit"
	DroppedStopped   Code = "dropped.stopped"
	DroppedExpired   Code = "dropped.expired"
	DroppedCancelled Code = "dropped.cancelled"
	DroppedOther     Code = "dropped.other"
)

// Where a task of the board stands, and why nobody takes it.
const (
	BoardEnded        Code = "board.ended"
	BoardClaimed      Code = "board.claimed"
	BoardReview       Code = "board.review"
	BoardReviewed     Code = "board.reviewed"
	BoardHeld         Code = "board.held"
	BoardOverdue      Code = "board.overdue"
	BoardNeeds        Code = "board.needs"
	BoardNeedsDropped Code = "board.needs_dropped"
	BoardNobody       Code = "board.nobody"
	BoardFull         Code = "board.full"
)

// Why an entry of a chat did or did not start a turn of an agent.
const (
	WhyExpired      Code = "why.expired"
	WhyNotice       Code = "why.notice"
	WhyEntry        Code = "why.entry"
	WhyAgentWrote   Code = "why.agent_wrote"
	WhyPersonWrote  Code = "why.person_wrote"
	WhyMentions     Code = "why.mentions"
	WhyMentionsPool Code = "why.mentions_pool"
	WhyBegun        Code = "why.begun"
	WhyWaiting      Code = "why.waiting"
	WhyJustEnded    Code = "why.just_ended"
	WhyRunning      Code = "why.running"
	WhyCovered      Code = "why.covered"
	WhyRetried      Code = "why.retried"
	WhyAnswered     Code = "why.answered"
	WhyDone         Code = "why.done"
	WhySilent       Code = "why.silent"
	WhyFailed       Code = "why.failed"
	WhyRetry        Code = "why.retry"
	WhyTogether     Code = "why.together"
	WhySpent        Code = "why.spent"
	WhyDropped      Code = "why.dropped"
	WhyCancelled    Code = "why.cancelled"
	WhyChain        Code = "why.chain"
	WhyNoMessage    Code = "why.no_message"
	WhyNotMentioned Code = "why.not_mentioned"
	WhyUnmentioned  Code = "why.unmentioned"
	WhyOwn          Code = "why.own"
	WhyMidway       Code = "why.midway"
	WhyYounger      Code = "why.younger"
	WhyImported     Code = "why.imported"
	WhyAllByAgent   Code = "why.all_by_agent"
	WhyAllLater     Code = "why.all_later"
	WhyAllOthers    Code = "why.all_others"
	WhyHidden       Code = "why.hidden"
	WhyMisspelt     Code = "why.misspelt"
	WhyNotWarned    Code = "why.not_warned"
)

// The hub and the bus.
const (
	HubStuck      Code = "hub.stuck"
	HubSilent     Code = "hub.silent"
	HubLost       Code = "hub.lost"
	HubNone       Code = "hub.none"
	HubNotByTool  Code = "hub.not_by_tool"
	HubAgentsAway Code = "hub.agents_away"
	HubKept       Code = "hub.kept"
	BusSilent     Code = "bus.silent"
	StoreAway     Code = "store.away"
	AgentNotUp    Code = "agent.not_up"
)

// Word returns what stands behind the dot.
func (c Code) Word() string {
	_, word, _ := strings.Cut(string(c), ".")
	return word
}

// Meaning is a code with what a [Status] of it holds.
type Meaning struct {
	Code Code
	Args []string // names of the arguments; each may be absent
	// Parts says that the status has others within it.
	Parts       bool
	NeedsPerson bool
	Help        []Remedy
}

// Remedy is a verb that helps against a status.
type Remedy struct {
	Verb string
	Arg  string // the argument that names the object; empty: the only one of its kind
	How  string // see [Help.How]
	// Alone says that it helps without its object, too.
	Alone bool
}

// Meanings returns every code, by what it is about.
func Meanings() []Meaning {
	return slices.Concat(workMeanings(), agentMeanings(), waitingMeanings(), boardMeanings(), whyMeanings(), hubMeanings())
}

// workMeanings returns the codes of agents at work.
func workMeanings() []Meaning {
	up := Remedy{Verb: "host.up"}
	return []Meaning{
		is(WorkModel, "call"),
		is(WorkTool, "tool seconds"),
		is(WorkRequest, "kind seconds"),
		is(WorkStopping, ""),
		is(WorkMidway, ""),
		is(WorkOrphaned, ""),
		is(WorkAbandoned, "agent").person(up),
	}
}

// agentMeanings returns the codes of agents and pools.
func agentMeanings() []Meaning {
	start := Remedy{Verb: "agent.start", Arg: "agent"}
	run := Remedy{Verb: "agent.run", Arg: "agent"}
	end := Remedy{Verb: "agent.stop", Arg: "agent", How: "now"}
	up := Remedy{Verb: "host.up"}
	return []Meaning{
		is(AgentNext, "agent"),
		is(AgentStarting, "agent"),
		is(AgentOnDemand, "agent"),
		is(AgentStopped, "agent").person(start),
		is(AgentFailed, "agent reason").person(),
		is(AgentLimit, "agent limit"),
		is(AgentInUse, "agent pid"),
		is(AgentAbsent, "agent").person(run),
		is(AgentNoHub, "agent").person(up),
		is(AgentHostDown, "agent host at why").person(),
		is(AgentHostDrained, "agent host").person(Remedy{Verb: "host.resume", Arg: "host"}),
		is(AgentHostAsleep, "agent host"),
		is(AgentHostStarting, "agent host at"),
		is(AgentHostFailed, "agent host reason").person(Remedy{Verb: "host.show", Arg: "host"}),
		is(AgentHostStopped, "agent host").person(Remedy{Verb: "host.start", Arg: "host"}),
		is(AgentNoHost, "agent hosts host").person(Remedy{Verb: "host.list"}),
		is(AgentNowhere, "agent").person(),
		is(AgentStuck, "agent pid").person(end),
		is(AgentSilent, "agent seconds"),
		is(AgentEnded, "agent"),
		is(AgentReports, "agent reason"),
		is(AgentNotUp, "agent reason"),
		is(AgentLastFailed, "agent at reason"),
		is(AgentWorkStopped, "agent waiting").person(start),
		is(AgentWorkAbsent, "agent waiting").person(run),
		is(PoolMembers, "members list"),
		is(PoolFailed, "agent waiting").person(),
		is(PoolNobody, "agent").parts().person(),
	}
}

// waitingMeanings returns the codes of work that waits, and of what became of it.
func waitingMeanings() []Meaning {
	cancel := Remedy{Verb: "request.cancel", Arg: "request"}
	again := Remedy{Verb: "request.retry", Arg: "request"}
	retry := Remedy{Verb: "conversation.retry", Arg: "chat"}
	resume := Remedy{Verb: "conversation.resume", Arg: "chat"}
	goOn := Remedy{Verb: "conversation.continue", Arg: "chat"}
	approve := Remedy{Verb: "approval.answer", Arg: "approval", Alone: true}
	resumeAl := Remedy{Verb: "home.resume"}
	budgets := Remedy{Verb: "budget.list"}
	return []Meaning{
		is(WaitingPausedAll, "").person(resumeAl),
		is(WaitingPaused, "chat owners").person(resume),
		is(WaitingTurn, "agent request"),
		is(WaitingBusy, "agent chat"),
		is(WaitingFirst, "agent kind chat"),
		is(WaitingMember, "agent"),
		is(BudgetFull, "agent"),
		is(WaitingBudget, "").helped(budgets),
		is(WaitingChild, "request"),
		is(WaitingAgents, "").parts(),
		is(WaitingAgent, "agent seconds").parts(),
		is(WaitingApproval, "agent approval").person(approve),
		is(WaitingProvider, "request").helped(again),
		is(ProviderFails, "agent"),
		is(WaitingNotice, "notice"),
		is(WaitingLimit, "notice").person(),
		is(WaitingBoard, ""),
		is(WaitingPause, ""),
		is(WaitingOther, "reason"),
		is(WaitingPerson, "request").parts().person(cancel),
		is(WaitingBackup, "agent by").parts(),
		is(WaitingUntilThen, "").parts().person(),
		is(TurnFailed, "chat agent").person(retry),
		is(TurnInterrupted, "chat agent").person(retry),
		is(TurnDead, "chat agent").person(retry),
		is(TurnEnded, "chat agent reason").person(retry),
		is(DroppedLimit, "chat").helped(goOn),
		is(DroppedStopped, ""),
		is(DroppedExpired, ""),
		is(DroppedCancelled, ""),
		is(DroppedOther, "reason"),
	}
}

// boardMeanings returns the codes of tasks of the board.
func boardMeanings() []Meaning {
	edit := Remedy{Verb: "board.edit", Arg: "task"}
	return []Meaning{
		is(BoardEnded, "state"),
		is(BoardClaimed, "agent request"),
		is(BoardReview, "agent offer"),
		is(BoardReviewed, "agent request"),
		is(BoardHeld, "reason task").person(Remedy{Verb: "board.release", Arg: "task"}),
		is(BoardOverdue, "task").person(edit),
		is(BoardNeeds, "list"),
		is(BoardNeedsDropped, "list task").person(edit),
		is(BoardNobody, "capability agent").person(),
		is(BoardFull, "agent"),
	}
}

// whyMeanings returns the codes that explain an entry.
func whyMeanings() []Meaning {
	retry := Remedy{Verb: "conversation.retry", Arg: "chat"}
	return []Meaning{
		is(WhyExpired, "seq"),
		is(WhyNotice, "seq time"),
		is(WhyEntry, "seq time type from"),
		is(WhyAgentWrote, "seq time agent"),
		is(WhyPersonWrote, "seq time from"),
		is(WhyMentions, "agent"),
		is(WhyMentionsPool, "agent pool"),
		is(WhyBegun, "agent"),
		is(WhyWaiting, "").parts(),
		is(WhyJustEnded, "agent request"),
		is(WhyRunning, "agent request time").parts(),
		is(WhyCovered, "agent request").parts(),
		is(WhyRetried, "request"),
		is(WhyAnswered, "agent answer request time"),
		is(WhyDone, "agent"),
		is(WhySilent, "agent request state time"),
		is(WhyFailed, "agent request state time reason"),
		is(WhyRetry, "chat agent").helped(retry),
		is(WhyTogether, "list"),
		is(WhySpent, "tokens cost"),
		is(WhyDropped, "").parts(),
		is(WhyCancelled, "request reason"),
		is(WhyChain, "time turns tokens limit depth"),
		is(WhyNoMessage, ""),
		is(WhyNotMentioned, "agent list person"),
		is(WhyUnmentioned, "agent"),
		is(WhyOwn, "agent"),
		is(WhyMidway, "agent request"),
		is(WhyYounger, "agent time"),
		is(WhyImported, "agent"),
		is(WhyAllByAgent, ""),
		is(WhyAllLater, "agent"),
		is(WhyAllOthers, "agent"),
		is(WhyHidden, "name where"),
		is(WhyMisspelt, "name agent"),
		is(WhyNotWarned, ""),
	}
}

// hubMeanings returns the codes of the hub and the bus.
func hubMeanings() []Meaning {
	up := Remedy{Verb: "host.up"}
	down := Remedy{Verb: "host.down", How: "now"}
	return []Meaning{
		is(HubStuck, "pid").person(down),
		is(HubSilent, "pid reason").person(down),
		is(HubLost, "pid reason").person(),
		is(HubNone, "").person(up),
		is(HubNotByTool, "").person(up),
		is(HubAgentsAway, "").person(up),
		is(HubKept, "").parts(),
		is(BusSilent, "reason"),
		is(StoreAway, ""),
	}
}

func is(code Code, args string) Meaning { return Meaning{Code: code, Args: strings.Fields(args)} }

func (m Meaning) parts() Meaning { m.Parts = true; return m }

func (m Meaning) helped(by ...Remedy) Meaning { m.Help = by; return m }

// person says that a person has to do something first.
func (m Meaning) person(by ...Remedy) Meaning { m.NeedsPerson = true; return m.helped(by...) }

// MeaningOf returns what a code means, and false if it is not in the list.
func MeaningOf(code Code) (Meaning, bool) {
	list := Meanings()
	i := slices.IndexFunc(list, func(m Meaning) bool { return m.Code == code })
	if i < 0 {
		return Meaning{}, false
	}
	return list[i], true
}

// Stands returns the status of a code, with what helps. The arguments are names and
// values in turn; those without a value are left out.
func Stands(code Code, args ...string) Status {
	s := Status{Code: code}
	for i := 0; i+1 < len(args); i += 2 {
		if args[i+1] != "" {
			if s.Args == nil {
				s.Args = map[string]string{}
			}
			s.Args[args[i]] = args[i+1]
		}
	}
	m, _ := MeaningOf(code)
	s.NeedsPerson = m.NeedsPerson
	for _, r := range m.Help {
		object, _, _ := strings.Cut(r.Verb, ".")
		if r.Arg == "" || r.Alone || s.Args[r.Arg] != "" {
			s.Help = append(s.Help, Help{Verb: r.Verb, Object: Object{Kind: ObjectKind(object), ID: s.Args[r.Arg]}, How: r.How})
		}
	}
	return s
}

// With returns the status with others within it.
func (s Status) With(parts ...Status) Status {
	s.Parts = append(slices.Clone(s.Parts), parts...)
	return s
}

// At returns the status with the time at which it changes by itself.
func (s Status) At(until time.Time) Status {
	s.Until = until
	return s
}

// IsClear reports whether nothing is in the way.
func (s Status) IsClear() bool { return s.Code == "" }

// Equal reports whether two statuses say the same.
func (s Status) Equal(o Status) bool {
	return s.Code == o.Code && maps.Equal(s.Args, o.Args) && s.Until.Equal(o.Until) && slices.EqualFunc(s.Parts, o.Parts, Status.Equal)
}
