package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/app"
	"fika/internal/chat"
	"fika/internal/store"
	"fika/internal/term"
)

func newChat(e *env) *cobra.Command {
	c := group("chat", "let agents talk to each other, watch and steer them",
		"A chat is a conversation of many. Who is mentioned as @name answers, and whom\nan answer mentions answers in turn, with nobody watching. pause is the brake.\nNames may be patterns (* and ?) where several chats make sense.",
		"  fika chat new design\n  fika chat send design \"@arya sketch an API, then ask @gendry to attack it\"\n  fika chat view design --follow",
		newChatList(e), newChatNew(e), newChatCreate(e), newChatJoin(e), newChatSend(e), newChatView(e), newChatPause(e), newChatResume(e),
		newChatStop(e), newChatContinue(e), newChatClear(e), newChatDelete(e), newChatCleanup(e))
	list := newChatList(e)
	c.RunE = list.RunE // fika chat lists, as its help says
	return c
}

// findChat finds one chat by name; NotFound comes with the nearest name.
func findChat(ctx context.Context, c *app.Client, word string) (fika.Conversation, error) {
	name, err := fika.ParseChatName(word)
	if err != nil {
		return fika.Conversation{}, err
	}
	conv, err := c.Store.Conversation(ctx, name)
	if err == nil && conv.Kind == fika.Chat {
		return conv, nil
	}
	if err != nil && !fika.IsKind(err, fika.NotFound) {
		return conv, err
	}
	list, err := c.Store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Chat})
	if err != nil {
		return conv, err
	}
	var names []string
	for _, x := range list {
		names = append(names, string(x.Name))
	}
	hint := fmt.Sprintf(" (fika chat create %s makes it)", name)
	if near := nearest(string(name), names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return conv, fika.Errorf(fika.NotFound, "", "no chat named %q%s", name, hint)
}

// findChats finds the chats that names and patterns mean. wild reports
// whether a pattern was among them.
func findChats(ctx context.Context, c *app.Client, words []string) (found []fika.Conversation, wild bool, err error) {
	seen := map[fika.ConversationID]bool{}
	add := func(conv fika.Conversation) {
		if !seen[conv.ID] {
			seen[conv.ID] = true
			found = append(found, conv)
		}
	}
	for _, w := range words {
		if !strings.ContainsAny(w, "*?[") {
			conv, err := findChat(ctx, c, w)
			if err != nil {
				return nil, wild, err
			}
			add(conv)
			continue
		}
		wild = true
		list, err := c.Store.ListConversations(ctx, store.ConversationFilter{Kind: fika.Chat})
		if err != nil {
			return nil, wild, err
		}
		n := len(found)
		for _, x := range list {
			ok, err := path.Match(strings.ToLower(w), string(x.Name))
			if err != nil {
				return nil, wild, usageError("%q is not a pattern: use * and ?", w)
			}
			if ok {
				add(x.Conversation)
			}
		}
		if len(found) == n {
			return nil, wild, fika.Errorf(fika.NotFound, "", "no chat matches %q", w)
		}
	}
	return found, wild, nil
}

func newChatList(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list chats, newest activity first", Example: "  fika chat list", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			list, err := client.Store.ListConversations(cmd.Context(), store.ConversationFilter{Kind: fika.Chat})
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(e, list, toChatJSON)
			}
			if len(list) == 0 {
				e.say("no chats yet; fika chat new NAME makes one")
				return nil
			}
			return e.Table([]string{"CHAT", "MESSAGES", "UPDATED", "STATE", "PARTICIPANTS"}, rows(list, chatRow))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON Lines")
	return c
}

type chatJSON struct {
	Name         fika.ConversationName `json:"name"`
	Messages     int                   `json:"messages"`
	LastSeq      int64                 `json:"last_seq"`
	Paused       bool                  `json:"paused"`
	Pending      int                   `json:"pending"`
	Running      int                   `json:"running"`
	Participants []string              `json:"participants"`
	CreatedAt    time.Time             `json:"created_at"`
	UpdatedAt    time.Time             `json:"updated_at"`
}

func toChatJSON(c store.ConversationInfo) chatJSON {
	if c.Participants == nil {
		c.Participants = []string{}
	}
	return chatJSON{c.Name, c.Messages, c.LastSeq, c.Paused, c.Pending, c.Running, c.Participants, c.CreatedAt.UTC(), c.UpdatedAt.UTC()}
}

