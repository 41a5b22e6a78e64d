// Package file holds the tools read, list, edit and create. They see the workspace of
// the call and nothing else: every access goes through an os.Root, so that no "..",
// absolute path, symbolic link or race between check and use leads out of it.
//
// It is not a file system: there is no moving, deleting or setting of permissions; that
// is what bash is for. read and list are pure. edit and create are verifiable: they
// replace a file as a whole (temporary file, fsync, rename), and Hash returns the
// SHA-256 of the file they would change, or "absent".
//
// Read first: [Tools], [Options] and the type place, which is a path inside a workspace.
// The name of a temporary file begins with ".fika-" and follows from its step: a
// repeated step, or the Hash that recovery asks for, removes what an interrupted attempt
// left.
package file
