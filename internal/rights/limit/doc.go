// Package limit is the policy of limits: when a chain of messages goes no further,
// when an agent has used up its hour, when two agents only repeat themselves, when a
// budget has no room, and what the notices say.
//
// It decides on facts that it is given and has no side effects. The store reads the
// facts and writes the verdict in the transaction to which the decision belongs. The
// id of a notice is made from what happened, not from the words of the notice, so
// that it is posted once, however it is worded later.
//
// Read first: [Limits], [Quota] (an agent's hour), [Reached] (a chain at its limit),
// [Budgets] and [OnlyRepeats] (echoes: texts are compared by the runs of three words
// that they have in common, so that order counts and a changed word here and there
// does not make a text new).
package limit
