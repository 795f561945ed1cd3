package gopherd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// respondPlus returns the response to a Gopher+ request.
func (s *Server) respondPlus(selector, plus string, c *servers.Conn) []byte {
	name, info := s.find(selector)
	if strings.HasSuffix(plus, "\t1") {
		return s.form(name, c)
	}
	_, view, _ := strings.Cut(plus, "+")
	switch {
	case info == nil:
		return s.refuse(name)
	case plus[0] == '!':
		return []byte("+-1\r\n" + s.describe(name) + ".\r\n")
	case plus[0] == '$' && s.opts.Manner != Exact:
		return []byte("+-1\r\n" + s.describeAll(name) + ".\r\n")
	case plus[0] == '$':
		return []byte("+-2\r\n" + s.describeAll(name))
	case info.IsDir() && s.opts.Manner != Exact:
		return []byte("+-1\r\n" + s.menu(name, "+") + ".\r\n")
	case info.IsDir():
		return []byte("+-2\r\n" + s.menu(name, "+"))
	case view != "" && len(s.opts.Views[name]) > 0:
		return s.view(name, view)
	case s.opts.Manner == UMN2 && s.isText(name):
		return []byte("+-1\r\n" + lines(string(s.read(name))) + ".\r\n")
	}
	return s.counted(s.read(name))
}

// counted returns content with its length before it.
func (s *Server) counted(content []byte) []byte {
	reply := append(fmt.Appendf(nil, "+%d\r\n", len(content)), content...)
	if s.opts.Manner == UMN3 {
		reply = append(reply, ".\r\n"...)
	}
	return reply
}

// refuse returns the error for a missing item.
func (s *Server) refuse(name string) []byte {
	if s.opts.Manner != Exact {
		return fmt.Appendf(nil, "--1\r\n1 Keeper <keeper@example.org>\r\n'%s' does not exist!!\r\n.\r\n",
			name)
	}
	return fmt.Appendf(nil, "--1\r\n1 Keeper <keeper@example.org>\r\n'%s' does not exist\r\n.\r\n", name)
}

// view returns a view of a file. The original servers announce a final dot line for it, but send
// none.
func (s *Server) view(name, view string) []byte {
	content, ok := s.opts.Views[name][view]
	switch {
	case !ok:
		return s.refuse("/views" + name)
	case s.opts.Manner == UMN2:
		return []byte("+-1\r\n" + content)
	}
	return s.counted([]byte(content))
}

// describe returns the attributes of an item.
func (s *Server) describe(name string) string {
	text := "+INFO: " + s.line(name, "+") + "\r\n" +
		"+ADMIN:\r\n Admin: Keeper <keeper@example.org>\r\n Mod-Date: Mon Feb 3 04:05:06 2020 " +
		"<20200203040506>\r\n"
	if views := s.opts.Views[name]; len(views) > 0 {
		text += "+VIEWS:\r\n"
		for _, view := range slices.Sorted(maps.Keys(views)) {
			text += fmt.Sprintf(" %s: <%dk>\r\n", view, (len(views[view])+1023)/1024)
		}
	}
	return text + s.opts.Attributes[name]
}

func (s *Server) describeAll(dir string) string {
	var all strings.Builder
	for _, name := range s.members(dir) {
		all.WriteString(s.describe(name))
	}
	return all.String()
}

// form reads the data of a form, up to a final dot or the announced length, and returns them. The
// original servers return one line for each field. They neither remove doubled dots nor parse data
// with a length.
func (s *Server) form(name string, c *servers.Conn) []byte {
	var got []string
	for size := 0; size < maxForm; {
		line, err := c.ReadText()
		if err != nil || line == "." {
			break
		}
		size += len(line) + len("\r\n")
		if n, err := strconv.Atoi(strings.TrimPrefix(line, "+")); got == nil && err == nil && n >= 0 {
			data := make([]byte, min(n, maxForm))
			n, _ = io.ReadFull(c, data)
			return s.counted(data[:n])
		}
		got = append(got, line)
	}
	if s.opts.Manner == Exact {
		text := ""
		for _, line := range got {
			text += line + "\r\n"
		}
		return s.counted([]byte(text))
	}
	text := fieldValues(s.opts.Attributes[name], got[min(1, len(got)):])
	if s.opts.Manner == UMN2 {
		return []byte("+-1\r\n" + lines(text) + ".\r\n")
	}
	return s.counted([]byte(text))
}

// maxForm limits the data of a form, in bytes.
const maxForm = 1 << 20

// fieldValues combines each prompt with its value. Values of AskL and ChooseF have several lines:
// the first line is their number, or all remaining lines belong to the value.
func fieldValues(attributes string, lines []string) string {
	next := func() (line string) {
		if len(lines) > 0 {
			line, lines = lines[0], lines[1:]
		}
		return line
	}
	var text strings.Builder
	_, ask, _ := strings.Cut(attributes, "+ASK:\r\n")
	for line := range strings.Lines(ask) {
		if !strings.HasPrefix(line, " ") {
			break // next block
		}
		kind, prompt, _ := strings.Cut(strings.TrimSpace(line), ": ")
		prompt, _, _ = strings.Cut(prompt, "\t")
		switch kind {
		case "Note":
		case "AskL":
			n, _ := strconv.Atoi(next())
			n = min(max(n, 0), len(lines))
			fmt.Fprintf(&text, "%s %q\n", prompt, lines[:n])
			lines = lines[n:]
		case "ChooseF":
			fmt.Fprintf(&text, "%s %q\n", prompt, lines)
			lines = nil
		default:
			fmt.Fprintf(&text, "%s %q\n", prompt, next())
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(&text, "and %q\n", lines)
	}
	return text.String()
}
