package main

import (
	"path/filepath"
	"slices"
)

// treeOnly are the flags that are for trees alone, with hints for those who mean something else.
var treeOnly = map[string]string{
	"convert-links": "to leave certificates unchecked: --insecure; aria2's -k: --segments", "delete": "",
	"level": "", "no-parent": "", "accept": "to name yourself, as curl's -A: -U AGENT", "reject": "", "accept-regex": "", "reject-regex": "", "accept-type": "",
	"span-hosts": "", "exclude-directories": "", "domains": "to have the reply's fields, as curl's -D: -S", "exclude-domains": "", "sitemaps": "", "backup-converted": "", "adjust-extension": "",
	"crawl-state": "", "no-robots": "", "execute": "to name the page that led here, as curl's -e: --referer URL",
}

// singleOnly are flags for what is no tree that somebody may want for all.
var singleOnly = []string{"continue", "sha256", "content-on-error"}

// excluded are the flags that a flag of the configuration file gives way to on the command line.
var excluded = map[string][]string{
	"quiet":        {"verbose"},
	"verbose":      {"quiet"},
	"continue":     {"timestamping", "no-clobber", "range", "data", "post-data", "post-file", "method", "form", "form-file"},
	"timestamping": {"continue", "no-clobber", "range", "data", "post-data", "post-file", "method", "form", "form-file"},
	"no-clobber":   {"continue", "timestamping"},
}

// needed are the flags of which one at least must be there for another.
var needed = map[string][]string{
	"delete": {"mirror", "timestamping"}, "domains": {"span-hosts"}, "backup-converted": {"convert-links"},
}

// givesWay reports whether a flag of the file is left out, as it makes no sense beside what was
// typed: the file is for everything that the user does.
func (c *config) givesWay(name string, typed map[string]bool, s *settings) bool {
	has := func(name string) bool {
		return typed[name] || slices.ContainsFunc(c.global, func(l configLine) bool { return l.name == name && truth(l.value) != "false" })
	}
	tree := slices.ContainsFunc([]string{"recursive", "mirror", "page-requisites", "spider"}, has)
	printed := s.output == "-"
	_, forTrees := treeOnly[name]
	switch {
	case forTrees && !tree,
		tree && slices.Contains(singleOnly, name) && (name != "continue" || !has("warc")),
		needed[name] != nil && !slices.ContainsFunc(needed[name], has),
		slices.ContainsFunc(excluded[name], func(other string) bool { return typed[other] }):
		return true
	}
	switch name {
	case "directory-prefix":
		return printed || filepath.IsAbs(s.output)
	case "continue", "timestamping", "no-clobber", "json":
		return printed
	}
	return false
}

// truth returns how a flag that is there or not says what people write in files of settings.
func truth(word string) string {
	switch word {
	case "yes", "on":
		return "true"
	case "no", "off":
		return "false"
	}
	return word
}
