package service_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Rows of many are read through what the principal may see, and what the service imports
// is told who asks: it looks at no environment, folder or ancestors for that.
func TestListsAreReadThroughSight(t *testing.T) {
	list := regexp.MustCompile(`store\.(ListRequests|ListConversations|Search|Runs|OpenApprovals|Activity|SpendingSince|UsageSince)\(`)
	ambient := regexp.MustCompile(`os\.(Getenv|Getwd|LookupEnv|Getppid)\(|process\.Ancestors\(|caller\.Find\(`)
	for _, pattern := range []string{"*.go", "../api/*.go", "../authority/*.go", "../app/speaker.go"} {
		files, err := filepath.Glob(pattern)
		check(t, err)
		for _, file := range files {
			if matched, _ := filepath.Match("*_test.go", filepath.Base(file)); matched {
				continue
			}
			data, err := os.ReadFile(file)
			check(t, err)
			if found := list.Find(data); found != nil && file != "sight.go" && filepath.Dir(file) == "." {
				t.Errorf("%s calls %s: only sight.go may, and leaves out what may not be seen", file, found)
			}
			if found := ambient.Find(data); found != nil {
				t.Errorf("%s calls %s: who asks is passed", file, found)
			}
		}
	}
}
