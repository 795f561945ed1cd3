// Package smallnet answers with files and pages of links, as servers of Gemini, Spartan and Nex do.
package smallnet

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// A Site is a tree of files. An answer is a header, which begins with a status, and a body.
type Site struct {
	Tree fs.FS
	// Types are the media types of files by the extension of their names. Those of others are
	// application/octet-stream.
	Types map[string]string
	// These are the statuses.
	Success, Redirect, Missing, Failed string
}

// Answer returns the header of the answer to a request for a path, without its line end, and the
// body. A directory is answered with a page, if the path ends with a slash, and else with a
// redirect to that. Escaped is the path as it stands in a URL.
func (s Site) Answer(unescaped, escaped string) (header string, body []byte) {
	name := cmp.Or(strings.Trim(unescaped, "/"), ".")
	info, err := fs.Stat(s.Tree, name)
	switch {
	case err != nil:
		return s.Missing + " Not found", nil
	case info.IsDir() && !strings.HasSuffix(unescaped, "/"):
		return s.Redirect + " " + escaped + "/", nil
	case info.IsDir():
		page, err := Links(fmt.Appendf(nil, "# %s\n", path.Base(name)), s.Tree, name)
		if err != nil {
			return s.Failed + " " + err.Error(), nil
		}
		return s.Success + " text/gemini", page
	}
	content, err := fs.ReadFile(s.Tree, name)
	if err != nil {
		return s.Failed + " " + err.Error(), nil
	}
	return s.Success + " " + cmp.Or(s.Types[path.Ext(name)], "application/octet-stream"), content
}

// Links appends a line with a link for each member of a directory.
func Links(page []byte, tree fs.FS, directory string) ([]byte, error) {
	entries, err := fs.ReadDir(tree, directory)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		slash := ""
		if e.IsDir() {
			slash = "/"
		}
		page = fmt.Appendf(page, "=> ./%s%s %s%s\n", url.PathEscape(e.Name()), slash, e.Name(), slash)
	}
	return page, nil
}

// Split splits an answer that is written as a whole: a header without its line end, and perhaps a
// body behind it, which begins after the first CR LF.
func Split(answer string) (header string, body []byte) {
	header, rest, _ := strings.Cut(answer, "\r\n")
	return header, []byte(rest)
}

// Send sends an answer. The body of a success, whose status begins with "2", is content.
func Send(c *servers.Conn, header string, body []byte) {
	if !strings.HasPrefix(header, "2") {
		c.Reply("%s", header)
		return
	}
	if b, ok := c.Content(int64(len(body))); ok {
		c.Printf("%s", header)
		b.Write(body)
		b.End()
	}
}
