// Package trace holds the commands that show where time and money went: fika request trace for
// one piece of work, fika usage profile for each agent, fika usage for a home, and fika usage top
// for the agents as they work.
//
// Read first: [NewTrace], [NewProfile], [NewUsage].
package trace
