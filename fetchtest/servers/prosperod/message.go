package prosperod

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
	codec "github.com/urlget/urlget/internal/codec/prospero"
)

// noise is not a valid message, because its last quotation does not end.
const noise = "\x00\xff what?\n'''"

// respond returns the reply to a message, and the failure that applies to it.
func (c *responder) respond(request string) ([]byte, servers.Failure) {
	var out bytes.Buffer
	last, content := c.run(&out, request)
	f := c.Take(last, content)
	if f.Fault == servers.Noise {
		return []byte(noise), servers.Failure{}
	}
	return out.Bytes(), f
}

// run executes the commands of a message until one fails. It returns the last command and whether
// the reply has content.
func (c *responder) run(out *bytes.Buffer, request string) (last string, content bool) {
	var directory string
	sc := codec.NewScanner(strings.NewReader(request))
	for {
		l, err := sc.Line()
		if err == io.EOF {
			return last, content
		}
		if err != nil {
			fmt.Fprintf(out, "ERROR %v\n", err)
			return last, false
		}
		last = l.Text(0)
		c.Note(last)
		ok := true
		switch l[0] {
		case "VERSION":
			if ok = !c.s.opts.Version1 || l.At(1) == "1"; !ok {
				out.WriteString("VERSION-NOT-SUPPORTED TRY 1\n")
			}
		case "AUTHENTICATE", "AUTHENTICATOR":
		case "DIRECTORY":
			directory = l.At(2)
		case "LIST":
			ok = c.s.list(out, directory)
			content = ok
		case "GET-OBJECT-INFO":
			ok = c.s.info(out, l.At(1), l.At(3))
			content = content || ok && l.At(1) == "CONTENTS"
		default:
			fmt.Fprintf(out, "ERROR Unknown message: %s\n", last)
			ok = false
		}
		if !ok {
			return last, content
		}
	}
}

// clean converts a client's name to a name in the tree.
func clean(name string) string {
	return path.Clean("." + path.Clean("/"+name))
}

func (s *Server) list(out *bytes.Buffer, directory string) bool {
	if place, ok := s.opts.Forward[directory]; ok {
		fmt.Fprintf(out, "FORWARDED %s\n", s.local(place))
		return false
	}
	entries, err := fs.ReadDir(s.opts.Tree, clean(directory))
	more := s.opts.Links[directory] != nil || s.opts.Unions[directory] != nil
	if err != nil && !more {
		out.WriteString("FAILURE NOT-A-DIRECTORY\n")
		return false
	}
	if len(entries) == 0 && !more {
		out.WriteString("NONE-FOUND\n")
	}
	for _, u := range s.opts.Unions[directory] {
		fmt.Fprintf(out, "LINK  U DIRECTORY %s INTERNET-D %s ASCII %s 0\n", codec.Quote(path.Base(u)), s.host,
			codec.Quote(u))
	}
	for _, e := range entries {
		s.link(out, path.Join("/", directory, e.Name()), e)
	}
	for _, l := range s.opts.Links[directory] {
		out.WriteString(s.local(l) + "\n")
	}
	return true
}

// local replaces $HOST in a line of the options.
func (s *Server) local(line string) string { return strings.ReplaceAll(line, "$HOST", s.host) }

func (s *Server) link(out *bytes.Buffer, name string, e fs.DirEntry) {
	if s.opts.Version1 {
		fmt.Fprintf(out, "LINK L %s %s INTERNET-D %s ASCII %s 0 0\n", target(e), e.Name(), s.host, name)
	} else {
		fmt.Fprintf(out, "LINK  L %s %s INTERNET-D %s ASCII %s 0\n", target(e), codec.Quote(e.Name()), s.host,
			codec.Quote(name))
	}
	info, err := e.Info()
	if err != nil || info.IsDir() {
		return
	}
	if s.opts.Version1 {
		fmt.Fprintf(out, "LINK-INFO CACHED SIZE ASCII %d bytes\n", info.Size())
		return
	}
	attributes(out, info)
}

func target(e fs.DirEntry) string {
	if e.IsDir() {
		return "DIRECTORY"
	}
	return "FILE"
}

func attributes(out *bytes.Buffer, info fs.FileInfo) {
	fmt.Fprintf(out, "ATTRIBUTE OBJECT INTRINSIC SIZE SEQUENCE %d' bytes'\n", info.Size())
	fmt.Fprintf(out, "ATTRIBUTE OBJECT INTRINSIC LAST-MODIFIED SEQUENCE %s\n",
		info.ModTime().UTC().Format("20060102150405Z"))
	fmt.Fprintf(out, "ATTRIBUTE OBJECT INTRINSIC UNIX-MODES SEQUENCE %s\n", info.Mode())
}

func (s *Server) info(out *bytes.Buffer, attribute, name string) bool {
	if place, ok := s.opts.Forward[name]; ok {
		fmt.Fprintf(out, "FORWARDED %s\n", s.local(place))
		return false
	}
	info, err := fs.Stat(s.opts.Tree, clean(name))
	switch {
	case err == nil && attribute == "CONTENTS" && !info.IsDir():
		data, err := fs.ReadFile(s.opts.Tree, clean(name))
		if err != nil {
			out.WriteString("FAILURE SERVER-FAILED\n")
			return false
		}
		out.WriteString("ATTRIBUTE OBJECT INTRINSIC CONTENTS SEQUENCE DATA '")
		out.Write(bytes.ReplaceAll(data, []byte("'"), []byte("''")))
		out.WriteString("'\n")
	case err == nil && attribute != "CONTENTS":
		attributes(out, info)
	case s.opts.Attributes[name] != nil && attribute != "CONTENTS":
		for _, l := range s.opts.Attributes[name] {
			out.WriteString(s.local(l) + "\n")
		}
	default:
		out.WriteString("NONE-FOUND\n")
		return false
	}
	return true
}
