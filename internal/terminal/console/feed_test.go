package console

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"fika/internal/system/term"
	visible "fika/internal/terminal/view"
)

// feedEnv makes the program under test a Console on which three speakers of a
// Feed talk.
const feedEnv = "FIKA_CONSOLE_FEED"

func feedChild(pipe string) int {
	streams := term.SystemStreams()
	c, err := New(Options{Streams: streams, Prompt: "you> "})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer c.Close()
	f := visible.NewFeed(c, visible.Options{Style: streams.OutStyle(), Width: c.Width, Names: true})
	f.Print("ready")
	go tell(f, pipe) // until the program ends
	for {
		line, err := c.ReadLine(context.Background())
		if err != nil {
			return 0
		}
		f.Print("got " + line)
	}
}

// tell lets three speakers go on for so many turns when it is ordered to.
func tell(f *visible.Feed, pipe string) {
	orders, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		return
	}
	said := [3]int{}
	turn := 0
	for s := bufio.NewScanner(orders); s.Scan(); {
		verb, rest, _ := strings.Cut(s.Text(), " ")
		n, _ := strconv.Atoi(rest)
		if verb != "say" {
			continue
		}
		var wg sync.WaitGroup
		for i := range said {
			first, id := said[i], fmt.Sprintf("%d-%d", i, turn)
			said[i] += 5 * n
			wg.Go(func() { speak(f, i, id, first, n) })
		}
		wg.Wait()
		turn++
		f.Print(fmt.Sprintf("round %d is over", turn))
	}
}

// speak is one turn: n times a paragraph, code, a table and a list, in small
// pieces. Each line that is to be found again holds a mark such as B12.
func speak(f *visible.Feed, speaker int, id string, first, n int) {
	name := []string{"ann", "bob", "cid"}[speaker]
	var b strings.Builder
	for i := range n {
		mark := func(k int) string { return fmt.Sprintf("%c%d.", 'A'+speaker, first+5*i+k) }
		fmt.Fprintf(&b, "%s A **paragraph** with 日本語 and 👩‍👩‍👧 that is long enough to be wrapped.\n\n```go\n%s code 👍🏽\n```\n\n", mark(0), mark(1))
		fmt.Fprintf(&b, "| a | b |\n|---|--:|\n| %s | 語 |\n\n- %s one\n- %s two ✅\n\n", mark(2), mark(3), mark(4))
	}
	for text := b.String(); text != ""; {
		cut := min(7, len(text))
		f.Text(id, name, text[:cut])
		text = text[cut:]
	}
	f.End(id, name, "")
}

// TestThreeSpeakersUnderResize has three agents answer at once while a line is
// typed and the window changes its size 20 times.
func TestThreeSpeakersUnderResize(t *testing.T) {
	t.Setenv(feedEnv, "1")
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	typed := "I type 日本語 while they talk"
	runes := []rune(typed)
	sizes := [][2]int{{80, 24}, {40, 10}, {200, 50}, {40, 10}, {80, 24}, {120, 12}}
	const rounds, each, height = 20, 4, 10
	twice := 0
	for i := range rounds {
		term.order(fmt.Sprintf("say %d", each))
		size := sizes[i%len(sizes)]
		term.run("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
		term.text(string(runes[i*len(runes)/rounds : (i+1)*len(runes)/rounds]))
		over := fmt.Sprintf("round %d is over", i+1)
		term.until("they have all spoken", func() bool { return strings.Contains(term.screen(), over) })
		lost, now := marks(term.all(), 3, 5*each*(i+1))
		if len(lost) > 0 {
			t.Fatalf("lost after the window became %v: %v", size, lost)
		}
		if now > twice+height {
			t.Errorf("%d rows of the block stayed behind when the window became %v", now-twice, size)
		}
		twice = now
	}
	term.run("resize-window", "-x", "100", "-y", "30")
	term.sees("\nyou> " + typed)
	term.keys("Enter")
	term.sees("got " + typed + "\nyou>")
	t.Logf("%d lines, %d rows stayed behind", 3*5*each*rounds, twice)
}

// marks says which marks are not to be seen, and how many are more than once:
// in rows that the window took away before they could be erased.
func marks(all string, speakers, n int) (lost []string, twice int) {
	seen := map[string]int{}
	for _, m := range regexp.MustCompile(`[ABC]\d+\.`).FindAllString(all, -1) {
		seen[m]++
	}
	for s := range speakers {
		for i := range n {
			mark := fmt.Sprintf("%c%d.", 'A'+s, i)
			switch c := seen[mark]; {
			case c == 0:
				lost = append(lost, mark)
			default:
				twice += c - 1
			}
		}
	}
	return lost, twice
}
