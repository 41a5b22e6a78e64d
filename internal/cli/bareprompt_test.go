package cli_test

import (
	"os"
	"strings"
	"testing"

	"fika/internal/cli"
	"fika/internal/system/term"
)

// inProcess runs one command line in this process, in a home of its own, with
// no terminal and nothing on stdin.
func inProcess(home string, args ...string) (status int, stdout, stderr string) {
	s, _, out, errs := term.TestStreams()
	status = cli.Main(args, s, func(name string) string { return map[string]string{"FIKA_HOME": home, "HOME": home}[name] })
	return status, out.String(), errs.String()
}

// TestA3WrongWords: a word that is no command is refused with both readings,
// and nothing is asked or made.
func TestA3WrongWords(t *testing.T) {
	home := t.TempDir()
	hints := map[string]string{
		"stop": "fika agent stop, fika chat stop", "pause": "fika chat pause", "ls": "fika context list", "exit": "fika down",
		"staus": "fika status", "history": "fika context log", "install": "fika plugin install", "resume": "fika chat resume",
		"models": "fika model", "ps": "fika agent list", "kill": "fika agent stop --now",
	}
	words := strings.Fields(`ls stop pause history tools exit setup list start resume quit login logs log show new create
		delete rm kill ps serve server daemon restart cancel retry wait send leave view install updates upgrade config-show models
		agents chats keys staus`)
	if len(words) != 40 {
		t.Fatalf("%d words", len(words))
	}
	for _, word := range words {
		status, out, errs := inProcess(home, word)
		if status != 2 || out != "" || !strings.Contains(errs, `no command "`+word+`"`) || !strings.Contains(errs, "(for a prompt: fika run "+word+")") {
			t.Errorf("fika %s: status %d, stdout %q, stderr %q", word, status, out, errs)
		}
		if hint := hints[word]; !strings.Contains(errs, hint) {
			t.Errorf("fika %s does not offer %q: %s", word, hint, errs)
		}
	}
	for _, args := range [][]string{{"-c", "notes", "stop"}, {"tell", "me", "more"}, {"stop", "it!"}, {"what", "is this?"}} {
		if status, _, errs := inProcess(home, args...); status != 2 || !strings.Contains(errs, "for a prompt: fika run") {
			t.Errorf("fika %q: status %d, %s", args, status, errs)
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("a refused word left %v (%v)", left, err)
	}
}

// TestA3Version: the flag that every program has.
func TestA3Version(t *testing.T) {
	home := t.TempDir()
	_, want, _ := inProcess(home, "version")
	status, got, errs := inProcess(home, "--version")
	if status != 0 || got != want || !strings.HasPrefix(got, "fika ") || errs != "" {
		t.Errorf("status %d, %q (version prints %q), stderr %q", status, got, want, errs)
	}
}
