package chat

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/cli/complete"
	"fika/internal/cli/page"
	"fika/internal/service"
)

// viewOptions are the flags of chat view.
type viewOptions struct {
	*command.Env
	limit  int
	since  string
	all    bool
	follow bool
	form   page.Options
}

func newView(e *command.Env) *cobra.Command {
	o := &viewOptions{Env: e}
	c := &cobra.Command{
		Use: "view CHAT", Short: "show the messages of a chat",
		Long: `Shows messages and notices (--all adds tool calls and results): on a terminal as
a readable page; piped, one entry per line: seq|timestamp|from|content, with
newlines, carriage returns, | and \ in any field escaped by a backslash.

--since takes a seq or an id and shows what came after it; --limit counts the
rows shown (with --since the first N after it, otherwise the last N), so that
--since LAST --limit 100 pages through everything once.

--tree puts answers below what they answer, indented by the length of the chain
(with --json as "level" and "parent"). -v adds what each turn used and cost,
after its last text, and the total; piped, as request|input|output|cost in
dollars at the end of each line; with --json, as "turn". A terminal also shows
who is at work, with --follow for as long as you watch.`,
		Example: "  fika chat view design --limit 20\n  fika chat view design --since 42 --json\n  fika chat view design | awk -F'|' '{print $3}' | sort | uniq -c\n  fika chat view design --tree -v",
		Args:    command.Exactly(1, "the name of a chat"), ValidArgsFunction: complete.FirstOnly(complete.ChatNames(e)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	f := c.Flags()
	command.LimitFlag(c, &o.limit, 0, "show at most this many rows")
	f.StringVar(&o.since, "since", "", "show only what came after this seq or id")
	f.BoolVar(&o.all, "all", false, "include tool calls and results")
	f.BoolVar(&o.form.JSON, "json", false, "print JSON Lines")
	f.BoolVarP(&o.follow, "follow", "f", false, "keep showing what arrives")
	f.BoolVar(&o.form.Tree, "tree", false, "show who answered whom")
	command.RawFlag(c, &o.form.Raw)
	f.BoolVarP(&o.form.Costs, "verbose", "v", false, "show what each turn used and cost")
	return c
}

func (o *viewOptions) run(ctx context.Context, word string) error {
	if o.limit < 0 {
		return command.UsageError("--limit is a number of rows, not %d", o.limit)
	}
	if o.form.Tree && o.follow {
		return command.UsageError("--tree shows what there is; it cannot --follow")
	}
	c, err := o.Service(ctx)
	if err != nil {
		return err
	}
	conv, err := c.Chats.Find(ctx, word)
	if err != nil {
		return err
	}
	q, err := o.query(ctx, c, conv)
	if err != nil {
		return err
	}
	p, err := page.NewChatPrinter(ctx, o.Env, o.form, c, conv)
	if err != nil {
		return err
	}
	if o.follow { // subscribed before the first read, so that nothing is missed
		return o.watch(ctx, c, conv, q, p)
	}
	if o.form.Tree {
		err = showTree(ctx, c, q, p)
	} else {
		_, err = c.Chats.Read(ctx, q, p.Entries(ctx))
	}
	if err != nil {
		return err
	}
	if o.OutTTY {
		t := c.Chats.Typing(conv, nil)
		t.Refresh(ctx)
		if line := t.Line(); line != "" {
			o.Say("%s", o.ErrStyle().Dim("— "+line))
		}
	}
	p.End()
	return nil
}

// watch shows the present entries, then those that arrive, with agents at work below.
func (o *viewOptions) watch(ctx context.Context, c *service.Service, conv fika.Conversation, q service.EntryQuery, p *page.Printer) error {
	live, err := c.Chats.Watch(conv)
	if err != nil {
		return err
	}
	defer live.Close()
	show := p.Entries(ctx)
	if o.OutTTY && o.ErrTTY {
		foot := &footer{w: o.Err, style: o.ErrStyle()}
		t := c.Chats.Typing(conv, foot.set)
		closeTyping, err := t.Listen()
		if err != nil {
			return err
		}
		defer foot.set("")
		defer closeTyping()
		entry := show
		show = func(x fika.Entry) error { return foot.above(func() error { return entry(x) }) }
		live.AfterLook, live.Renamed = t.Refresh, t.Renamed
	} else {
		unread, stop := context.WithCancel(ctx)
		defer stop()
		ctx = unread
		live.AfterLook = func(context.Context) { // a reader such as head -1 has what it wanted
			if o.ReaderGone() {
				stop()
			}
		}
	}
	last, err := c.Chats.Read(ctx, q, show)
	if err != nil {
		return err
	}
	q.Since, q.Last, q.First = max(last, q.Since), 0, 0
	if last == 0 && q.Since == 0 {
		q.Since = conv.LastSeq
	}
	err = live.Run(ctx, q, show)
	p.End()
	return err
}

func (o *viewOptions) query(ctx context.Context, c *service.Service, conv fika.Conversation) (service.EntryQuery, error) {
	q := service.EntryQuery{Conversation: conv.ID, Types: page.ShownTypes(o.all)}
	if o.since == "" {
		q.Last = o.limit
		return q, nil
	}
	q.First = o.limit
	if n, err := strconv.ParseInt(o.since, 10, 64); err == nil {
		if n < 0 {
			return q, command.UsageError("--since is a seq or an id, not %q", o.since)
		}
		q.Since = n
		return q, nil
	}
	var err error
	q.Since, err = c.Chats.FindEntry(ctx, conv, o.since)
	return q, err
}

// showTree shows who answered whom.
func showTree(ctx context.Context, c *service.Service, q service.EntryQuery, p *page.Printer) error {
	nodes, err := c.Chats.Tree(ctx, q)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := p.Node(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
