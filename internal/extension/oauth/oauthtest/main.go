package oauthtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// Main is a program for scripts, and returns its exit status:
//
//	serve FILE [LIFE]  serves until it is ended, and writes its address to FILE; access
//	                   tokens live for LIFE
//	login CMD ARGS…    runs a command, and goes where the first line of its stdout says, as
//	                   a browser does; prints the rest of stdout
func Main(args []string, mcp http.Handler) int {
	var err error
	switch {
	case len(args) >= 2 && args[0] == "serve":
		err = serve(args[1:], mcp)
	case len(args) >= 2 && args[0] == "login":
		err = login(args[1], args[2:])
	default:
		err = fmt.Errorf("what is %q", args)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return 0
}

func serve(args []string, mcp http.Handler) error {
	s := New(mcp)
	defer s.Close()
	if len(args) > 1 {
		life, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		s.Behave(func(b *Behaviour) { b.Life = life })
	}
	draft := args[0] + ".new"
	if err := os.WriteFile(draft, []byte(s.MCP()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(draft, args[0]); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt)
	<-ended
	for _, f := range s.Faults() {
		fmt.Fprintln(os.Stderr, "fault:", f)
	}
	return os.WriteFile(filepath.Join(filepath.Dir(args[0]), "given"), []byte(strings.Join(s.Given(), "\n")+"\n"), 0o600)
}

func login(name string, args []string) error {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	if err != nil {
		return errors.Join(err, cmd.Wait())
	}
	if resp, err := http.Get(strings.TrimSpace(address)); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
	} else {
		fmt.Fprintln(os.Stderr, "browser:", resp.Status)
		_, _ = io.Copy(os.Stderr, resp.Body)
		_ = resp.Body.Close()
	}
	if _, err := io.Copy(os.Stdout, lines); err != nil {
		return err
	}
	return cmd.Wait()
}
