package service

import (
	"context"

	"fika"
	"fika/internal/sandbox"
	"fika/internal/store"
	"fika/internal/text/hint"
)

// SetMode sets what agents may do by themselves because of what is said in a chat. It
// returns Invalid for a mode that there is not, for a conversation that is not a chat, and
// for auto where commands are not confined.
func (s *Chats) SetMode(ctx context.Context, conv fika.Conversation, word string) (fika.Conversation, error) {
	if err := s.c.mayConversation(ctx, "conversation.mode", conv.ID); err != nil {
		return conv, err
	}
	mode, err := fika.ParseMode(word)
	if err == nil {
		err = s.c.canBe(mode)
	}
	if err != nil {
		return conv, err
	}
	said, err := s.c.personSays("", "")
	if err != nil {
		return conv, err
	}
	now, jobs, err := s.c.store.SetMode(ctx, conv.ID, mode, said.From)
	s.c.wake(ctx, jobs...)
	_ = s.c.bus.Flush(ctx)
	return now, err
}

// Plan returns the newest plan of a chat in plan mode, which a person may accept. It returns
// NotFound if there is none.
func (s *Chats) Plan(ctx context.Context, conv fika.Conversation) (fika.Entry, error) {
	if err := s.c.mayConversation(ctx, "conversation.entries", conv.ID); err != nil {
		return fika.Entry{}, err
	}
	return s.c.store.Plan(ctx, conv.ID)
}

// AcceptPlan accepts a plan: in one transaction the chat gets the mode, and the agent whose
// plan it is is asked to carry it out. It returns Conflict if the plan is not the newest of a
// chat in plan mode, and Invalid as [Chats.SetMode] does, or for plan mode itself.
func (s *Chats) AcceptPlan(ctx context.Context, conv fika.Conversation, plan fika.Entry, word string, as Alias) (Sent, error) {
	if err := s.c.mayConversation(ctx, "conversation.accept", conv.ID); err != nil {
		return Sent{}, err
	}
	mode, err := fika.ParseMode(word)
	if err == nil {
		err = s.c.canBe(mode)
	}
	if err == nil && mode == fika.PlanMode {
		err = fika.Errorf(fika.Invalid, "", "a plan is carried out in another mode than plan: ask, edit or auto")
	}
	if err != nil {
		return Sent{}, err
	}
	said, err := s.c.personSays("@"+plan.Meta.WriterName+" the plan is accepted: carry it out", as.Name)
	if err == nil {
		err = s.c.app.MayBeCalled(ctx, said.From, said.Username)
	}
	if err != nil {
		return Sent{}, err
	}
	said.Accepts, said.Mode = plan.ID, mode
	sent, err := once(ctx, s.c, "conversation.accept", []any{conv.ID, plan.ID, mode}, func(to *store.Store) (Sent, error) {
		return s.poster(to).Send(ctx, conv, said)
	}, func(done *store.Repeated) (sent Sent, err error) {
		sent.Repeat = true
		sent.Entry, err = s.c.store.EntryByID(ctx, conv.ID, done.Last(store.EntryEvent).Entry)
		return sent, err
	})
	_ = s.c.bus.Flush(ctx)
	return sent, err
}

// canBe returns why a mode is not possible here; nil if it is.
func (c *Service) canBe(mode fika.Mode) error {
	if mode != fika.AutoMode || c.isConfined() {
		return nil
	}
	return fika.Errorf(fika.Invalid, "", "no auto mode without a sandbox: commands would not be confined; %s says what is missing, edit mode asks before each command", hint.Doctor)
}

// isConfined reports whether commands of agents are confined as the settings of the home
// say.
func (c *Service) isConfined() bool {
	return c.config().Guard.SandboxMode != string(sandbox.Off) && c.Sandbox().Tier != string(sandbox.None)
}

// sessionMode returns the mode that a new session begins with.
func (c *Service) sessionMode() fika.Mode {
	if c.isConfined() && c.Sandbox().Tier == string(sandbox.Full) {
		return fika.AutoMode
	}
	return fika.EditMode
}
