// Package trace holds the commands that show where time and money went: fika trace for
// one piece of work, fika profile for each agent, fika usage for a home, and fika top
// for the agents as they work.
//
// Read first: [NewTrace], [NewProfile], [NewUsage].
package trace
