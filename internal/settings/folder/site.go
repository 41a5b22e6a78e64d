package folder

import (
	"cmp"
	"fmt"
	"os"

	"fika"
	"fika/internal/system/process"
)

// Site returns the id of this home, and which of its copies it is: a copy on another disk,
// another machine, or the same one after it was started anew, gives another text.
func (h Home) Site() (id, copied string, err error) {
	if id, err = h.ID(); err != nil {
		return "", "", err
	}
	path := h.path("home_id")
	info, err := os.Stat(path)
	if err != nil {
		return "", "", fileError("read home id", path, err)
	}
	boot := process.IdentifySelf().BootID
	if boot == "" {
		return "", "", fika.Errorf(fika.Failed, "", "this system does not say when it was started")
	}
	return id, fmt.Sprintf("%s %s", boot, cmp.Or(fileNumber(info), h.Root)), nil
}
