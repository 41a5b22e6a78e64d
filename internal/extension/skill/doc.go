// Package skill reads skills in the open Agent Skills format
// (https://agentskills.io/specification): folders with a SKILL.md, whose settings say
// what it is called and when to use it, and whose text tells an agent how to do
// something.
//
// It reads files and decides nothing about rights: who may use a skill, and which places
// are trusted, is for its callers to say. What it reads is written by anybody; it follows
// no link out of a skill's folder, and runs nothing.
//
// Read first: [Read] (one folder), [Find] (all of several places, the nearest first),
// [Listing] (what a prompt says of them). It owns nothing that has to be closed, and its
// values are not changed after they are made.
//
// How it fails: it does not. A skill that cannot be used is among [Found.Broken] with
// everything that is wrong with it; a deviation from the format that does no harm is
// among its Notes.
package skill
