// Package smallnet serves files and pages of links for test servers of Gemini, Spartan and Nex.
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

// A Site is a tree of files. Its responses have a header, which starts with a status, and a body.
type Site struct {
	Tree fs.FS
	// Types maps file extensions to media types. The default is application/octet-stream.
	Types map[string]string
	// Status codes.
	Success, Redirect, Missing, Failed string
}

// Respond returns the header, without its line end, and the body of the response for a path. For a
// directory, it returns a page of links if the path ends with a slash, and a redirect otherwise.
// Escaped is the path as it is written in a URL.
func (s Site) Respond(unescaped, escaped string) (header string, body []byte) {
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

// Links appends one link line for each member of a directory.
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

// Split splits a complete response at the first CR LF into a header and a body.
func Split(response string) (header string, body []byte) {
	header, rest, _ := strings.Cut(response, "\r\n")
	return header, []byte(rest)
}

// Send sends a response. The body of a success, with a status that starts with "2", is content for
// faults.
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
