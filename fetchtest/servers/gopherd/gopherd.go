// Package gopherd is a Gopher server for tests. It serves a tree of files, optionally over TLS, and
// supports Gopher+ with attributes, views and forms. It can imitate the original servers, and fails
// on request.
package gopherd

import (
	"cmp"
	"crypto/tls"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options configure a server. The names of files and directories are a slash and their name in the
// tree.
type Options struct {
	// Tree holds the files. The selector of a file is its name; directories are menus. Files are
	// binary, except ".txt" files if Text is set. Nil means no files.
	Tree fs.FS
	Text bool
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// Public is the address in menus, as host:port. "" means the address it listens on.
	Public string
	// Plus enables Gopher+.
	Plus bool
	// Manner selects an original server to imitate. These support Gopher+ and text files regardless
	// of Plus and Text.
	Manner Manner
	// Attributes maps names to additional attribute blocks, with CR LF. An item with an ASK block
	// is a form. Its response contains the submitted data.
	Attributes map[string]string
	// Views maps names and views to contents. A view is a media type and optionally a language, as
	// in "text/html De_DE".
	Views map[string]map[string]string
	// Items maps names to additional menu lines without line ends. "$HOST" and "$PORT" stand for
	// the server's address.
	Items map[string][]string
	// Replies maps request lines to complete responses. They take precedence over everything else.
	Replies map[string]string
	TLS     *tls.Config // nil means no TLS
}

// A Manner is a server's behavior where the protocol is unspecified or where the server violates
// it.
type Manner uint8

const (
	// Exact sends each file unchanged.
	Exact Manner = iota
	// UMN2 imitates gopherd 2.3.1 of the University of Minnesota. It sends text as lines with a
	// final dot line, and doubles the dot of other lines with only a dot.
	UMN2
	// UMN3 imitates gopherd 3.0.5. It sends text unchanged and appends a dot line, even if the text
	// does not end with a line end. In Gopher+ it appends the dot line too, and does not count it
	// in the length.
	UMN3
)

// A Server is a running Gopher server. Faults apply to every response.
type Server struct {
	*servers.Server
	opts       Options
	host, port string
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	cfg := servers.Config{Scheme: "gopher", Listen: opts.Listen, Public: opts.Public, TLS: opts.TLS,
		Cannot: []servers.Fault{servers.Abort}}
	if opts.TLS != nil {
		cfg.Scheme = "gophers"
	}
	opts.Tree = cmp.Or[fs.FS](opts.Tree, embed.FS{})
	if opts.Manner != Exact {
		opts.Plus, opts.Text = true, true
	}
	base, err := servers.Listen(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	s.host, s.port, _ = net.SplitHostPort(s.Addr)
	base.Serve(func(c *servers.Conn) {
		if line, err := c.ReadLine(); err == nil {
			c.Send(s.respond(line, c))
		}
	})
	return s, nil
}

func (s *Server) respond(line string, c *servers.Conn) []byte {
	if reply, ok := s.opts.Replies[line]; ok {
		return []byte(reply)
	}
	selector, plus, isPlus := strings.Cut(line, "\t")
	if s.opts.Plus && isPlus && plus != "" && strings.ContainsRune("+!$", rune(plus[0])) {
		return s.respondPlus(selector, plus, c)
	}
	if url, ok := strings.CutPrefix(selector, "GET "); ok && s.opts.Manner != Exact {
		return s.page(url)
	}
	name, info := s.find(selector)
	switch {
	case info == nil && s.opts.Manner != Exact:
		return fmt.Appendf(nil, "0'%s' does not exist!!\t\terror.host\t1\r\n.\r\n", name)
	case info == nil:
		return fmt.Appendf(nil, "3'%s' does not exist\t\terror.host\t1\r\n.\r\n", selector)
	case info.IsDir():
		return []byte(s.menu(name, s.mark()) + ".\r\n")
	case s.isText(name):
		return s.text(s.read(name))
	}
	return s.read(name)
}

// page returns the redirect page for a URL item requested over HTTP, as the original servers do.
func (s *Server) page(url string) []byte {
	name, _, _ := strings.Cut(url, " ")
	if _, info := s.find(name); info == nil || info.IsDir() {
		return []byte("HTTP/1.0 404 Not Found\r\n\r\n")
	}
	return append([]byte("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"), s.read(name)...)
}

// find returns the name and information of the file for a selector. The information is nil if there
// is none.
func (s *Server) find(selector string) (name string, info fs.FileInfo) {
	name = selector
	if s.opts.Manner != Exact && len(name) > 1 && name[1] == '/' {
		name = name[1:] // without the type
	}
	name = "/" + strings.Trim(name, "/")
	info, err := fs.Stat(s.opts.Tree, inTree(name))
	if err != nil {
		return name, nil
	}
	return name, info
}

// inTree returns the name in the form of package fs.
func inTree(name string) string {
	if name == "/" {
		return "."
	}
	return name[1:]
}

// read returns the content of a file, or nil if it cannot be read.
func (s *Server) read(name string) []byte {
	content, _ := fs.ReadFile(s.opts.Tree, inTree(name))
	return content
}

// isText reports whether a file is sent as text.
func (s *Server) isText(name string) bool { return s.opts.Text && strings.HasSuffix(name, ".txt") }

// text returns a text file as it is sent without Gopher+.
func (s *Server) text(content []byte) []byte {
	switch s.opts.Manner {
	case UMN2:
		return []byte(lines(string(content)) + ".\r\n")
	case UMN3:
		return append(content[:len(content):len(content)], ".\r\n"...)
	}
	return content
}

// lines ends each line with CR LF and doubles the dot of lines with only a dot.
func lines(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text = strings.ReplaceAll("\n"+text, "\n.\n", "\n..\n")[1:]
	return strings.ReplaceAll(text, "\n", "\r\n")
}

// mark returns the suffix of menu lines without Gopher+.
func (s *Server) mark() string {
	if s.opts.Manner != Exact {
		return "+"
	}
	return ""
}

// menu returns a menu whose lines end with mark.
func (s *Server) menu(dir, mark string) string {
	var menu strings.Builder
	for _, name := range s.members(dir) {
		menu.WriteString(s.line(name, mark) + "\r\n")
	}
	for _, item := range s.opts.Items[dir] {
		menu.WriteString(strings.NewReplacer("$HOST", s.host, "$PORT", s.port).Replace(item) + "\r\n")
	}
	return menu.String()
}

// members returns the names of the members of a directory.
func (s *Server) members(dir string) (names []string) {
	entries, _ := fs.ReadDir(s.opts.Tree, inTree(dir))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(dir, "/")+"/"+e.Name())
	}
	return names
}

// line returns the menu line of an item.
func (s *Server) line(name, mark string) string {
	_, info := s.find(name)
	typ := "9"
	switch {
	case info != nil && info.IsDir():
		typ = "1"
	case s.isText(name):
		typ = "0"
	}
	selector := name
	if s.opts.Manner != Exact {
		selector = typ + name
	}
	line := strings.Join([]string{typ + name[strings.LastIndexByte(name, '/')+1:], selector, s.host, s.port},
		"\t")
	if mark != "" && strings.Contains(s.opts.Attributes[name], "+ASK") {
		mark = "?"
	}
	if mark != "" {
		line += "\t" + mark
	}
	return line
}
