// Package spelling measures how far two words are from each other, and finds
// the one that was probably meant: "did you mean …?" of commands, settings,
// tools and names.
//
// It knows words only. Who asks decides how far is too far: a misspelt setting
// is certainly wrong, a misspelt command may have been meant as a prompt.
//
// Read first: [Nearest], for which a typo has to explain the difference, and
// [Distance], for those who judge by themselves.
package spelling
