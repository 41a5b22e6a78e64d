package folder

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"fika"
)

// TestMain lets the test binary play other processes.
func TestMain(m *testing.M) {
	switch os.Getenv("FOLDER_TEST_ROLE") {
	case "":
		goleak.VerifyTestMain(m)
	case "race":
		os.Exit(raceRole())
	case "hold":
		os.Exit(holdRole(false))
	case "deaf":
		os.Exit(holdRole(true))
	case "mirror":
		os.Exit(mirrorRole())
	}
}

func helper(role string, f Folder, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FOLDER_TEST_ROLE="+role, "FOLDER_TEST_HOME="+f.Home.Root, "FOLDER_TEST_NAME="+string(f.Name))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

func roleFolder() Folder {
	return HomeAt(os.Getenv("FOLDER_TEST_HOME")).Folder(fika.AgentName(os.Getenv("FOLDER_TEST_NAME")))
}

// raceRole waits for the start line, takes the lock once and proves that it
// is alone. Exit 0: owned and was alone; 3: somebody else had it; 1: broken.
func raceRole() int {
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	f := roleFolder()
	for range 20 {
		l, err := TryLock(context.Background(), f, LockOptions{Kind: LockRun})
		if fika.IsKind(err, fika.Locked) {
			continue
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		file, err := os.OpenFile(f.path("owner"), os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, "two owners:", err)
			return 1
		}
		_ = file.Close()
		if st, err := f.Inspect(); err != nil || st.Info.PID != os.Getpid() || st.Status != LockActive {
			fmt.Fprintln(os.Stderr, "the lock names another:", st, err)
			return 1
		}
		if err := os.Remove(f.path("owner")); err != nil {
			fmt.Fprintln(os.Stderr, "two owners:", err)
			return 1
		}
		if os.Getenv("FOLDER_TEST_DIE") != "" && os.Getpid()%3 == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // leaves stale content
		}
		if err := l.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return 3
}

// holdRole takes the lock and holds it until it is ended; a deaf one does not
// hear SIGTERM.
func holdRole(deaf bool) int {
	if deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	l, err := TryLock(context.Background(), roleFolder(), LockOptions{Kind: LockAgent})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = l.Close()
	return 0
}
