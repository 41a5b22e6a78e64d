package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// OwnerName returns the signature of this process in a lease: pid@host.
func OwnerName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

// OwnsLease reports whether owner, as [OwnerName] writes it, is the signature of the
// process with this pid. The host is not compared, because a home is on one machine.
func OwnsLease(owner string, pid int) bool {
	number, _, ok := strings.Cut(owner, "@")
	signed, err := strconv.Atoi(number)
	return ok && err == nil && pid > 0 && signed == pid
}
