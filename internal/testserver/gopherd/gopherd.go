// Package gopherd is a small Gopher server for tests, on a loopback address. It
// serves a tree of files in clear or over TLS, knows Gopher+ with attributes and
// forms, and can fail on request.
package gopherd

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"testing"

	"github.com/urlget/urlget/internal/testserver/lineserver"
)

// Config says what a server has and how it behaves.
type Config struct {
	// Tree holds the files. The selector of each is a slash and its name;
	// directories are menus. Files are binary, but for those that end with
	// ".txt" if Text is set.
	Tree fs.FS
	Text bool
	// Plus speaks Gopher+ to those who ask for it.
	Plus bool
	// Attributes are more attribute blocks, with CR LF, by selector. With a
	// block ASK the item is a form, which is answered with what it was sent.
	Attributes map[string]string
	// Replies are whole answers by request line. They go before all else.
	Replies map[string]string
	TLS     *tls.Config // nil means in clear
}

// A Server is a running Gopher server.
type Server struct {
	*lineserver.Server
	cfg        Config
	host, port string
}

// Start runs a server until the test ends.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	s := &Server{cfg: cfg}
	ready := make(chan struct{}) // s is complete
	s.Server = lineserver.Start(t, cfg.TLS, func(line string, r *bufio.Reader) ([]byte, bool) {
		<-ready
		return s.answer(line, r), false
	})
	s.host, s.port, _ = net.SplitHostPort(s.Addr)
	close(ready)
	return s
}

func (s *Server) answer(line string, r *bufio.Reader) []byte {
	if reply, ok := s.cfg.Replies[line]; ok {
		return []byte(reply)
	}
	selector, plus, isPlus := strings.Cut(line, "\t")
	if !s.cfg.Plus || !isPlus || !strings.ContainsAny(plus[:min(1, len(plus))], "+!$") {
		content, _, err := s.content(selector, "")
		if err != nil {
			return fmt.Appendf(nil, "3'%s' does not exist\t\terror.host\t1\r\n.\r\n", selector)
		}
		return content
	}
	if strings.HasSuffix(plus, "\t1") {
		return s.form(r)
	}
	content, dir, err := s.content(selector, "+")
	switch {
	case err != nil:
		return fmt.Appendf(nil, "--1\r\n1 Keeper <keeper@example.org>\r\n'%s' does not exist\r\n.\r\n", selector)
	case plus[0] == '!':
		return []byte("+-1\r\n" + s.describe(selector, dir) + ".\r\n")
	case plus[0] == '$':
		return []byte("+-2\r\n" + s.describeAll(selector))
	case dir:
		return append([]byte("+-2\r\n"), content...)
	}
	return append(fmt.Appendf(nil, "+%d\r\n", len(content)), content...)
}

// content returns a file, or a menu with the mark on each line.
func (s *Server) content(selector, mark string) (content []byte, dir bool, err error) {
	name := strings.Trim(selector, "/")
	if name == "" {
		name = "."
	}
	info, err := fs.Stat(s.cfg.Tree, name)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		content, err = fs.ReadFile(s.cfg.Tree, name)
		return content, false, err
	}
	var menu bytes.Buffer
	for _, line := range s.lines(name, mark) {
		menu.WriteString(line + "\r\n")
	}
	if mark == "" {
		menu.WriteString(".\r\n")
	}
	return menu.Bytes(), true, nil
}

// lines returns the lines of a menu.
func (s *Server) lines(dir, mark string) (lines []string) {
	entries, _ := fs.ReadDir(s.cfg.Tree, dir)
	for _, e := range entries {
		selector := "/" + e.Name()
		if dir != "." {
			selector = "/" + dir + selector
		}
		lines = append(lines, s.line(selector, e.IsDir(), mark))
	}
	return lines
}

// line returns the line of a menu for an item.
func (s *Server) line(selector string, dir bool, mark string) string {
	typ := "9"
	switch {
	case dir:
		typ = "1"
	case s.cfg.Text && strings.HasSuffix(selector, ".txt"):
		typ = "0"
	}
	line := strings.Join([]string{typ + selector[strings.LastIndexByte(selector, '/')+1:], selector, s.host, s.port}, "\t")
	if strings.Contains(s.cfg.Attributes[selector], "+ASK") {
		mark = "?"
	}
	if mark != "" {
		line += "\t" + mark
	}
	return line
}

// describe returns the attributes of an item.
func (s *Server) describe(selector string, dir bool) string {
	return "+INFO: " + s.line(selector, dir, "+") + "\r\n" +
		"+ADMIN:\r\n Admin: Keeper <keeper@example.org>\r\n Mod-Date: Mon Feb 3 04:05:06 2020 <20200203040506>\r\n" +
		s.cfg.Attributes[selector]
}

func (s *Server) describeAll(selector string) string {
	var all strings.Builder
	for _, line := range s.lines(strings.Trim(selector, "/"), "+") {
		fields := strings.Split(line, "\t")
		all.WriteString(s.describe(fields[1], fields[0][0] == '1'))
	}
	return all.String()
}

// form reads the data of a form up to its final dot, and sends them back.
func (s *Server) form(r *bufio.Reader) []byte {
	var got []byte
	for {
		line, err := r.ReadBytes('\n')
		if err != nil || string(line) == ".\r\n" {
			break
		}
		got = append(got, line...)
	}
	return append(fmt.Appendf(nil, "+%d\r\n", len(got)), got...)
}
