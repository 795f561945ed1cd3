package dict

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/quoted"
)

type verb byte

const (
	databases verb = iota
	define
	match
)

// A query is a parsed URL (RFC 2229, section 5).
type query struct {
	host     string // includes a non-default port
	user     string // "" without a login
	verb     verb
	word     string
	database string // "!" for the first with a match, "*" for all
	strategy string // "." for the server's default
	n        int    // number of the requested result; 0 means all
}

// parseURL decodes a dict URL. Colons in the path are separators; one that is part of a word is
// percent-encoded.
func parseURL(u uri.URI) (query, error) {
	q := query{host: strings.TrimSuffix(u.HostPort(port), ":2628"), database: "!", strategy: "."}
	if u.Host() == "" {
		return q, fetch.ErrURL.Errorf("the URL has no host")
	}
	login, _ := u.User()
	user, mechanism, _ := strings.Cut(login, ";")
	if q.user = user; mechanism != "" && mechanism != "*" && !strings.EqualFold(mechanism, "auth") {
		return q, &fetch.Error{Code: fetch.ErrAuth,
			Err:  fmt.Errorf("unsupported login mechanism %q", mechanism),
			Hint: "use AUTH, the only supported mechanism"}
	}
	path := u.URLPath()
	if path == "" {
		return q, nil
	}
	parts := strings.Split(path, ":")
	for i := range parts {
		var err error
		if parts[i], err = uri.Unescape(parts[i]); err != nil {
			return q, err
		}
	}
	fields := []*string{&q.word, &q.database}
	switch parts[0] {
	case "d":
		q.verb = define
	case "m":
		q.verb = match
		fields = append(fields, &q.strategy)
	default:
		return q, &fetch.Error{Code: fetch.ErrURL,
			Err:  fmt.Errorf("%q must start with d: or m: and a word", path),
			Hint: "use dict://" + q.host + "/d:WORD for definitions or /m:WORD for matching words"}
	}
	if err := q.fill(parts[1:], fields); err != nil {
		return q, err
	}
	switch {
	case q.word == "":
		return q, &fetch.Error{Code: fetch.ErrNeedSearch,
			Hint: "add a word, as in dict://" + q.host + "/" + parts[0] + ":WORD:" + q.database}
	case !isAtom(q.database):
		return q, fetch.ErrURL.Errorf("%q cannot be the name of a database", q.database)
	case !isAtom(q.strategy):
		return q, fetch.ErrURL.Errorf("%q cannot be the name of a strategy", q.strategy)
	case len(q.command())+len("\r\n") > maxCommand:
		return q, fetch.ErrURL.Errorf("the word is too long for a command")
	}
	return q, nil
}

// fill assigns the values to the fields, and one further value to n. Empty values leave the
// defaults in place.
func (q *query) fill(values []string, fields []*string) error {
	for i, value := range values {
		switch {
		case value == "" && i <= len(fields):
		case i < len(fields):
			*fields[i] = value
		case i > len(fields):
			return fetch.ErrURL.Errorf("too many colons")
		default:
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil || n == 0 {
				return fetch.ErrURL.Errorf("%q is not a number from 1", value)
			}
			q.n = int(n)
		}
	}
	return nil
}

func (q query) command() string {
	switch q.verb {
	case define:
		return "DEFINE " + q.database + " " + quoted.String(q.word)
	case match:
		return "MATCH " + q.database + " " + q.strategy + " " + quoted.String(q.word)
	}
	return "SHOW DB"
}

// definitionPath returns the url-path for the definitions of a word in a database, or for the n-th
// of them.
func definitionPath(word, database string, n int) string {
	path := "/d:" + uri.Escape(word) + ":" + uri.Escape(database)
	if n > 0 {
		path += ":" + strconv.Itoa(n)
	}
	return path
}

// isAtom reports whether s may be written without quotes (RFC 2229, section 2.2).
func isAtom(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '"' || r == '\'' || r == '\\'
	})
}

var errFields = errors.New("unbalanced quotes")

// fields splits a line into atoms and quoted strings, without their quotes (RFC 2229, section 2.2).
func fields(line string) ([]string, error) {
	var (
		out   []string
		b     strings.Builder
		quote byte // the current opening quote, or 0
		begun bool
	)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
			begun = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\'') && !begun:
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if begun {
				out = append(out, b.String())
				b.Reset()
				begun = false
			}
		default:
			b.WriteByte(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errFields
	}
	if begun {
		out = append(out, b.String())
	}
	return out, nil
}
