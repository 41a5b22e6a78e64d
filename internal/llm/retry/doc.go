// Package retry holds the decorators that every model call gets around its [llm.Model]:
// [Retry], [IdleTimeout] and [FillCost].
//
// # The order, outermost first, should be
//
// FillCost(Retry(IdleTimeout(model, 90*time.Second), policy), cost)
//
// so that each attempt has its own idle timeout.
//
// They start no goroutines; the timer of IdleTimeout ends with the call. Errors keep
// their *llm.ProviderError cause. A Restarted event takes back what was shown before a
// retry, so that nobody reads two halves as one answer.
//
// Read first: [Retry], [Policy], [IdleTimeout].
package retry
