// Package retry holds what every model call gets besides the call itself, as
// decorators around [llm.Model]: [Retry], [IdleTimeout], [FillCost] and [CapLength].
//
// The order that makes sense, outermost first, is
//
//	Retry(Idle(Cap(Cost(model, prices), limits), 90*time.Second), policy)
//
// so that each attempt has its own idle timeout and its own limit.
//
// They start no goroutines; a timer of Idle ends with the call. Errors keep
// their *llm.ProviderError cause. What was shown before a retry is taken back
// by a Restarted event, so nobody reads two halves as one answer.
//
// Read first: [Retry], [Policy], [IdleTimeout].
package retry