func chatRow(c store.ConversationInfo) []string {
	state := "quiet"
	switch {
	case c.Paused:
		state = fmt.Sprintf("paused, %d waiting", c.Pending)
	case c.Running > 0:
		state = fmt.Sprintf("%d working", c.Running)
	case c.Pending > 0:
		state = fmt.Sprintf("%d waiting", c.Pending)
	}
	return []string{string(c.Name), fmt.Sprint(c.Messages), term.Ago(c.UpdatedAt, time.Now()), state, strings.Join(c.Participants, " ")}
}

// makeChat creates a chat of the given name, or of a generated one.
func makeChat(ctx context.Context, c *app.Client, args []string) (fika.Conversation, error) {
	if len(args) == 1 {
		name, err := fika.ParseChatName(args[0])
		if err != nil {
			return fika.Conversation{}, err
		}
		conv, err := c.Store.CreateChat(ctx, name)
		if fika.IsKind(err, fika.Conflict) {
			return conv, fika.Errorf(fika.Conflict, "", "chat %q exists already; fika chat join %s enters it", name, name)
		}
		return conv, err
	}
	for range 100 {
		name := fika.ConversationName(adjectives[rand.IntN(len(adjectives))] + "-" + nouns[rand.IntN(len(nouns))])
		conv, err := c.Store.CreateChat(ctx, name)
		if !fika.IsKind(err, fika.Conflict) {
			return conv, err
		}
	}
	return c.Store.CreateChat(ctx, fika.ConversationName(fmt.Sprintf("chat-%d", time.Now().UnixMilli())))
}

var (
	adjectives = [...]string{"amber", "brisk", "calm", "clever", "crisp", "dapper", "eager", "fuzzy", "gentle", "golden", "hazel", "jolly", "keen", "lively", "mellow", "misty", "nimble", "quiet", "rosy", "sunny", "tidy", "velvet", "warm", "witty"}
	nouns      = [...]string{"almond", "birch", "bun", "cardamom", "cinnamon", "cup", "fern", "harbor", "kettle", "lantern", "maple", "meadow", "mug", "oat", "otter", "pebble", "roast", "saucer", "spoon", "teapot", "thimble", "waffle", "willow", "wren"}
)

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError("%s takes at most %s, but got %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

func newChatNew(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "new [NAME]", Short: "make a chat, and enter it on a terminal",
		Long:    "Makes a chat with the given or a generated name. On a terminal it is entered\n(fika chat join); elsewhere its name is printed.",
		Example: "  fika chat new design", Args: atMostOne("a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := makeChat(cmd.Context(), client, args)
			if err != nil {
				return err
			}
			if e.InTTY && e.OutTTY {
				return e.join(cmd.Context(), string(conv.Name), 25)
			}
			_, err = fmt.Fprintln(e.Out, conv.Name)
			return err
		},
	}
}

func newChatCreate(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "create [NAME]", Short: "make a chat and print its name", Example: "  fika chat create design", Args: atMostOne("a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			conv, err := makeChat(cmd.Context(), client, args)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(e.Out, conv.Name)
			return err
		},
	}
}

func newChatSend(e *env) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use: "send CHAT MESSAGE...", Short: "say something in a chat and return at once",
		Long: `Stores the message, tells the agents it mentions, prints its seq and returns.
The conversation goes on by itself: fika chat view --follow shows it.

` + exitHelp,
		Example: "  fika chat send design \"@arya sketch an API, then ask @gendry to attack it\"\n  git log -5 | fika chat send design \"@arya what changed?\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("%s takes a chat and a message; see --help", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := (&runOptions{env: e}).prompt(args[1:])
			if err != nil {
				return err
			}
			return e.chatSend(cmd.Context(), args[0], text, as)
		},
	}
	c.Flags().StringVar(&as, "as", "", "name to speak as (default: your username)")
	return c
}

func (e *env) chatSend(ctx context.Context, word, text, as string) error {
	client, err := e.client(ctx)
	if err != nil {
		return err
	}
	conv, err := findChat(ctx, client, word)
	if err != nil {
		return err
	}
	said, err := e.said(text, as)
	if err != nil {
		return err
	}
	sent, err := client.Chats().Send(ctx, conv, said)
	if err != nil {
		return err
	}
	_ = client.Bus.Flush(ctx)
	if _, err := fmt.Fprintln(e.Out, sent.Entry.Seq); err != nil {
		return err
	}
	e.explainSent(ctx, client, conv, sent)
	return nil
}

