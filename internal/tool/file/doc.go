// Package file has the tools read, list, edit and create. They see the
// workspace of the call and nothing else: every access goes through an
// os.Root, so neither "..", an absolute path, a symbolic link nor a race
// between check and use leads out of it.
//
// It is not a file system: no moving, no deleting, no permissions; that is
// what bash is for. read and list are pure. edit and create are verifiable:
// they replace a file as a whole (temporary file, fsync, rename), and Hash
// tells the SHA-256 of what they would change, or "absent".
//
// Read first: [Tools], [Options] and the type place, which is a path inside a
// workspace. A temporary file begins with ".fika-" and is named after its
// step: a repeated step, or the Hash that recovery asks for, removes what an
// interrupted attempt left.
package file
