// Package speech combines the words of several speakers into one text in which none of
// them can pass for another: the author of the text heads the first line of each, and
// all further lines are set apart from any heading.
//
// It knows neither entries nor models. Read first: [IndentRest], [QuoteLines], [HeadingName].
package speech
