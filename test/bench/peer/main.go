// Command peer is the floor for the bus: a process with a NATS connection and nothing
// else. It prints "ready", then for each message on its subject the time of its
// arrival, in nanoseconds.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: peer URL SUBJECT"))
	}
	conn, err := nats.Connect(os.Args[1], nats.UserInfo(os.Getenv("PEER_USER"), os.Getenv("PEER_PASSWORD")))
	if err != nil {
		fail(err)
	}
	out := bufio.NewWriter(os.Stdout)
	arrived := make(chan int64, 64)
	if _, err := conn.Subscribe(os.Args[2], func(*nats.Msg) { arrived <- time.Now().UnixNano() }); err != nil {
		fail(err)
	}
	if err := conn.Flush(); err != nil {
		fail(err)
	}
	fmt.Fprintln(out, "ready")
	for out.Flush() == nil {
		fmt.Fprintln(out, <-arrived)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "peer:", err)
	os.Exit(1)
}
