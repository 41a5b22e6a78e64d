// Package schedule says when something comes that a person wrote down as a cron
// expression: text goes in, times come out. It knows no clock, no files and no
// work.
//
// The five fields are those that every Unix machine knows. What is its own is
// what happens on the two days of a year on which clocks are changed: a time
// that the clock skips comes at the moment of the jump, and one that it shows
// twice comes once, so that a job of the night runs once in every night.
//
// Read first: [Parse] (text to [Times], or everything that is wrong with it),
// [Times.Next] and [Times.Missed].
package schedule
