package folder

import (
	"encoding/json"

	"fika"
)

// DefaultContext is the current context before the first switch.
const DefaultContext fika.AgentName = "default"

// State is the context that the command line works in.
type State struct {
	Current  fika.AgentName
	Previous fika.AgentName // empty before the first switch

	rest map[string]json.RawMessage // fields of other programs
}

// State reads state.json; a missing or empty file means [DefaultContext]. The spellings
// of chibi's state and session files are understood. An Invalid error names the file
// and what is wrong with it.
func (h Home) State() (State, error) {
	const op = "read state"
	path := h.StateFile()
	s := State{Current: DefaultContext, rest: map[string]json.RawMessage{}}
	data, err := readCapped(path, 1<<20)
	if err != nil || len(data) == 0 {
		return s, err
	}
	if err := json.Unmarshal(data, &s.rest); err != nil {
		return s, fika.Errorf(fika.Invalid, op, "%s is not a JSON object (%v): fix it, or delete it to begin with %q", path, err, DefaultContext)
	}
	current, err := s.nameOf(path, "current_context", "implied_context")
	if err != nil {
		return s, err
	}
	if current != "" {
		s.Current = current
	}
	s.Previous, err = s.nameOf(path, "previous_context")
	return s, err
}

// nameOf returns the value of the first key that exists.
func (s *State) nameOf(path string, keys ...string) (fika.AgentName, error) {
	for _, key := range keys {
		raw, ok := s.rest[key]
		if !ok || string(raw) == "null" || string(raw) == `""` {
			continue
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", fika.Errorf(fika.Invalid, "read state", "%s: %s is not a string", path, key)
		}
		name, err := fika.ParseAgentName(text)
		if err != nil {
			return "", &fika.Error{Kind: fika.Invalid, Op: "read state", Msg: path + ": " + key, Err: err}
		}
		return name, nil
	}
	return "", nil
}

// Switch makes a context current; the one before becomes the previous one. Switching to
// the current context changes nothing.
func (h Home) Switch(name fika.AgentName) (State, error) {
	s, err := h.State()
	if err != nil || s.Current == name {
		return s, err
	}
	s.Previous, s.Current = s.Current, name
	return s, h.writeState(s)
}

// followRename updates the state after a context was renamed; an empty new name means
// that the context is gone.
func (h Home) followRename(old, name fika.AgentName) error {
	s, err := h.State()
	if err != nil || (s.Current != old && s.Previous != old) {
		return err
	}
	if s.Previous == old {
		s.Previous = name
	}
	if s.Current == old {
		s.Current = name
	}
	if s.Current == "" {
		s.Current, s.Previous = DefaultContext, ""
	}
	return h.writeState(s)
}

func (h Home) writeState(s State) error {
	out := map[string]any{}
	for k, v := range s.rest {
		out[k] = v
	}
	delete(out, "implied_context")
	delete(out, "previous_context")
	out["current_context"] = s.Current
	if s.Previous != "" {
		out["previous_context"] = s.Previous
	}
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fika.Wrap(fika.Failed, "write state", err)
	}
	return replaceFile(h.StateFile(), append(data, '\n'), nil)
}
