package main

import (
	"fmt"
	"os"

	"github.com/urlget/urlget/fetch/download"
)

// existing tells what would become of a file that has the name already, or of what there is of it;
// "" if there is nothing.
func (g *getter) existing(name string) string {
	exists := g.opts.Exists()
	info, err := os.Stat(name)
	part, partErr := os.Stat(name + ".part")
	switch {
	case err == nil && !info.Mode().IsRegular():
		return ""
	case err == nil && exists == download.Skip:
		return name + " is there, and left alone"
	case err == nil && exists == download.Newer:
		return name + " is there, and replaced if the server has something newer"
	case err == nil && exists == download.Overwrite:
		return name + " is there, and replaced"
	case err == nil && exists == download.NewName:
		return name + " is there, and left alone: another name is chosen"
	case exists != download.Resume:
		return ""
	case partErr == nil && part.Mode().IsRegular():
		return fmt.Sprintf("%s.part is continued behind its %s if they belong to the resource", name, sizeText(part.Size()))
	case err == nil:
		return fmt.Sprintf("%s is completed behind its %s if they belong to the resource, and otherwise left alone", name, sizeText(info.Size()))
	}
	return "nothing of it is there to be continued"
}
