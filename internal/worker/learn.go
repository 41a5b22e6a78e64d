package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/agent/learn"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/settings/front"
	"fika/internal/text/hint"
)

// Learning turns the outcomes of an agent into proposals, and applies a person's
// answers to them.
type Learning struct {
	app      *app.App
	folder   folder.Folder
	agent    fika.Agent
	settings config.Settings
	warn     func(string)
}

// Learned is the result of [Learning.Propose]. Without a proposal there is nothing to
// change.
type Learned struct {
	Proposal *learn.Proposal
	Kept     bool // the proposal existed already: no model was called
	Cases    int  // number of cases read
	Why      string
	Model    string // the model that was called; empty: none
	Usage    fika.Usage
	Rest     bool // newer outcomes did not fit
	Older    bool // older outcomes were not read
	Omitted  int  // cases left out because they hold text from outside
}

// LearningOf returns the learning of an agent. flags are the settings of this command.
func LearningOf(ctx context.Context, a *app.App, name fika.AgentName, flags map[string]string, warn func(string)) (*Learning, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	row, err := s.Agent(ctx, name)
	if err != nil {
		return nil, err
	}
	settings, err := a.Settings(name, flags, false)
	return &Learning{app: a, folder: h.Folder(name), agent: row, settings: settings, warn: warn}, err
}

func (l *Learning) state() (learn.State, error) {
	data, err := l.folder.Learning()
	if err != nil {
		return learn.State{}, err
	}
	return learn.ReadState(data, l.folder.LearningPath())
}

// Pending returns the proposal that waits for a person's answer, or nil.
func (l *Learning) Pending() (*learn.Proposal, error) {
	s, err := l.state()
	return s.Proposal, err
}

// Propose asks a model what the agent's notes or prompt should say, given what has
// happened since the last settled proposal, and keeps its answer until a person has
// accepted or declined it. The model's usage is recorded in the ledger. With
// omitTainted, cases that hold text from outside are left out; without it, one such
// case is an error. Error kinds: Denied for such a case, Provider.
func (l *Learning) Propose(ctx context.Context, omitTainted bool) (Learned, error) {
	state, err := l.state()
	if err != nil {
		return Learned{}, err
	}
	if state.Proposal != nil {
		return Learned{Proposal: state.Proposal, Kept: true, Cases: state.Proposal.Cases, Why: state.Proposal.Why}, nil
	}
	s, err := l.app.Store(ctx)
	if err != nil {
		return Learned{}, err
	}
	got, err := caseReader{s, l.agent}.since(ctx, state.Position, l.settings.ContextWindow/2)
	if err != nil {
		return Learned{}, err
	}
	out := Learned{Rest: got.rest, Older: got.older}
	if got.cases, out.Omitted, err = l.checkTaint(got.cases, omitTainted); err != nil {
		return out, err
	}
	if out.Cases = len(got.cases); out.Cases == 0 {
		return out, nil
	}
	texts, err := l.texts()
	if err != nil {
		return out, err
	}
	answer, err := l.ask(ctx, &out, got.cases, texts)
	if err != nil {
		return out, err
	}
	out.Why = answer.Why
	if answer.Target == "" {
		return out, l.move(state.Position, got.upto)
	}
	t := texts[answer.Target]
	p := &learn.Proposal{
		Target: answer.Target, File: t.file, Base: string(t.hash), Before: t.body, After: answer.Text,
		Why: answer.Why, Model: out.Model, Cases: out.Cases, MadeAt: l.app.Now().UTC(), Upto: got.upto,
	}
	out.Proposal = p
	return out, l.update(func(s learn.State) (learn.State, error) {
		if s.Proposal != nil {
			return s, fika.WithHint(fika.Errorf(fika.Conflict, "", "another process has made a proposal for @%s meanwhile", l.agent.Name), hint.AgentLearn.With(l.agent.Name))
		}
		s.Proposal = p
		return s, nil
	})
}

