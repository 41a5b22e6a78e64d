// Command pack writes the parts of a release that have to be the same to the byte
// wherever they are built: archives, and the list of what a binary is made of.
//
//	go run ./internal/dev/pack archive FILE.tar.gz PREFIX FOLDER   # FOLDER's files, below PREFIX
//	go run ./internal/dev/pack sbom BINARY VERSION >FILE.cdx.json  # CycloneDX, from the build info
//
// Times in both are those of SOURCE_DATE_EPOCH, in seconds. It runs nothing and reads
// nothing but what it is given; scripts/dist.sh does the rest.
//
// Read first: archive in archive.go, billOf in sbom.go.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := pack(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack does what the arguments say. It prints a list to out; an archive goes into its file.
func pack(args []string, epoch string, out io.Writer) error {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be a number of seconds, not %q", epoch)
	}
	at := time.Unix(seconds, 0).UTC()
	switch {
	case len(args) == 4 && args[0] == "archive":
		return archive(args[1], args[2], args[3], at)
	case len(args) == 3 && args[0] == "sbom":
		return printBill(out, args[1], args[2], at)
	}
	return fmt.Errorf("usage: pack archive FILE PREFIX FOLDER, or pack sbom BINARY VERSION")
}
