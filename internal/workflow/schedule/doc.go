// Package schedule says when the times come that a person wrote down as a cron
// expression: text goes in, times come out. It knows nothing of clocks, files or
// work.
//
// The five fields are those that every Unix machine knows. The package's own rule is
// for the two days a year on which clocks are changed: a time that the clock skips
// comes at the moment of the jump, and a time that it shows twice comes once, so that
// a nightly job runs once every night.
//
// Read first: [Parse] (text to [Times], or everything that is wrong with it),
// [Times.Next] and [Times.Missed].
package schedule
