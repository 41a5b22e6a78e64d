// Package mcp speaks to servers of the Model Context Protocol, both programs that it
// starts and remote ones, and turns their tools into tools of fika.
//
// It is not a policy: which servers there are, who may use them and how they are confined
// comes in as values. It serves nothing itself.
//
// Read first: [Server], [Pin], [Pool], [Pool.Pinned]. A server is asked once to describe
// its tools, and the answer is kept ([Pins]). A model is told what was kept, and a tool
// whose description has changed since is not called. A server is started at the first
// call of one of its tools and lives in its [Pool], which ends it after some idle time and
// whose Close ends all servers; they also die with this process.
//
// How it fails: an error of a server is a result that the model reads, with the path of
// the server's log; a server that ends in the middle of a call is restarted by the next
// one. Asking for the tools fails with kind Failed, Limit when it took too long, Denied
// when the server cannot be confined, or Invalid for a bad answer.
package mcp
