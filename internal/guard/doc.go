// Package guard says what a tool may touch. So far that is files: [Paths] knows
// the folders that no tool may see (the homes of fika, the secrets of people)
// and the files that no tool may change, because something else obeys them
// (hooks, settings of editors and shells, instructions of agents).
//
// It is pure: it looks at no file, follows no link and knows no tool. Whoever
// asks brings the real path of what it has opened, so that no link, no ".." and
// no race stands between the answer and the file. Names are compared without
// regard to case, because some file systems do so.
//
// It is no sandbox: what a shell command touches is not asked for here.
//
// Read first: [Paths], its methods Look and Change. Errors are of kind Denied
// and say what to do instead.
package guard
