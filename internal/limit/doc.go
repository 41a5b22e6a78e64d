// Package limit is the policy of limits: when a chain of messages goes no
// further, when an agent has used up its hour, when two agents only repeat
// themselves, and what is said about it.
//
// It decides on facts that it is given and touches nothing. The store reads
// the facts and writes the verdict in the transaction that is decided about.
// A notice has an id made of what has happened, not of the sentence that tells
// it: it is posted once, however it is worded later.
//
// Read first: [Limits], [Quota] (an agent's hour), [Reached] (a chain at its
// limit) and [OnlyRepeats] (echoes: texts are compared by the runs of three words
// they have in common, so that order counts and a changed word here and there
// does not make a text new).
package limit
