package bustest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// LastingPort gives a free port of loopback that nobody is given by chance while
// its server is away: it is below those that systems hand out.
func LastingPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
