// Package socket makes and reaches Unix sockets, also at paths that are longer than the
// address of a socket may be.
//
// Read first: [Listen], [Dial], [Peer].
package socket
