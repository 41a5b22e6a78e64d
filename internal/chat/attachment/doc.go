// Package attachment keeps the pictures that belong to messages, and reads the
// files that a person names to go with a prompt.
//
// A picture is stored once, under the hash of its bytes, and is on disk before any row
// names it. It is never changed, and it stays when nothing refers to it any more. The
// package does not decide who may name a file: it reads regular files up to a size
// limit and says what is wrong with any other.
//
// Read first: [Store.Put], [Store.Read], [Load].
//
// How it fails: NotFound for a missing file, Invalid for a file that is neither a
// picture nor text of a size that can be sent, Storage for a failing disk and for a
// file whose bytes do not match the hash in its name.
package attachment
