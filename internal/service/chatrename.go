package service

import (
	"context"
	"errors"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/store"
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
	now, err := once(ctx, s.c, "conversation.rename", []any{conv.ID, name}, func(to *store.Store) (fika.Conversation, error) {
		now, notice, err := to.RenameChat(ctx, conv.ID, name, said.From)
		if err == nil && notice != nil {
			s.c.waker.Show(conv, *notice) // for those that listen under the old name
			s.c.waker.Show(now, *notice)
			_ = s.c.bus.Flush(ctx)
		}
		return now, err
	}, func(*store.Repeated) (fika.Conversation, error) { return s.c.store.ConversationByID(ctx, conv.ID) })
	if fika.IsKind(err, fika.Conflict) && !errors.Is(err, store.ErrKeyReused) {
		return Renamed{}, fika.Errorf(fika.Conflict, "", "conversation named %q already exists; choose another name", name)
	}
	if err != nil {
		return Renamed{}, err
	}
	return Renamed{now, s.c.config().ChatMentions(conv.Name)}, nil
}
