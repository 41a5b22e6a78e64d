// Package spelling measures the distance between two words, and finds the word that
// was probably meant: "did you mean …?" of commands, settings, tools and names.
//
// It only knows words. The caller decides how far is too far: a misspelt setting is
// certainly wrong, a misspelt command may have been meant as a prompt.
//
// Read first: [Nearest], which accepts only differences that a typo explains, and
// [Distance], for callers with their own threshold.
package spelling
