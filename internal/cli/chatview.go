package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/store"
	"fika/internal/term"
)

// viewOptions are the flags of chat view.
type viewOptions struct {
	*env
	limit  int
	since  string
	all    bool
	json   bool
	follow bool
}

func newChatView(e *env) *cobra.Command {
	o := &viewOptions{env: e}
	c := &cobra.Command{
		Use: "view CHAT", Short: "show what was said",
		Long: `Shows messages and notices (--all adds tool calls and results). On a terminal a
readable page; piped, one entry a line: seq|timestamp|from|content, with
newlines, carriage returns, | and \ in any field escaped by a backslash.

--since takes a seq or an id and shows what came after; --limit counts the rows
that are shown (with --since the first N after it, else the last N), so that
--since LAST --limit 100 pages through everything once.`,
		Example: "  fika chat view design --limit 20\n  fika chat view design --since 42 --json\n  fika chat view design | awk -F'|' '{print $3}' | sort | uniq -c",
		Args:    exactly(1, "the name of a chat"), ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	f := c.Flags()
	f.IntVar(&o.limit, "limit", 0, "show at most this many rows")
	f.StringVar(&o.since, "since", "", "show what came after this seq or id")
	f.BoolVar(&o.all, "all", false, "tool calls and results too")
	f.BoolVar(&o.json, "json", false, "JSON Lines")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on showing what arrives")
	return c
}

func (o *viewOptions) run(ctx context.Context, word string) error {
	if o.limit < 0 {
		return usageError("--limit is a number of rows, not %d", o.limit)
	}
	client, err := o.reader(ctx)
	if err != nil {
		return err
	}
	conv, err := findChat(ctx, client, word)
	if err != nil {
		return err
	}
	q, err := o.query(ctx, client, conv)
	if err != nil {
		return err
	}
	var live *liveChat
	if o.follow { // subscribed before the first read, so that nothing falls between
		if live, err = followChat(client, conv); err != nil {
			return err
		}
		defer live.Close()
	}
	show := o.printer()
	last, err := showEntries(ctx, client, q, show)
	if err != nil || !o.follow {
		return err
	}
	q.Since, q.Last, q.First = max(last, q.Since), 0, 0
	if last == 0 && q.Since == 0 {
		q.Since = conv.LastSeq
	}
	return live.run(ctx, q, show)
}

func (o *viewOptions) query(ctx context.Context, c *app.Client, conv fika.Conversation) (store.EntryQuery, error) {
	q := store.EntryQuery{Conversation: conv.ID, Types: shownTypes(o.all)}
	if o.since == "" {
		q.Last = o.limit
		return q, nil
	}
	q.First = o.limit
	if n, err := strconv.ParseInt(o.since, 10, 64); err == nil {
		if n < 0 {
			return q, usageError("--since is a seq or an id, not %q", o.since)
		}
		q.Since = n
		return q, nil
	}
	entry, err := c.Store.EntryByID(ctx, conv.ID, fika.EntryID(o.since))
	if fika.IsKind(err, fika.NotFound) {
		return q, fika.Errorf(fika.NotFound, "", "no entry %q in %q", o.since, conv.Name)
	}
	q.Since = entry.Seq
	return q, err
}

func shownTypes(all bool) []fika.EntryType {
	if all {
		return nil
	}
	return []fika.EntryType{fika.Message, fika.Notice, fika.Compaction}
}

func showEntries(ctx context.Context, c *app.Client, q store.EntryQuery, show func(fika.Entry) error) (last int64, err error) {
	entries, err := c.Store.Entries(ctx, q)
	if err != nil {
		return 0, err
	}
	for _, x := range entries {
		if err := show(x); err != nil {
			return last, err
		}
		last = x.Seq
	}
	return last, nil
}

// printer is how entries are written here: JSON Lines, a page, or lines.
func (o *viewOptions) printer() func(fika.Entry) error {
	switch {
	case o.json:
		enc := json.NewEncoder(o.Out)
		enc.SetEscapeHTML(false)
		return func(x fika.Entry) error { return enc.Encode(x) }
	case o.OutTTY:
		return func(x fika.Entry) error {
			_, err := io.WriteString(o.Out, pageEntry(o.OutStyle(), x))
			return err
		}
	default:
		return func(x fika.Entry) error {
			_, err := fmt.Fprintf(o.Out, "%d|%d|%s|%s\n", x.Seq, x.At.Unix(), escapeField(x.From), escapeField(x.Content))
			return err
		}
	}
}

// fieldEscaper keeps a field on one line and apart from its neighbours.
var fieldEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "|", `\|`)

func escapeField(s string) string { return fieldEscaper.Replace(s) }

// pageEntry is an entry for people.
func pageEntry(st term.Style, x fika.Entry) string {
	head := fmt.Sprintf("%s %s", st.Speaker(x.From, term.CleanLine(x.From)), st.Dim(fmt.Sprintf("#%d %s", x.Seq, x.At.Local().Format("15:04:05"))))
	switch x.Type {
	case fika.Notice:
		return st.Yellow("— "+term.CleanLine(x.Content)) + "\n\n"
	case fika.Compaction:
		return st.Dim("— cleared: agents no longer see what is above") + "\n\n"
	case fika.ToolCall:
		return st.Dim(fmt.Sprintf("%s calls %s %s", x.From, x.To, term.Truncate(term.CleanLine(x.Content), 200))) + "\n\n"
	case fika.ToolResult:
		return st.Dim(fmt.Sprintf("%s → %s", x.From, term.Truncate(term.CleanLine(x.Content), 200))) + "\n\n"
	}
	return head + "\n" + strings.TrimRight(term.Clean(x.Content), "\n") + "\n\n"
}

// liveChat waits for what arrives in a chat: the bus makes it quick, looking
// at the store now and then makes it certain.
type liveChat struct {
	client *app.Client
	sub    bus.Subscription
	rung   chan struct{} // capacity 1: look at the store
}

func followChat(c *app.Client, conv fika.Conversation) (*liveChat, error) {
	l := &liveChat{client: c, rung: make(chan struct{}, 1)}
	var err error
	l.sub, err = c.Bus.Subscribe(c.Subjects.Chat(conv.Name), func(bus.Msg) {
		select {
		case l.rung <- struct{}{}:
		default:
		}
	})
	return l, err
}

// Close ends the subscription.
func (l *liveChat) Close() error { return l.sub.Close() }

// run shows what the query gives, again and again, until ctx ends.
func (l *liveChat) run(ctx context.Context, q store.EntryQuery, show func(fika.Entry) error) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		last, err := showEntries(ctx, l.client, q, show)
		if ctx.Err() != nil {
			return nil // Ctrl-C ends the watching, which is no failure
		}
		if err != nil {
			return err
		}
		q.Since = max(q.Since, last)
		select {
		case <-ctx.Done():
			return nil
		case <-l.rung:
		case <-look.C:
		}
	}
}
