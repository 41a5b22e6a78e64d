package chat

import (
	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// New makes fika chat.
func New(e *command.Env) *cobra.Command {
	c := command.Group("chat", "let agents talk to each other; watch and steer them",
		"A chat is a conversation of several participants. An agent that is mentioned as\n@name answers, and so do the agents that its answer mentions, even while nobody\nwatches. pause is the brake. Where several chats make sense, names may be\npatterns (* and ?).",
		"  fika chat new design\n  fika chat send design \"@coder sketch an API, and have it reviewed\"\n  fika chat view design --follow",
		newList(e), newNew(e), newCreate(e), newJoin(e), newSend(e), newView(e), newPause(e), newResume(e),
		newStop(e), newContinue(e), newLimit(e), newMode(e), newRewind(e), newQueue(e), newRetry(e), newWhy(e), newWait(e), newPin(e), newUnpin(e), newClear(e), newCompact(e), newRename(e), newDelete(e), newCleanup(e))
	list := newList(e)
	c.RunE = list.RunE // fika chat lists, as its help says
	return c
}

func atLeastOneChat(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return command.UsageError("%s takes the name of a chat; see --help", cmd.CommandPath())
	}
	return nil
}
