package api

import (
	"strconv"

	"fika"
)

// Suspended is what is known of a request that its agent has put aside. Reason is always
// there; a zero value elsewhere means that it is not known.
type Suspended struct {
	Reason   fika.WaitReason
	Agent    fika.AgentName
	Request  fika.RequestID
	Child    fika.RequestID // one that it waits for
	Approval int64          // the number of the question to a person
}

// Status says what the request waits for.
func (s Suspended) Status() Status {
	switch s.Reason {
	case fika.WaitPause:
		return Stands(WaitingPause)
	case fika.WaitApproval:
		number := ""
		if s.Approval != 0 {
			number = strconv.FormatInt(s.Approval, 10)
		}
		return Stands(WaitingApproval, "agent", string(s.Agent), "approval", number)
	case fika.WaitChild:
		return Stands(WaitingChild, "request", string(s.Child))
	case fika.WaitLimit:
		return Stands(WaitingBudget)
	case fika.WaitProvider:
		return Stands(WaitingProvider, "request", string(s.Request))
	case fika.WaitBoard:
		return Stands(WaitingBoard)
	case fika.WaitBackup:
		return Stands(ProviderFails, "agent", string(s.Agent))
	}
	return Stands(WaitingOther, "reason", string(s.Reason))
}
