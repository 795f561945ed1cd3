// Package gopherd is a Gopher server for tests. It serves a tree of files in clear or over TLS,
// knows Gopher+ with attributes, views and forms, can have the manners of the original servers, and
// fails on request.
package gopherd

import (
	"crypto/tls"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options say what a server has and how it behaves. Files and directories are named by a slash and
// their name in the tree.
type Options struct {
	// Tree holds the files. The selector of each is its name; directories are menus. Files are
	// binary, but for those that end with ".txt" if Text is set. Nil means none.
	Tree fs.FS
	Text bool
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
	// Plus speaks Gopher+ to those who ask for it.
	Plus bool
	// Manner is that of one of the original servers. They speak Gopher+ and have text, whatever
	// Plus and Text say.
	Manner Manner
	// Attributes are more attribute blocks, with CR LF, by name. With a block ASK the item is a
	// form, which is answered with what it was sent.
	Attributes map[string]string
	// Views are further contents of files, by name and view, which is a media type and perhaps a
	// language, as in "text/html De_DE".
	Views map[string]map[string]string
	// Items are further lines of menus, by name, without line ends. "$HOST" and "$PORT" in them are
	// those of the server.
	Items map[string][]string
	// Replies are whole answers by request line. They go before all else.
	Replies map[string]string
	TLS     *tls.Config // nil means in clear
}

// A Manner is the way in which a server does what the protocol leaves open, or gets wrong.
type Manner uint8

const (
	// Exact sends each file as it is.
	Exact Manner = iota
	// UMN2 is the gopherd 2.3.1 of the University of Minnesota. It sends text by lines with a dot
	// at the end, which it doubles in a line that is only a dot.
	UMN2
	// UMN3 is its gopherd 3.0.5. It sends text as it is and a line with a dot behind it, even if the
	// last line of the text has no end, and behind files in Gopher+ too, whose length does not count
	// it.
	UMN3
)

// A Server is a running Gopher server. All that it answers is content, for faults.
type Server struct {
	*servers.Server
	opts       Options
	host, port string
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	cfg := servers.Config{Scheme: "gopher", Listen: opts.Listen, TLS: opts.TLS, Cannot: []servers.Fault{servers.Abort}}
	if opts.TLS != nil {
		cfg.Scheme = "gophers"
	}
	if opts.Tree == nil {
		opts.Tree = embed.FS{}
	}
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
			c.Send(s.answer(line, c))
		}
	})
	return s, nil
}

func (s *Server) answer(line string, c *servers.Conn) []byte {
	if reply, ok := s.opts.Replies[line]; ok {
		return []byte(reply)
	}
	selector, plus, isPlus := strings.Cut(line, "\t")
	if s.opts.Plus && isPlus && plus != "" && strings.ContainsRune("+!$", rune(plus[0])) {
		return s.answerPlus(selector, plus, c)
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

// page answers a request of HTTP, as the original servers do, for items that name one.
func (s *Server) page(url string) []byte {
	name, _, _ := strings.Cut(url, " ")
	if _, info := s.find(name); info == nil || info.IsDir() {
		return []byte("HTTP/1.0 404 Not Found\r\n\r\n")
	}
	return append([]byte("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"), s.read(name)...)
}

// find returns the name of what a selector names, and what it is; nil if there is nothing.
func (s *Server) find(selector string) (name string, info fs.FileInfo) {
	name = selector
	if s.opts.Manner != Exact && len(name) > 1 && name[1] == '/' {
		name = name[1:] // behind the type
	}
	name = "/" + strings.Trim(name, "/")
	info, err := fs.Stat(s.opts.Tree, inTree(name))
	if err != nil {
		return name, nil
	}
	return name, info
}

// inTree is a name as package fs has it.
func inTree(name string) string {
	if name == "/" {
		return "."
	}
	return name[1:]
}

// read returns the content of a file; one that cannot be read has none.
func (s *Server) read(name string) []byte {
	content, _ := fs.ReadFile(s.opts.Tree, inTree(name))
	return content
}

// isText reports whether a file is sent as text.
func (s *Server) isText(name string) bool { return s.opts.Text && strings.HasSuffix(name, ".txt") }

// text is a text as the server sends it without Gopher+.
func (s *Server) text(content []byte) []byte {
	switch s.opts.Manner {
	case UMN2:
		return []byte(lines(string(content)) + ".\r\n")
	case UMN3:
		return append(content[:len(content):len(content)], ".\r\n"...)
	}
	return content
}

// lines is a text in lines, with the dot doubled in those that have nothing else.
func lines(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text = strings.ReplaceAll("\n"+text, "\n.\n", "\n..\n")[1:]
	return strings.ReplaceAll(text, "\n", "\r\n")
}

// mark is what stands behind the items of a menu that was asked for without Gopher+.
func (s *Server) mark() string {
	if s.opts.Manner != Exact {
		return "+"
	}
	return ""
}

// menu returns the lines of a menu, with the mark.
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

// members returns the names of what is in a directory.
func (s *Server) members(dir string) (names []string) {
	entries, _ := fs.ReadDir(s.opts.Tree, inTree(dir))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(dir, "/")+"/"+e.Name())
	}
	return names
}

// line returns the line of a menu for an item.
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
	line := strings.Join([]string{typ + name[strings.LastIndexByte(name, '/')+1:], selector, s.host, s.port}, "\t")
	if mark != "" && strings.Contains(s.opts.Attributes[name], "+ASK") {
		mark = "?"
	}
	if mark != "" {
		line += "\t" + mark
	}
	return line
}
