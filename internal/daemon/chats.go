package daemon

import (
	"context"
	"log/slog"
	"time"

	"fika/internal/chat/chatfile"
	"fika/internal/system/sleep"
)

// chatsLook is how often the hub looks for new entries in chats.
const chatsLook = 2 * time.Second

// keepChats keeps the files of chats up to date until ctx ends. It logs each trouble
// once.
func keepChats(ctx context.Context, k *chatfile.Keeper, log *slog.Logger) {
	said := ""
	for {
		err := k.Sync(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			log.Warn("chats are not written as text", "err", err)
		}
		if sleep.For(ctx, chatsLook) != nil {
			_ = k.Sync(context.WithoutCancel(ctx)) // the last entries; the next hub writes what is missing
			return
		}
	}
}
