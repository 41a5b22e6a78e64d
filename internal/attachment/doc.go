// Package attachment keeps the pictures that belong to messages, and reads the
// files that a person names to go with a prompt.
//
// A picture is stored once, under the hash of its bytes, and brought to the disk
// before any row names it; it is never changed. What nobody names any more stays.
// The package decides nothing about who may name a file: it reads regular files,
// within bounds, and says what is wrong with others.
//
// Read first: [Store.Put], [Store.Read], [Load].
//
// How it fails: NotFound for what is not there, Invalid for what is no picture
// or text of a size that can be sent, Storage for a disk that refuses, and for a
// file whose bytes are not those of its name.
package attachment
