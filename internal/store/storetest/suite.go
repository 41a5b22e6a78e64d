package storetest

import (
	"testing"

	"fika/internal/store"
)

// Open opens a new, empty store that takes its time from clock. The suite does not
// close it; Open may do so in t.Cleanup.
type Open func(t *testing.T, clock *Clock) *store.Store

// Test runs the whole suite against stores from open.
func Test(t *testing.T, open func(t *testing.T, clock *Clock) *store.Store) {
	for _, part := range []struct {
		name  string
		tests map[string]func(*world)
	}{
		{"agents", agentTests},
		{"leases", leaseTests},
		{"conversations", conversationTests},
		{"entries", entryTests},
		{"accept", acceptTests},
		{"claim", claimTests},
		{"chains", chainTests},
		{"limits", limitTests}, {"budgets", budgets},
		{"turn", turnTests},
		{"finish", finishTests},
		{"recover", recoverTests},
		{"inputs", inputTests}, {"modes", modeTests}, {"rewinds", rewindTests}, {"jobs", jobTests}, {"board", boardTests}, {"lists of tasks", boardListTests}, {"claiming tasks", boardClaimTests}, {"waiting for tasks", boardWaitTests}, {"offers", offerTests}, {"offers of several hosts", offerQueueTests}, {"offers of agents", agentOfferTests}, {"offers of tasks", taskOfferTests}, {"reviews of offers", reviewTests}, {"reviews of tasks", taskReviewTests},
		{"delegation", delegateTests},
		{"guests", guestTests},
		{"approvals", approvalTests}, {"executions", executionTests},
		{"rights", rightsTests},
		{"wishes", wishTests},
		{"brakes", brakeTests},
		{"holds", holdTests},
		{"schedules", scheduleTests},
		{"handing over", handOverTests},
		{"pools", poolTests},
		{"watch", watchTests},
		{"events", eventTests}, {"tokens", tokenTests}, {"figures", figureTests}, {"webhooks", webhookTests}, {"causes", causeTests},
		{"shared texts", textTests},
		{"races", raceTests},
	} {
		t.Run(part.name, func(t *testing.T) {
			for name, test := range part.tests {
				t.Run(name, func(t *testing.T) { test(newWorld(t, open)) })
			}
		})
	}
	t.Run("anything goes", func(t *testing.T) { testProperties(t, open) })
}
