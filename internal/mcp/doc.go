// Package mcp speaks to servers of the Model Context Protocol: programs that are
// started here, and remote ones. It makes tools of theirs.
//
// It is no policy: which servers there are, who may use them and how they are
// confined comes in as values. It serves nothing itself.
//
// Read first: [Server], [Pin], [Pool], [Pool.Tools]. What a server says of its
// tools is asked once and kept ([Pins]); a model is told what was kept, and a
// tool that is no longer what was kept is not called. A server is started at the
// first call of one of its tools and lives in its [Pool], whose Close ends all of
// them; they also die with this process.
//
// How it fails: what goes wrong with a server is a result that the model reads,
// with the place of its log; a server that ends in the middle of a call is started
// again by the next one. Asking for its tools fails with kind Failed, Limit when
// it took too long, Denied when it cannot be confined, or Invalid for what it said.
package mcp
