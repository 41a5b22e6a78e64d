package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/settings/toml"
)

// AddSchedule appends a schedule to a file of settings. Error kinds: Invalid for a file
// that is not valid or cannot be edited safely, Storage.
func AddSchedule(path string, s Schedule) error {
	return editSchedules(path, func(data []byte, _ *toml.Source) (string, error) {
		text := strings.TrimRight(string(data), "\n")
		if text != "" {
			text += "\n\n"
		}
		return text + s.lines(), nil
	})
}

// RemoveSchedule removes a schedule from a file of settings. Every other line stays as
// it is. It returns NotFound if there is no such schedule; other errors are those of
// [AddSchedule].
func RemoveSchedule(path, name string) error {
	return editSchedules(path, func(data []byte, s *toml.Source) (string, error) {
		names, at := scheduleNames(s)
		i := slices.Index(names, name)
		if i < 0 {
			return "", fika.Errorf(fika.NotFound, opSchedule, "%s has no schedule %s", path, name)
		}
		text := string(data)
		begin := strings.LastIndexByte(text[:min(at[i]+1, len(text))], '\n') + 1
		// The entry ends where the remaining text has exactly the other entries: a
		// prompt of many lines may contain lines that look like headers.
		for end := begin; end < len(text); {
			next := strings.IndexByte(text[end:], '\n')
			if next < 0 {
				end = len(text)
			} else {
				end += next + 1
			}
			if end < len(text) && !strings.HasPrefix(strings.TrimSpace(text[end:]), "[") {
				continue
			}
			left := strings.TrimRight(text[:begin], "\n")
			if left != "" {
				left += "\n"
			}
			if rest := text[end:]; rest != "" {
				if left != "" && !strings.HasPrefix(rest, "\n") {
					left += "\n"
				}
				left += rest
			}
			if isRest(path, left, s, i) {
				return left, nil
			}
		}
		return "", errUnsafe(path)
	})
}

const opSchedule = "write schedule"

func errUnsafe(path string) error {
	return fika.Errorf(fika.Invalid, opSchedule, "%s: there is no safe place for the change; write it by hand", path)
}

// isRest reports whether a text is that of a file without its i-th schedule.
func isRest(path, text string, before *toml.Source, i int) bool {
	after := toml.Read(path, []byte(text), &Problems{})
	if after.Broken {
		return false
	}
	names, _ := scheduleNames(before)
	left, _ := scheduleNames(after)
	if !slices.Equal(slices.Delete(names, i, i+1), left) {
		return false
	}
	others := func(s *toml.Source) (n int) {
		for _, e := range s.Root.Entries {
			if e.Name != "schedules" {
				n += 1 + len(e.Value.Items)
			}
		}
		return n
	}
	return others(before) == others(after)
}

// scheduleNames returns the names in a file, and where their entries begin.
func scheduleNames(s *toml.Source) (names []string, at []int) {
	e := s.Root.Get("schedules")
	if e == nil {
		return nil, nil
	}
	for _, item := range e.Value.Items {
		if item.Kind == toml.KindTable {
			names, at = append(names, strings.ToLower(textOf(item.Table.Get("name")))), append(at, item.At)
		}
	}
	return names, at
}

// editSchedules changes a file as a whole.
func editSchedules(path string, change func([]byte, *toml.Source) (string, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	data, _, err := readFile(path)
	if err != nil {
		return err
	}
	s := toml.Read(path, data, &Problems{})
	if s.Broken {
		return fika.Errorf(fika.Invalid, opSchedule, "fix the file by hand first: %s", s.Problems)
	}
	changed, err := change(data, s)
	if err != nil {
		return err
	}
	if toml.Read(path, []byte(changed), &Problems{}).Broken {
		return errUnsafe(path)
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return fika.Wrap(fika.Storage, opSchedule, renameio.WriteFile(path, []byte(changed), mode))
}
