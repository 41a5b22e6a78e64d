// Package trace is where time and money went: fika trace for one piece of work, fika
// profile for an agent, fika usage for a home, fika top for what is at work.
//
// Read first: [NewTrace], [NewProfile], [NewUsage].
package trace