// checkTaint leaves out cases that hold text from outside, or returns Denied.
func (l *Learning) checkTaint(cases []learn.Case, omit bool) (kept []learn.Case, omitted int, err error) {
	for _, c := range cases {
		if c.Taint.From == "" {
			kept = append(kept, c)
			continue
		}
		if !omit {
			entry := "request " + string(c.Request)
			if c.Taint.Seq != 0 {
				entry = fmt.Sprintf("entry %d of %s (request %s)", c.Taint.Seq, c.Conversation, c.Request)
			}
			return nil, 0, fika.Errorf(fika.Denied, "", "%s holds text from outside (%s), and what is learnt from it would stand in every prompt of @%s: --omit-tainted learns from the rest", entry, c.Taint.From, l.agent.Name)
		}
		omitted++
	}
	return kept, omitted, nil
}

// ask calls the model, and records its usage.
func (l *Learning) ask(ctx context.Context, out *Learned, cases []learn.Case, texts map[learn.Target]learnText) (learn.Answer, error) {
	model, err := l.app.Model(l.settings)
	if err != nil {
		return learn.Answer{}, err
	}
	q := learn.Question{Agent: l.agent.Name, Cases: cases, Now: map[learn.Target]string{}, Limit: l.settings.ReflectionCharacterLimit}
	for target, t := range texts {
		q.Now[target] = t.body
	}
	answer, used, err := learn.AskModel(ctx, model, q)
	out.Usage, out.Model = used, l.settings.Model.ID
	if used != (fika.Usage{}) {
		s, storeErr := l.app.Store(ctx)
		if storeErr == nil {
			storeErr = s.BookSummary(context.WithoutCancel(ctx), l.agent, out.Model, used)
		}
		if storeErr != nil {
			l.warn("what this took is missing in " + hint.Usage.With() + ": " + storeErr.Error())
		}
	}
	return answer, err
}

// move advances the position if nothing was proposed.
func (l *Learning) move(from, to learn.Position) error {
	return l.update(func(s learn.State) (learn.State, error) {
		if s.Proposal == nil && s.Position.At.Equal(from.At) {
			s.Position = to
		}
		return s, nil
	})
}

func (l *Learning) update(change func(learn.State) (learn.State, error)) error {
	return l.folder.UpdateLearning(func(before []byte) ([]byte, error) {
		s, err := learn.ReadState(before, l.folder.LearningPath())
		if err != nil {
			return nil, err
		}
		if s, err = change(s); err != nil {
			return nil, err
		}
		return s.Encode()
	})
}

// settle removes the proposal that a person was shown, after do has succeeded.
func (l *Learning) settle(p learn.Proposal, do func() error) error {
	return l.update(func(s learn.State) (learn.State, error) {
		if s.Proposal == nil || !s.Proposal.MadeAt.Equal(p.MadeAt) {
			return s, fika.Errorf(fika.Conflict, "", "this proposal is no longer there: somebody else has answered it")
		}
		if err := do(); err != nil {
			return s, err
		}
		return s.Settled(), nil
	})
}

// Decline drops a proposal. Its cases are not considered again.
func (l *Learning) Decline(p learn.Proposal) error { return l.settle(p, func() error { return nil }) }

// Accept writes the proposed text, and then removes the proposal. It returns Conflict
// if the file has changed since the proposal was made: then nothing is written, and the
// proposal stays.
func (l *Learning) Accept(p learn.Proposal) error {
	return l.settle(p, func() error {
		t, err := l.text(p.Target)
		switch {
		case err != nil:
			return err
		case t.file != p.File:
			return fika.Errorf(fika.Conflict, "", "the %s of @%s is in %s now, and this proposal is about %s: decline it and learn again", p.Target, l.agent.Name, t.file, p.File)
		case t.body == p.After:
			return nil // it was written, and the process ended before it was recorded
		case string(t.hash) != p.Base:
			return fika.Errorf(fika.Conflict, "", "%s was changed since this was proposed: nothing is written; decline it (--decline) and learn again", p.File)
		}
		return t.write(p.After)
	})
}