// said is a message of the person at this terminal.
func (e *env) said(text, as string) (chat.Said, error) {
	c, err := e.open().Config()
	if err != nil {
		return chat.Said{}, err
	}
	user := c.Username
	if u := e.getenv("FIKA_USERNAME"); u != "" {
		user = u
	}
	if user, err = fika.ParseUsername(user); err != nil {
		return chat.Said{}, err
	}
	s := chat.Said{From: user, Username: user, Text: text, TTL: c.Chat.MessageTTL}
	if as != "" {
		if s.From, err = fika.ParseUsername(as); err != nil {
			return s, err
		}
	}
	return s, nil
}

// explainSent says what a person might otherwise wonder about.
func (e *env) explainSent(ctx context.Context, c *app.Client, conv fika.Conversation, sent chat.Sent) {
	switch {
	case sent.Paused:
		e.say("%s", e.ErrStyle().Dim(fmt.Sprintf("chat %q is paused: nobody answers before fika chat resume", conv.Name)))
	case sent.Nobody:
		e.say("%s", e.ErrStyle().Dim("nobody is mentioned, so nobody answers"))
	}
	for _, n := range sent.Notified {
		if row, err := c.Store.Agent(ctx, n); err == nil {
			e.sayIfStopped(row)
		}
	}
}

func newChatPause(e *env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "pause CHAT...", Short: "the brake: running steps finish, nothing new begins",
		Long:    "Pauses chats, or everything with --all (new chats too). What is mentioned\nmeanwhile waits; fika chat resume goes on from there.",
		Example: "  fika chat pause design\n  fika chat pause --all",
		Args:    chatsOrAll(&all), ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error { return e.setPaused(cmd.Context(), args, all, true) },
	}
	c.Flags().BoolVar(&all, "all", false, "everything, new chats included")
	return c
}

func newChatResume(e *env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "resume CHAT...", Short: "go on after a pause", Example: "  fika chat resume design",
		Args: chatsOrAll(&all), ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error { return e.setPaused(cmd.Context(), args, all, false) },
	}
	c.Flags().BoolVar(&all, "all", false, "lift the brake on everything")
	return c
}

func chatsOrAll(all *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if (len(args) == 0) != *all {
			return usageError("%s takes the names of chats, or --all; see --help", cmd.CommandPath())
		}
		return nil
	}
}

func (e *env) setPaused(ctx context.Context, words []string, all, paused bool) error {
	open := e.reader
	if !paused {
		open = e.client
	}
	client, err := open(ctx)
	if err != nil {
		return err
	}
	verb := map[bool]string{true: "paused", false: "resumed"}[paused]
	if all {
		agents, err := client.Store.SetAllPaused(ctx, paused)
		if err != nil {
			return err
		}
		client.Ring(agents...)
		_ = client.Bus.Flush(ctx)
		e.say("everything is %s", verb)
		return nil
	}
	convs, _, err := findChats(ctx, client, words)
	if err != nil {
		return err
	}
	for _, conv := range convs {
		agents, err := client.Store.SetPaused(ctx, conv.ID, paused)
		if err != nil {
			return err
		}
		client.Ring(agents...)
		e.say("%s is %s", conv.Name, verb)
	}
	if everything, err := client.Store.AllPaused(ctx); err == nil && everything && !paused {
		e.warn("everything is still paused (fika chat resume --all)")
	}
	return client.Bus.Flush(ctx)
}

func newChatStop(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "stop CHAT...", Short: "end what goes on in a chat: drop what waits, cancel what runs", Example: "  fika chat stop design",
		Args: atLeastOneChat, ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			client, err := e.reader(ctx)
			if err != nil {
				return err
			}
			convs, _, err := findChats(ctx, client, args)
			if err != nil {
				return err
			}
			for _, conv := range convs {
				d, err := client.Store.StopChat(ctx, conv.ID)
				if err != nil {
					return err
				}
				for _, id := range d.Requests {
					if info, err := client.Store.Request(ctx, id); err == nil {
						client.Ring(info.AgentName)
					}
				}
				e.say("%s: %d waiting mentions dropped, %d running turns cancelled", conv.Name, d.Notifications, len(d.Requests))
			}
			return client.Bus.Flush(ctx)
		},
	}
}

func atLeastOneChat(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("%s takes the name of a chat; see --help", cmd.CommandPath())
	}
	return nil
}

