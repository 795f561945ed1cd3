package main

import (
	"fmt"
	"os"

	"github.com/urlget/urlget/fetch/download"
)

// existingFileAction describes the handling of an existing file or partial file with that name. It
// returns "" if there is none.
func existingFileAction(exists download.Exists, name string) string {
	info, err := os.Stat(name)
	part, partErr := os.Stat(download.PartialName(name))
	switch {
	case err == nil && !info.Mode().IsRegular():
		return ""
	case err == nil && exists == download.Skip:
		return name + " exists and is kept"
	case err == nil && exists == download.Newer:
		return name + " exists and is replaced if the server has a newer version"
	case err == nil && exists == download.Overwrite:
		return name + " exists and is replaced"
	case err == nil && exists == download.NewName:
		return name + " exists and is kept: another name is chosen"
	case exists != download.Resume:
		return ""
	case partErr == nil && part.Mode().IsRegular():
		return fmt.Sprintf("%s is resumed after %s if its content matches the resource",
			download.PartialName(name), sizeText(part.Size()))
	case err == nil:
		return fmt.Sprintf("%s is resumed after %s if its content matches the resource, and otherwise kept",
			name, sizeText(info.Size()))
	}
	return "no partial download to resume"
}
