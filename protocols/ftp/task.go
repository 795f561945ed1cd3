package ftp

import (
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

type task struct {
	req     *fetch.Request
	url     uri.FTP
	kind    kind
	cwd     []string // the argument of each CWD
	name    string   // the argument of the last command, or ""
	typ     string   // the argument of TYPE; "" leaves the server's default, ASCII
	pattern []string // for match: the decoded text between the asterisks
	base    uri.URI  // of the response
	// rawIAC sends the byte 255 once, while RFC 959, section 2.3, doubles it.
	rawIAC bool
}

// A kind of task.
type kind uint8

const (
	retrieve kind = iota // RETR
	names                // NLST: type code "d"
	members              // MLSD or LIST: a final slash
	match                // the same, with a pattern for the names
	inspect              // no transfer
)

// newTask translates req. Package uri refuses names with line breaks, which would be several
// commands.
func (d *opener) newTask(req *fetch.Request) (*task, error) {
	u, err := uri.ParseFTP(req.URL)
	if err != nil {
		return nil, err
	}
	t := &task{req: req, url: u, cwd: u.CWD, name: u.Name, base: req.URL}
	pattern := wildcard(req.URL)
	switch {
	case req.Op == fetch.OpStat:
		t.kind, t.typ = inspect, d.typeOf(u)
		if pattern != nil {
			return nil, &fetch.Error{Code: fetch.ErrNotRetrievable,
				Err:  fmt.Errorf("%q is a pattern for names", u.Name),
				Hint: "list the matches, or write %2A for a literal asterisk"}
		}
		if u.Type == 'd' {
			t.cwd, t.name = t.dir(), ""
		}
	case u.Type == 'd':
		t.kind = names
	case u.Name == "":
		t.kind = members
	case pattern != nil:
		t.kind, t.pattern, t.name = match, pattern, ""
	case req.Op == fetch.OpList:
		return t.asDirectory()
	default:
		t.kind, t.typ = retrieve, d.typeOf(u)
	}
	return t, nil
}

// isText reports whether the server sends text, with lines that end with CR LF.
func (t *task) isText() bool { return t.typ != "" && (t.typ[0] == 'A' || t.typ[0] == 'E') }

func (t *task) asDirectory() (*task, error) {
	dup := *t
	dup.kind, dup.typ = members, ""
	dup.cwd, dup.name = t.dir(), ""
	dup.url.Type, dup.url.Form = 0, ""
	var err error
	dup.base, err = dup.dirURL().URI()
	return &dup, err
}

// otherKind returns a task that checks whether a file of t is a directory, or a directory a file,
// and the message for that case. It is nil if t names neither.
func (t *task) otherKind() (other *task, what string) {
	var err error
	switch t.kind {
	case retrieve:
		what = "it is a directory"
		other, err = t.asDirectory()
	case members, names:
		dirs := t.dir()
		if len(dirs) == 0 {
			return nil, ""
		}
		dup := *t
		last := len(dirs) - 1
		dup.cwd, dup.name, dup.typ = dirs[:last:last], dirs[last], "I"
		dup.url.CWD, dup.url.Name, dup.url.Type, dup.url.Form = dup.cwd, dup.name, 0, ""
		dup.base, err = dup.url.URI()
		other, what = &dup, "it is a file"
	default:
		return nil, ""
	}
	if err != nil {
		return nil, ""
	}
	other.kind = inspect
	return other, what
}

func (t *task) mayBeDirectory() bool { return t.kind == retrieve && t.url.Type == 0 }

// hasIAC reports whether a name contains the byte 255, which starts a Telnet command.
func (t *task) hasIAC() bool { return strings.Contains(strings.Join(t.dir(), ""), "\xff") }

// dir returns the path of the directory that is listed, or that t names.
func (t *task) dir() []string {
	if t.name == "" {
		return t.cwd
	}
	return append(slices.Clip(t.cwd), t.name)
}

// dirURL returns the URL of the listed directory, with a final slash.
func (t *task) dirURL() uri.FTP {
	u := t.url
	u.CWD, u.Name, u.Type, u.Form = t.dir(), "", 0, ""
	return u
}

// implicit reports whether TLS starts with the connection.
func (t *task) implicit() bool { return t.url.Scheme == "ftps" }

func (t *task) addr() string { return net.JoinHostPort(t.url.Host, strconv.Itoa(int(t.url.Port))) }

// isImage reports whether the bytes arrive unchanged, so that they can be counted.
func (t *task) isImage() bool { return t.typ == "I" }

// mediaType guesses the type from the name, because FTP has none. A transfer as ASCII is always
// text.
func (t *task) mediaType() string {
	guess := fetch.TypeByName(t.name)
	if guess == "" && strings.HasPrefix(t.typ, "A") {
		return "text/plain"
	}
	return guess
}

// typeOf returns the argument of TYPE (RFC 959, section 3.1.1) for a file.
func (d *opener) typeOf(u uri.FTP) string {
	switch {
	case u.Type == 0 && d.opts.GuessType && slices.Contains(textSuffixes, strings.ToLower(path.Ext(u.Name))):
		return "A"
	case u.Type == 0 || u.Type == 'd':
		return "I"
	case u.Form != "":
		return strings.ToUpper(string(rune(u.Type))) + " " + u.Form
	}
	return strings.ToUpper(string(rune(u.Type)))
}

var textSuffixes = []string{
	".txt", ".text", ".asc", ".md", ".me", ".faq", ".tex",
	".htm", ".html", ".xml", ".css", ".csv", ".tsv",
	".json", ".c", ".h", ".cc", ".f", ".go", ".java",
	".js", ".p", ".pl", ".py", ".sh", ".bat", ".cfg",
	".conf", ".ini", ".log",
}

// wildcard returns the decoded pieces between the asterisks in the last segment of u, or nil if
// there are none. An encoded asterisk and "?", which RFC 1738 allows in names, are literal.
func wildcard(u uri.URI) []string {
	p := u.URLPath()
	last := p[strings.LastIndexByte(p, '/')+1:]
	if i := strings.Index(strings.ToLower(last), ";type="); i >= 0 {
		last = last[:i]
	}
	pieces := strings.Split(last, "*")
	if len(pieces) == 1 {
		return nil
	}
	for i := range pieces {
		pieces[i] = uri.UnescapeRaw(pieces[i])
	}
	return pieces
}

// matches reports whether name is the pieces with any text between them.
func matches(pieces []string, name string) bool {
	last := len(pieces) - 1
	name, ok := strings.CutPrefix(name, pieces[0])
	if !ok {
		return false
	}
	for _, piece := range pieces[1:last] {
		if _, name, ok = strings.Cut(name, piece); !ok {
			return false
		}
	}
	return strings.HasSuffix(name, pieces[last])
}
