package client

import (
	"context"

	"fika"
	"fika/internal/config"
)

// Renamed is what a chat has become.
type Renamed struct {
	fika.Conversation
	// Settings of this home mean the chat by the name it had: they do not concern it
	// any more.
	Settings []config.Mention
}

// Rename gives a chat another name; whoever watches it goes on watching. Error
// kinds: Invalid for what is not a name, Conflict when the name is taken.
func (s *Chats) Rename(ctx context.Context, conv fika.Conversation, word string) (Renamed, error) {
	name, err := fika.ParseChatName(word)
	if err != nil {
		return Renamed{}, err
	}
	said, err := s.c.personSays("", "")
	if err != nil {
		return Renamed{}, err
	}
	now, notice, err := s.c.store.RenameChat(ctx, conv.ID, name, said.From)
	if fika.IsKind(err, fika.Conflict) {
		return Renamed{}, fika.Errorf(fika.Conflict, "", "there is a conversation named %q already; choose another name", name)
	}
	if err != nil {
		return Renamed{}, err
	}
	if notice != nil {
		s.c.waker.Show(conv, *notice) // for those who listen under the name it had
		s.c.waker.Show(now, *notice)
		_ = s.c.bus.Flush(ctx)
	}
	return Renamed{now, s.c.config().ChatMentions(conv.Name)}, nil
}