// InProject reports whether a proposal changes a file of the project, and returns its
// path in the project.
func (l *Learning) InProject(p learn.Proposal) (path string, ok bool) {
	project := l.app.Project()
	if project == nil {
		return "", false
	}
	for _, root := range BothNames(project.Root) {
		if rel, err := filepath.Rel(root, p.File); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// learnText is a text that may be changed.
type learnText struct {
	file  string
	body  string
	hash  folder.Hash // of the whole file; empty if there is none
	front string      // the part of the file before the text
}

func (t learnText) write(body string) error {
	return folder.WritePromptIf(t.file, t.hash, t.front+body)
}

// texts returns the texts that may be changed.
func (l *Learning) texts() (map[learn.Target]learnText, error) {
	out := map[learn.Target]learnText{}
	for _, target := range []learn.Target{learn.Reflection, learn.Prompt} {
		if target == learn.Reflection && !l.settings.ReflectionEnabled {
			continue
		}
		t, err := l.text(target)
		if err != nil {
			return nil, err
		}
		out[target] = t
	}
	return out, nil
}

// text reads a text from where it is kept.
func (l *Learning) text(target learn.Target) (learnText, error) {
	if target == learn.Reflection {
		return readLearnText(l.folder.TextPath(folder.Reflection))
	}
	own, err := readLearnText(l.folder.TextPath(folder.SystemPrompt))
	if err != nil || strings.TrimSpace(own.body) != "" {
		return own, err
	}
	if f := l.settings.SystemPromptFile; f != "" {
		if f, err = l.ownFile(f); err != nil {
			return learnText{}, err
		}
		return readLearnText(f)
	}
	c, err := l.app.Config()
	if err != nil {
		return learnText{}, err
	}
	if at, ok := c.WhereAgent(l.agent.Name); ok && filepath.Base(at.File) == string(l.agent.Name)+".md" && l.settings.SystemPrompt != "" {
		file, err := l.ownFile(at.File)
		if err != nil {
			return learnText{}, err
		}
		return readAgentText(file)
	}
	// The text comes from the settings or is the default: the context's own prompt
	// replaces it.
	own.body, err = PromptSource{Folder: l.folder, Settings: l.settings, Project: ProjectFilesOf(l.app)}.Base()
	return own, err
}

// ownFile returns the file that a person edits, given the copy of it that they have
// agreed to. It returns Conflict if the two differ by now.
func (l *Learning) ownFile(path string) (string, error) {
	project := l.app.Project()
	if project == nil || project.Copy() == "" {
		return path, nil
	}
	rel, err := filepath.Rel(project.Copy(), path)
	if err != nil || !filepath.IsLocal(rel) {
		return path, nil
	}
	own := filepath.Join(project.Root, rel)
	agreed, err := folder.ReadPrompt(path)
	if err != nil {
		return "", err
	}
	now, err := folder.ReadPrompt(own)
	if err == nil && now.Hash != agreed.Hash {
		err = fika.Errorf(fika.Conflict, "", "%s has changed since you trusted it: %s shows how; learn again after that", own, hint.Trust)
	}
	return own, err
}

func readLearnText(path string) (learnText, error) {
	text, err := folder.ReadPrompt(path)
	return learnText{file: path, body: text.Body, hash: text.Hash}, err
}

// readAgentText reads the prompt below the settings in an agent's file.
func readAgentText(path string) (learnText, error) {
	t, err := readLearnText(path)
	if err != nil {
		return t, err
	}
	_, body, ok := front.Split([]byte(t.body))
	if !ok {
		return t, fika.Errorf(fika.Invalid, "", "the settings in %s have no end: close them with a line of three dashes", path)
	}
	rest := strings.TrimLeft(string(body), "\r\n")
	t.front, t.body = t.body[:len(t.body)-len(rest)], rest
	return t, nil
}

// LearnProposal is a change that waits for a person's answer.
type LearnProposal = learn.Proposal
