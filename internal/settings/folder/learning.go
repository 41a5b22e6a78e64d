package folder

import (
	"os"
	"path/filepath"

	"fika"
)

// LearningPath returns the path of the file that records how far a context's outcomes
// have been used for learning, and the resulting proposal.
func (f Folder) LearningPath() string { return f.path("learning.json") }

// Learning reads the file at LearningPath; nil if there is none. Error kinds: Invalid
// (too large, not a file), Storage.
func (f Folder) Learning() ([]byte, error) { return readCapped(f.LearningPath(), maxText) }

// UpdateLearning replaces the content of that file by the result of change, in one
// step: concurrent processes wait for each other. If change fails, the file is left as
// it is.
func (f Folder) UpdateLearning(change func(before []byte) ([]byte, error)) error {
	if err := f.Home.EnsureDir(f.Home.RunDir()); err != nil {
		return err
	}
	path := filepath.Join(f.Home.RunDir(), "learn-"+string(f.Name)+".lock")
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return fileError("update learning", path, err)
	}
	defer lock.Close()
	return whileLocked(lock, path, func() error { // a separate lock file, because change may write texts of the folder, which locks it
		before, err := f.Learning()
		if err != nil {
			return err
		}
		after, err := change(before)
		if err != nil {
			return err
		}
		return replaceFile(f.LearningPath(), after, nil)
	})
}

// ReadPrompt reads a prompt's file wherever it is. Errors are those of [Folder.Read].
func ReadPrompt(path string) (Text, error) { return readText(path) }

// WritePromptIf replaces the file of a prompt as [Folder.WriteIf] does.
func WritePromptIf(path string, seen Hash, data string) error {
	if path == "" {
		return fika.Errorf(fika.Invalid, "write prompt", "there is no file")
	}
	_, err := writeTextIf(path, seen, data)
	return err
}