func newChatContinue(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "continue CHAT", Short: "go on where a limit ended a chain", Example: "  fika chat continue design",
		Args: exactly(1, "the name of a chat"), ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			client, err := e.client(ctx)
			if err != nil {
				return err
			}
			conv, err := findChat(ctx, client, args[0])
			if err != nil {
				return err
			}
			agents, err := client.Store.ContinueChain(ctx, conv.ID)
			if fika.IsKind(err, fika.NotFound) {
				return fika.Errorf(fika.NotFound, "", "no limit has stopped anything in %q", conv.Name)
			}
			if err != nil {
				return err
			}
			client.Ring(agents...)
			e.say("%s goes on with %s", conv.Name, mentions(agents))
			return client.Bus.Flush(ctx)
		},
	}
}

func mentions(agents []fika.AgentName) string {
	var out []string
	for _, a := range agents {
		out = append(out, "@"+string(a))
	}
	return strings.Join(out, " ")
}

func newChatClear(e *env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "clear CHAT...", Short: "let agents forget what was said so far; the entries stay",
		Long:    "Puts a compaction with an empty summary into the chat: agents no longer see\nwhat was said before it, people still do.",
		Example: "  fika chat clear design", Args: atLeastOneChat, ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			client, err := e.reader(ctx)
			if err != nil {
				return err
			}
			convs, wild, err := findChats(ctx, client, args)
			if err != nil {
				return err
			}
			if (wild || len(convs) > 1) && !yes {
				if err := e.confirm(fmt.Sprintf("clear %d chats", len(convs))); err != nil {
					return err
				}
			}
			for _, conv := range convs {
				entry, err := client.Store.AppendCompaction(ctx, conv.ID, "system", "cleared", fika.EntryMeta{Writer: fika.BySystem, UpTo: conv.LastSeq})
				if err != nil {
					return err
				}
				client.Show(conv, entry)
				e.say("%s is cleared", conv.Name)
			}
			return client.Bus.Flush(ctx)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func newChatDelete(e *env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete CHAT...", Short: "stop a chat and delete it for good",
		Long:    "Stops what goes on in a chat, then deletes it with everything in it. Asks on a\nterminal; elsewhere --yes is needed.",
		Example: "  fika chat delete design --yes", Args: atLeastOneChat, ValidArgsFunction: e.completeChats,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			client, err := e.reader(ctx)
			if err != nil {
				return err
			}
			convs, _, err := findChats(ctx, client, args)
			if err != nil {
				return err
			}
			if !yes {
				var names []string
				for _, c := range convs {
					names = append(names, string(c.Name))
				}
				if err := e.confirm("delete " + strings.Join(names, ", ") + " with everything in it"); err != nil {
					return err
				}
			}
			var errs []error
			for _, conv := range convs {
				if err := client.Store.DeleteConversation(ctx, conv.ID); err != nil {
					errs = append(errs, err)
					continue
				}
				e.say("%s is deleted", conv.Name)
			}
			return errors.Join(errs...)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// confirm asks on a terminal; without one it refuses. The default is no.
func (e *env) confirm(what string) error {
	if !e.InTTY {
		return usageError("%s? Say --yes, since there is no terminal to ask on", what)
	}
	fmt.Fprintf(e.Err, "%s? [y/N] ", what)
	var answer string
	_, _ = fmt.Fscanln(e.In, &answer)
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return fika.Errorf(fika.Interrupted, "", "nothing was done")
	}
	return nil
}

func newChatCleanup(e *env) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "cleanup", Short: "remove expired messages, and empty chats older than a day", Example: "  fika chat cleanup --dry-run", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := e.reader(cmd.Context())
			if err != nil {
				return err
			}
			r, err := client.Store.Cleanup(cmd.Context(), store.CleanupOptions{DryRun: dry, EmptyAge: 24 * time.Hour})
			if err != nil {
				return err
			}
			verb := "removed"
			if dry {
				verb = "would be removed"
			}
			e.say("%d expired messages and %d empty chats %s", r.Expired, len(r.Chats), verb)
			for _, n := range r.Chats {
				fmt.Fprintln(e.Out, n)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	return c
}

func (e *env) completeChats(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	client, err := e.reader(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := client.Store.ListConversations(cmd.Context(), store.ConversationFilter{Kind: fika.Chat})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, c := range list {
		out = append(out, string(c.Name))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
