package service

import (
	"context"

	"fika"
	"fika/internal/config"
)

// Renamed is a chat after its renaming.
type Renamed struct {
	fika.Conversation
	// Settings are the settings of this home that use the old name and no longer apply
	// to the chat.
	Settings []config.Mention
}

// Rename gives a chat another name; watchers keep watching it. Error kinds: Invalid for
// a malformed name, Conflict if the name is taken.
func (s *Chats) Rename(ctx context.Context, conv fika.Conversation, word string) (Renamed, error) {
	if err := s.c.may("conversation.rename"); err != nil {
		return Renamed{}, err
	}
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
		s.c.waker.Show(conv, *notice) // for those that listen under the old name
		s.c.waker.Show(now, *notice)
		_ = s.c.bus.Flush(ctx)
	}
	return Renamed{now, s.c.config().ChatMentions(conv.Name)}, nil
}
