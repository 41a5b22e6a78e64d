// Package words turns the codes of package api into English, and what helps into commands
// of the command line. It is the one place where the words for a code stand: the command
// line, the session and the console show them, processes write them to where only text
// goes. It decides nothing and reads nothing.
//
// A phrase is a text with arguments in braces. A part in brackets is left out if one of
// its arguments is missing, and of the alternatives that a bar separates, the first counts
// that has all its arguments. Besides the arguments of the code there are:
//
//	{until} {in}   when it changes by itself, as time of day and from now
//	{parts}        the statuses within it, between semicolons
//	{each}         the same, between commas
//	{briefly}      the same, where the agent's name precedes it
//	{help}         the command that helps
//
// Among the arguments, {seconds} is a number of seconds, {at} and {time} are times in RFC
// 3339, shown as how long ago and as they are; {kind} is a kind of request, {where} what
// hides a name.
//
// Read first: [Say], [Brief], [Command], [Phrases].
package words
