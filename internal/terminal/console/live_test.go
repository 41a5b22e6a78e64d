package console

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// talk lets three speakers stream at once, as fast as the terminal takes it,
// until the function it returns is called: each has unfinished rows in the
// block and prints a line when it is finished.
func talk(c *Console) (hush func()) {
	var over atomic.Bool
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := [3]string{}
	said := [3]int{}
	rows := func(width, _ int) (rows []string) {
		for i, line := range open {
			rows = append(rows, fmt.Sprintf("%d… %s", i, line), strings.Repeat("─", width))
		}
		return rows
	}
	for i := range open {
		wg.Go(func() {
			for !over.Load() {
				line := fmt.Sprintf("speaker %d line %d │ 日本語の表 │ 👩‍👩‍👧 ✅ │ ```go fence end", i, said[i])
				for at := range line {
					if at%9 == 0 {
						mu.Lock()
						open[i] = line[:at]
						c.Show("", func(w, h int) []string { return rows(w, h) }, "")
						mu.Unlock()
					}
				}
				mu.Lock()
				open[i] = ""
				said[i]++
				c.Show(line, func(w, h int) []string { return rows(w, h) }, "")
				mu.Unlock()
			}
		})
	}
	return func() {
		over.Store(true)
		wg.Wait()
		c.Show(fmt.Sprintf("said %d %d %d", said[0], said[1], said[2]), nil, "")
	}
}

// TestLiveRowsUnderResize streams from three speakers into a terminal that is
// resized again and again while a line is typed.
func TestLiveRowsUnderResize(t *testing.T) {
	term := inTmux(t, "", "")
	term.sees("ready\nyou>")
	term.order("talk")
	typed := "I type 日本語 while they talk and the window changes"
	runes := []rune(typed)
	sizes := [][2]int{{80, 24}, {40, 10}, {200, 50}, {40, 10}, {80, 24}, {23, 7}, {61, 33}}
	const height = 7 // of the block: six live rows and the line being typed
	const resizes = 10
	for i := range resizes {
		size := sizes[i%len(sizes)]
		term.run("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
		term.text(string(runes[i*len(runes)/resizes : (i+1)*len(runes)/resizes]))
		before := lastSaid(term)
		term.until("they go on", func() bool { return lastSaid(term) > before+3 })
	}
	term.run("resize-window", "-x", "200", "-y", "50")
	term.order("hush")
	term.until("they are silent", func() bool { return strings.Contains(term.screen(), "\nsaid ") })
	term.sees("\nyou> " + typed)
	all := term.all()
	var n [3]int
	sum := all[strings.LastIndex(all, "\nsaid ")+1:]
	if _, err := fmt.Sscanf(sum, "said %d %d %d", &n[0], &n[1], &n[2]); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^speaker \d line \d+ .*fence end$`).FindAllString(all, -1) {
		seen[strings.Join(strings.Fields(m)[:4], " ")]++
	}
	lost, twice := 0, 0
	for i := range n {
		for l := range n[i] {
			switch seen[fmt.Sprintf("speaker %d line %d", i, l)] {
			case 0:
				lost++
			case 1:
			default:
				twice++
			}
		}
	}
	t.Logf("%v lines, %d lost, %d twice, %d ghost rows", n, lost, twice, ghosts(all))
	if behind := ghosts(all); behind > resizes*height {
		t.Errorf("%d rows of the block stayed behind", behind)
	}
	if lost > 0 || twice > 0 {
		t.Errorf("%d lines lost, %d seen twice", lost, twice)
	}
}

// ghosts counts the rows of blocks that are no more and still to be seen.
func ghosts(all string) int {
	return max(0, strings.Count(all, "… speaker")-3) + max(0, strings.Count(all, "─\n")-3) + max(0, strings.Count(all, "you>")-1)
}

// lastSaid is the number of the newest line of speaker 0 among those that are
// on the screen or have just scrolled away: a small screen may be all block.
func lastSaid(term *terminal) int {
	last := -1
	recent := term.run("capture-pane", "-p", "-S", "-100")
	for _, m := range regexp.MustCompile(`(?m)^speaker 0 line (\d+)`).FindAllStringSubmatch(recent, -1) {
		last, _ = strconv.Atoi(m[1])
	}
	return last
}
