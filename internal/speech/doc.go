// Package speech writes what several speakers say as one text in which none of
// them can pass for another: the first line of each is headed by whoever writes
// the text, and all further lines are set apart from any heading.
//
// It knows neither entries nor models. Read first: [IndentRest], [QuoteLines], [HeadingName].
package speech
